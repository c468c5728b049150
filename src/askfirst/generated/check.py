"""The audit of generated data: whether its labels hold on a sample, and whether it overlaps with an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from askfirst import plugins
from askfirst.audit import Overlap, audit
from askfirst.cases import play
from askfirst.generated import Line, read
from askfirst.generated.make import drawn
from askfirst.generated.rules import broken, names_of, request_of
from askfirst.reading import GOOD, Mark
from askfirst.rollout import Scorer
from askfirst.store import as_record, generator, read_lines
from askfirst.values import Scenario

WRONG = "wrong"
# What a line says of its scenario that must be as the environment says it.
LABELS = ("family", "stratum", "ambiguous", "hidden", "template", "values", "twin")


@dataclass(frozen=True, slots=True)
class LabelError:
    """A line, by its place in the file and its id, that is not labelled as what it says."""

    line: int
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What an audit found. `read` of the `sampled` lines were marked by a person; a wrong one counts wherever it is."""

    total: int
    sampled: int
    read: int
    errors: tuple[LabelError, ...]
    overlaps: tuple[Overlap, ...]
    alike: int


def marks_file(path: Path) -> Path:
    """Where the marks of people lie that read generated data."""
    return path.with_name(f"{path.name}.marks.jsonl")


def read_marks(path: Path) -> dict[str, Mark]:
    """The mark that holds for each request, good or wrong, by its id. Raises InputError with file and line."""
    where = marks_file(path)
    lines = read_lines(where) if where.is_file() else ()
    found = [as_record(Mark, line, f"{where}:{number}") for number, line in enumerate(lines, start=1)]
    return {mark.rollout: mark for mark in found}


def sample_of(lines: Sequence[Line], size: int) -> list[int]:
    """The places of the lines that are audited, in order: a function of the lines alone."""
    stream = generator("generation audit", *(line.id for line in lines))
    return sorted(int(at) for at in stream.permutation(len(lines))[:size])


def check(path: Path, dev: Sequence[Scenario], size: int) -> Findings:
    """Audit a file: the labels of a sample of `size`, and all of it against what is evaluated on.

    A label holds where the environment labels the request so that the line was made from, its words still ask for that,
    an honest reply to it passes the environment's own judge, and nobody marked it wrong.
    """
    lines, marks = read(path), read_marks(path)
    chosen = sample_of(lines, size)
    errors = [LabelError(at + 1, lines[at].id, why) for at in chosen if (why := _wrong(lines[at]))]
    seen = {error.id for error in errors}
    for at, line in enumerate(lines):
        mark = marks.get(line.id)
        if mark is not None and mark.mark != GOOD and line.id not in seen:
            errors.append(LabelError(at + 1, line.id, f"marked {mark.mark} by {mark.reader}: {mark.why}"))
    found = audit([line.scenario for line in lines], dev)
    alike = len({overlap.item for overlap in found.review})
    read_of = sum(lines[at].id in marks for at in chosen)
    return Findings(len(lines), len(chosen), read_of, tuple(errors), found.blocking, alike)


def _wrong(line: Line) -> str:
    """Why a line's label does not hold; empty where it does."""
    env = plugins.load("envs", line.source.env)
    source = _sources(env, line.source.count, line.source.seed).get(line.source.id)
    if source is None:
        return f"the environment draws no request {line.source.id} there"
    made = line.scenario
    differs = [name for name in LABELS if getattr(made, name) != getattr(source, name)]
    if differs:
        return f"{', '.join(differs)} are not those of the request that it was made from"
    faults = broken(source, request_of(made), names_of(env))
    if faults:
        return f"its words do not ask for the same: {', '.join(faults)}"
    if [m.content for m in made.opening[:-1]] != [m.content for m in source.opening[:-1]] or _shown(made) != _shown(
        source
    ):
        return "what is shown beside the request changed"
    honest = next(d for d in env.demonstrations(made) if not d.guess)
    score = Scorer.named(env.ORACLE).score(made, play(env, made, (honest.reply, *honest.then)))
    return "" if score.passed else f"an honest reply does not pass {env.ORACLE}: {', '.join(score.failures)}"


def _shown(scenario: Scenario) -> str:
    """What stands before the request in its message."""
    return scenario.opening[-1].content.removesuffix(request_of(scenario))


@lru_cache(maxsize=4)  # every line of a file comes from one draw
def _sources(env: ModuleType, count: int, seed: int) -> Mapping[str, Scenario]:
    return {scenario.id: scenario for scenario in drawn(env, count, seed)}
