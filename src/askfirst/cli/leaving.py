"""`askfirst export merged`, `gguf` and `mlx-adapter`: the selected weights of a run for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from askfirst.exports import gguf_file, weights
from askfirst.exports import push as pushing
from askfirst.report.card import write_card
from askfirst.runfolder import RunFolder


def merged(run: Path, out: Path) -> None:
    """Write base and adapter as one transformers folder and say which files it has."""
    _show(weights.write_merged(weights.chosen(RunFolder(run)), out))


def gguf(run: Path, out: Path, kind: str) -> None:
    """Write base and adapter as one GGUF file and say where it lies."""
    found = weights.chosen(RunFolder(run))
    _show([gguf_file.write_gguf(weights.merged(found), found.plan.title, kind, out)])


def mlx_adapter(run: Path, out: Path) -> None:
    """Write the adapter in the layout of mlx-lm and say which files it has."""
    _show(weights.write_mlx_adapter(weights.chosen(RunFolder(run)), out))


def push(run: Path, hub: pushing.Hub, *, anyway: bool, dry_run: bool) -> None:
    """Upload adapter, card and report, or only say what that would be. Raises Refusal for what may not ship."""
    folder = RunFolder(run)
    reason = pushing.why_not(folder)
    if not anyway:
        pushing.require_good(folder)
    if folder.verdict.is_file():
        pushing.check_card(write_card(run))
    files = pushing.contents(folder)
    for line in pushing.listed(files):
        print(line)
    if pushing.CARD not in files:
        print("no card   a run that is not finished has none")
    if reason:
        print(f"anyway    {reason}")
    print("dry run   nothing was sent" if dry_run else f"pushed    {pushing.push(files, hub)}")


def _show(paths: Iterable[Path]) -> None:
    for path in paths:
        print(f"{path.stat().st_size:>12,} {path}")
