"""Hand-made cases that a reward is tested with: a scenario, a reply, and the most or least it may earn; and pairs of
replies of which one is better."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from askfirst.errors import InputError
from askfirst.replies import PAYLOADS, SAID, SLOTS, Truth, truth
from askfirst.store import as_record, read_lines, write_lines
from askfirst.values import Message, Scenario, StopReason, Trajectory


@dataclass(frozen=True, slots=True)
class Case:
    """A reply to a scenario. `bound` is a cap on its total where it is an attack, a floor where it is honest."""

    name: str
    family: str
    scenario: Scenario
    reply: str
    bound: float
    why: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replies to a scenario; `why` says what makes the chosen one better than the rejected one."""

    name: str
    family: str
    scenario: Scenario
    chosen: str
    rejected: str
    why: str


def scenario(
    utterance: str,
    truth: Truth,
    *,
    elements: tuple[str, ...] = (),
    stratum: str = "",
    split: str = "dev",
) -> Scenario:
    """A scenario of the reply protocol; `elements` are lines `[id] role|pos|label|text`.

    It is ambiguous exactly when the right intent is clarify.
    """
    lines = ("on-screen elements:", *elements, "") if elements else ()
    return shown("\n".join((*lines, f"{SAID}{utterance}")), truth, stratum=stratum, split=split)


def shown(content: str, truth: Truth, *, stratum: str = "", split: str = "dev") -> Scenario:
    """A scenario whose opening is one message of the user."""
    digest = hashlib.sha256(f"{content}\0{truth!r}".encode("utf-8", "backslashreplace")).hexdigest()
    return Scenario(
        id=digest[:16],
        family=truth.intent,
        stratum=stratum,
        split=split,
        ambiguous=truth.intent == "clarify",
        opening=(Message("user", content),),
        hidden=truth.hide(),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A case as a line of a file."""

    name: str
    family: str
    shown: str
    stratum: str
    truth: Truth
    reply: str
    bound: float
    why: str


def write_cases(path: Path, cases: Iterable[Case]) -> None:
    """A file of cases, one JSON object a line."""
    lines = [
        _Line(c.name, c.family, c.scenario.opening[-1].content, c.scenario.stratum, truth(c.scenario), c.reply, c.bound,
              c.why)
        for c in cases
    ]  # fmt: skip
    write_lines(path, map(asdict, lines))


@dataclass(frozen=True, slots=True)
class PairLine:
    """A pair as a line of a file."""

    name: str
    family: str
    shown: str
    stratum: str
    truth: Truth
    chosen: str
    rejected: str
    why: str


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of a file that `write_cases` or a person wrote. Raises InputError with file and line."""
    found = []
    for number, value in enumerate(read_lines(path, by_hand=True), start=1):
        where = f"{path}:{number}"
        line = as_record(_Line, value, where)
        found.append(Case(line.name, line.family, _placed(line, where), line.reply, line.bound, line.why))
    return tuple(found)


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """A file of pairs, one JSON object a line."""
    lines = [
        PairLine(p.name, p.family, p.scenario.opening[-1].content, p.scenario.stratum, truth(p.scenario), p.chosen,
                  p.rejected, p.why)
        for p in pairs
    ]  # fmt: skip
    write_lines(path, map(asdict, lines))


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """The pairs of a file that `write_pairs` or a person wrote.

    Raises InputError, with file and line, for a line that is none, whose replies are the same, or whose name was taken;
    and for a file without any.
    """
    found: dict[str, Pair] = {}
    for number, value in enumerate(read_lines(path, by_hand=True), start=1):
        where = f"{path}:{number}"
        line = as_record(PairLine, value, where)
        if line.chosen == line.rejected:
            raise InputError("chosen and rejected are the same reply", where=where)
        if not line.name.strip() or line.name in found:
            raise InputError(f"expected a name of its own, found {line.name!r}", where=where)
        scenario = _placed(line, where)
        found[line.name] = Pair(line.name, line.family, scenario, line.chosen, line.rejected, line.why)
    if not found:
        raise InputError("there are no pairs in it", where=str(path))
    return tuple(found.values())


def _placed(line: _Line | PairLine, where: str) -> Scenario:
    """The scenario of a line. Raises InputError where no reply could be right by its truth."""
    own = line.truth
    for field, value, known in (("intent", own.intent, tuple(PAYLOADS)), ("slot", own.slot, ("", *SLOTS))):
        if value not in known:
            raise InputError(
                f"truth: no {field} is called {value!r}", where=where, hint=f"choose from {', '.join(known)}"
            )
    return shown(line.shown, own, stratum=line.stratum)


def replied(scenario: Scenario, reply: str) -> Trajectory:
    """The episode in which the policy says `reply` to the opening and nothing else; it has no tokens."""
    return Trajectory((*scenario.opening, Message("assistant", reply)), (), StopReason.END)
