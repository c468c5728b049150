"""What an episode comes to: the calls of the policy followed one by one, what they ask about and how it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askfirst.calls import ASK, CallError
from askfirst.clarify.calls import DECLINE, INFO, INSTRUCTIONS, parse_call
from askfirst.clarify.problem import BUDGET, hidden_of
from askfirst.clarify.user import Asking, answer, heard_of, tells, understood
from askfirst.values import FrozenMap, Message, Scenario, StopReason, Trajectory

MAX_TURNS = 12
ENOUGH, ONE_AT_A_TIME = "That is enough of questions.", "One thing at a time."
# How an episode ends.
PLANNED, DECLINED = "planned", "declined"
PARSE_ERROR, OVER_BUDGET, OVERFLOW, TURNS, UNFINISHED = "unparsable", "over_budget", "overflow", "turns", "unfinished"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the keys it is about, those the user heard within the budget, how many it counts for, and the
    values that the answer told, by key."""

    about: tuple[str, ...]
    heard: tuple[str, ...]
    count: int
    told: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """The questions of an episode, the plan where it ends in one, and the ending."""

    asked: tuple[Asked, ...] = ()
    plan: Mapping[str, Any] = FrozenMap()
    ending: str = UNFINISHED

    @property
    def told(self) -> dict[str, str]:
        """The values that the user told, by key; the last word holds."""
        return dict(pair for each in self.asked for pair in each.told)

    @property
    def count(self) -> int:
        """Things asked about, an obscure question counting for one."""
        return sum(each.count for each in self.asked)

    @property
    def left(self) -> int:
        """Questions left."""
        return BUDGET - self.count


def follow(scenario: Scenario, texts: Sequence[str]) -> Record:
    """The record after the policy has said `texts`, one a turn.

    What was heard and told is worked out anew: what stands in a transcript as an answer proves nothing.
    """
    record = Record()
    for turn, text in enumerate(texts, start=1):
        record = _after(scenario, record, text)
        if record.ending == UNFINISHED and turn >= MAX_TURNS:
            return Record(record.asked, ending=TURNS)
        if record.ending != UNFINISHED:
            return record
    return record


def recorded(scenario: Scenario, trajectory: Trajectory) -> Record:
    """The record of a trajectory; one that was cut off before a plan has overflowed."""
    record = follow(scenario, spoken(trajectory.messages))
    cut = trajectory.stop in (StopReason.LENGTH, StopReason.THINKING) and record.ending in (PARSE_ERROR, UNFINISHED)
    return Record(record.asked, ending=OVERFLOW) if cut else record


def said_next(scenario: Scenario, texts: Sequence[str]) -> str | None:
    """What the policy is told after it has said `texts`, at least one; None where the episode is over."""
    record = follow(scenario, texts)
    if record.ending != UNFINISHED:
        return None
    if parse_call(texts[-1]).name == INFO:
        shown = "\n".join(message.content for message in scenario.opening)
        return f"{shown}\n{INSTRUCTIONS}\nquestions left: {record.left}"
    asked, before = record.asked[-1], Record(record.asked[:-1])
    said = answer(hidden_of(scenario), _asking(scenario, before), asked.heard)
    if len(asked.about) > len(asked.heard):
        said += f" {ENOUGH if len(asked.heard) == before.left else ONE_AT_A_TIME}"
    return f"{said}\nquestions left: {record.left}"


def spoken(messages: Sequence[Message]) -> list[str]:
    """What the policy said, turn by turn."""
    return [message.content for message in messages if message.role == "assistant"]


def _asking(scenario: Scenario, before: Record) -> Asking:
    return Asking(scenario.id, scenario.split, before.told)


def _after(scenario: Scenario, record: Record, text: str) -> Record:
    try:
        call = parse_call(text)
    except CallError:
        return Record(record.asked, ending=PARSE_ERROR)
    if call.name == INFO:
        return record
    if call.name != ASK:
        return Record(record.asked, call.plan, DECLINED if DECLINE in call.plan else PLANNED)
    if record.left == 0:
        return Record(record.asked, ending=OVER_BUDGET)
    hidden = hidden_of(scenario)
    about = understood(hidden.problem.family, call.question)
    heard = heard_of(hidden, about, record.left)
    return Record(
        (*record.asked, Asked(about, heard, max(1, len(heard)), tells(hidden, _asking(scenario, record), heard)))
    )
