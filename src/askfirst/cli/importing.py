"""`askfirst import`: logs of other programs, judged by the paired rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

imports = typer.Typer(no_args_is_help=True, help="Judge evaluation logs that were made elsewhere.")

Files = Annotated[list[Path], typer.Argument(metavar="FILE [FILE]", help="A log; a second one is held against it.")]
Score = Annotated[str, typer.Option(help="Which score, where samples have several.")]
Margin = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Ask for no regression beyond this share, such as 0.05, instead of a gain."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Alpha = Annotated[float, typer.Option(help="Error of the two-sided interval.")]


@imports.command(name="inspect")
def of_inspect(
    files: Files, score: Score = "", margin: Margin = None, alpha: Alpha = 0.05, as_json: Json = False
) -> None:
    """Judge logs of Inspect (.eval or .json): samples join by id and epoch. Exit 1 where the rule does not hold.

    Needs the extra `inspect`.
    """
    from askfirst.evallogs.logs import read_inspect

    show([read_inspect(path) for path in files], (score, margin, alpha), as_json=as_json)


@imports.command(name="lm-eval")
def of_lm_eval(
    files: Files, score: Score = "", margin: Margin = None, alpha: Alpha = 0.05, as_json: Json = False
) -> None:
    """Judge samples of the LM evaluation harness (samples_*.jsonl). Exit 1 where the rule does not hold."""
    from askfirst.evallogs.logs import read_lm_eval

    show([read_lm_eval(path) for path in files], (score, margin, alpha), as_json=as_json)


def show(logs: Sequence[Any], rule: tuple[str, float | None, float], *, as_json: bool) -> None:
    """Print what one log holds, or how the second compares with the first."""
    from askfirst.errors import InputError
    from askfirst.evallogs.pairs import chosen_score, compare_logs, described
    from askfirst.store import plain

    score, margin, alpha = rule
    if len(logs) > 2:
        raise InputError(f"one log or two are judged, found {len(logs)}")
    if len(logs) == 1:
        found = described(logs[0])
        print(json.dumps(plain(found), ensure_ascii=False) if as_json else "\n".join(found.lines()))
        return
    first, second = logs
    compared = compare_logs(first, second, chosen_score(logs, score), margin, alpha)
    if as_json:
        print(json.dumps(plain(compared), ensure_ascii=False))
    else:
        print(f"first     {compared.first}: {first.task} by {first.model}")
        print(f"{'yes' if compared.holds else 'no':<9} {compared.second}: {second.model}: {compared.reason}")
        for limit in compared.limits:
            print(f"not seen  {limit}")
    if not compared.holds:
        raise SystemExit(1)
