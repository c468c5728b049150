"""`askfirst generate`: training requests in a teacher's words; and `askfirst read FILE`, to mark them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from askfirst import generated, plugins
from askfirst.cli.endpoints import Progress, target_of
from askfirst.cli.evaluating import EndpointSettings
from askfirst.criteria import GenerationSection
from askfirst.errors import InputError, Interrupted
from askfirst.generated.check import WRONG, marks_file, read_marks, sample_of
from askfirst.generated.make import Made, Wish, make
from askfirst.generated.rules import request_of
from askfirst.planfile import edit
from askfirst.policy import ModelSpec, Policy, Sampling
from askfirst.reading import GOOD, Mark, visible
from askfirst.sections import Section
from askfirst.store import append_line, content_hash, held, plain, write_lines

KEYS = "g good · w wrong · s skip · q quit"


class Settings(Section):
    """How requests are generated; `--set key=value` on the command line."""

    env: str = "judgment"
    seed: int = Field(0, ge=0)
    attempts: int = Field(3, ge=1, le=20)
    temperature: float = Field(0.7, gt=0, le=2)
    max_tokens: int = Field(96, ge=1, le=4096)
    endpoint: EndpointSettings = EndpointSettings()


def settings(overrides: Sequence[str]) -> Settings:
    """The defaults with `key=value` edits. Raises InputError, naming the field."""
    try:
        return Settings.model_validate(edit({}, overrides))
    except ValidationError as error:
        first = error.errors()[0]
        hint = f"settings: {', '.join(Settings.model_fields)}"
        raise InputError(f"--set {'.'.join(map(str, first['loc']))}: {first['msg']}", hint=hint) from error


def generate(out: Path, teacher: str, endpoint: str | None, count: int, chosen: Settings, *, as_json: bool) -> None:
    """Write the file and say what was taken and what was not, and why. What a teacher said stays beside it.

    Raises InputError where the file is there and says something else.
    """
    wish = Wish(chosen.env, count, chosen.seed, chosen.attempts, Sampling(chosen.max_tokens, chosen.temperature))
    plugins.load("envs", chosen.env)
    kept = out.with_name(f"{out.name}.answers.jsonl")
    with held(out.parent):
        policy, cache = _teacher(teacher, endpoint, chosen, kept)
        progress = Progress("generate", count, as_json, single=False)
        made = make(wish, policy, _identity(teacher, endpoint), cache, progress.items)
        if not made.lines:
            raise InputError(f"nothing of {made.drawn} requests held: {_reasons(made)}", where=teacher)
        if out.exists() and [plain(line) for line in made.lines] != [plain(line) for line in generated.read(out)]:
            raise InputError("there is other data already", where=str(out), hint="name another file, or remove it")
        write_lines(out, made.lines)
    lost = made.drawn - len(made.lines)
    if as_json:
        body = {"file": out, "sha256": generated.file_hash_of(out), "drawn": made.drawn, "taken": len(made.lines)}
        print(json.dumps(plain({**body, "rejected": lost, "reasons": made.rejected}), ensure_ascii=False))
        return
    print(f"taken     {len(made.lines)} of {made.drawn} requests: {out}")
    if lost:
        print(f"rejected  {lost}: {_reasons(made)}")
    print(f'plan      [env] generated = "{out}"; audited before training; askfirst read {out} marks by hand')


def _teacher(name: str, endpoint: str | None, chosen: Settings, kept: Path) -> tuple[Policy, Path | None]:
    """The teacher, and the file of its words where it keeps none itself."""
    if endpoint is not None:
        target = target_of(endpoint, name, chosen.endpoint)
        return plugins.load("backends", "openai").Endpoint(target, kept), None
    backend = "tabular" if name == "tabular" else "scripted" if name.endswith(".jsonl") else "hf"
    policy: Policy = plugins.load("backends", backend).open_policy(ModelSpec(name), 0)
    return policy, kept


def _identity(name: str, endpoint: str | None) -> str:
    """The name of a teacher, with the hash of its files where it has some here."""
    if endpoint is not None or name == "tabular" or name.endswith(".jsonl"):
        return name
    files = plugins.load("backends", "hf").identity(ModelSpec(name))
    return f"{name}@{content_hash(files)[:16]}"


def _reasons(made: Made) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in made.rejected.items())


def read(path: Path, reader: str | None, *, listed: bool, as_json: bool) -> None:
    """Show the requests that the audit looks at, and keep the marks of whoever reads; or say how far that is."""
    lines = generated.read(path)
    chosen = [lines[at] for at in sample_of(lines, GenerationSection().sample)]
    marked = read_marks(path)
    if listed or as_json:
        _tell(chosen, marked, as_json=as_json)
        return
    if not (who := (reader or "").strip()):
        raise InputError("a mark says who made it", hint="--reader NAME")
    try:
        _go(path, [line for line in chosen if line.id not in marked], who, _line)
    except KeyboardInterrupt:
        print()
        raise Interrupted("the marks are kept", hint=f"askfirst read {path} goes on") from None
    _tell(chosen, read_marks(path), as_json=False)


def _go(path: Path, left: Sequence[generated.Line], who: str, ask: Callable[[], str | None]) -> None:
    for at, line in enumerate(left, start=1):
        shown = visible(line.opening[-1].content).replace("\n", "\n│ ")
        honest = next(d for d in plugins.load("envs", line.source.env).demonstrations(line.scenario) if not d.guess)
        print(f"\n{line.family} · {line.stratum}\n│ {shown}\nright    {visible(honest.reply)}")
        while True:
            print(f"{at} of {len(left)} · {KEYS}", flush=True)
            answer = ask()
            if answer is None or answer[:1].lower() == "q":
                return
            key, why = answer[:1].lower(), visible(answer[1:].strip())
            if key in ("g", "w"):
                now = datetime.now(UTC).isoformat(timespec="seconds")
                append_line(marks_file(path), Mark(1, line.id, GOOD if key == "g" else WRONG, why, visible(who), now))
            if key in ("g", "w", "s"):
                break


def _line() -> str | None:
    """The next line that is not blank: a key, and for a wrong label the reason behind it."""
    return next((line.strip() for line in sys.stdin if line.strip()), None)


def _tell(chosen: Sequence[generated.Line], marked: Mapping[str, Mark], *, as_json: bool) -> None:
    done = [marked[line.id] for line in chosen if line.id in marked]
    wrong = sum(mark.mark != GOOD for mark in done)
    if as_json:
        lines: list[dict[str, Any]] = [
            {"id": line.id, "request": request_of(line.scenario), "mark": marked.get(line.id)} for line in chosen
        ]
        print(json.dumps(plain({"read": len(done), "of": len(chosen), "wrong": wrong, "lines": lines})))
        return
    print(f"{len(done)} of {len(chosen)} read, {wrong} wrong")
