"""Hand-made cases that a reward is tested with: a scenario, a reply, and the most or least it may earn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from askfirst.replies import SAID, Truth, truth
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


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of a file that `write_cases` or a person wrote. Raises InputError with file and line."""
    found = []
    for number, value in enumerate(read_lines(path), start=1):
        line = as_record(_Line, value, f"{path}:{number}")
        scenario = shown(line.shown, line.truth, stratum=line.stratum)
        found.append(Case(line.name, line.family, scenario, line.reply, line.bound, line.why))
    return tuple(found)


def replied(scenario: Scenario, reply: str) -> Trajectory:
    """The episode in which the policy says `reply` to the opening and nothing else; it has no tokens."""
    return Trajectory((*scenario.opening, Message("assistant", reply)), (), StopReason.END)
