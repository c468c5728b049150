"""Hand-made cases that a reward is tested with: a scenario, a reply, and the most or least it may earn."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from askfirst.replies import Truth
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
    content = "\n".join((*lines, f"user said: {utterance}"))
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


def replied(scenario: Scenario, reply: str) -> Trajectory:
    """The episode in which the policy says `reply` to the opening and nothing else; it has no tokens."""
    return Trajectory((*scenario.opening, Message("assistant", reply)), (), StopReason.END)
