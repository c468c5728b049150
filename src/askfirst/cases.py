"""Hand-made cases that a reward is tested with: a scenario, what is said to it, and the most or least that may earn."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.errors import InputError
from askfirst.replies import PAYLOADS, SAID, SLOTS, Truth, truth
from askfirst.store import as_record, read_lines, write_lines
from askfirst.values import FrozenMap, Message, Scenario, StopReason, Trajectory


@dataclass(frozen=True, slots=True)
class Case:
    """A reply to a scenario. `bound` is a cap on its total where it is an attack, a floor where it is honest.

    With `env`, the name of an environment, the case is an episode: the environment answers, and `reply` may hold one
    text for each turn of the policy. `codes` are the failures that it must have, all of them and no other; none says
    nothing about them.
    """

    name: str
    family: str
    scenario: Scenario
    reply: str | tuple[str, ...]
    bound: float
    why: str
    env: str = ""
    codes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.replies:
            raise ValueError(f"case {self.name!r} says nothing: an episode has at least one reply")
        if len(self.replies) > 1 and not self.env:
            raise ValueError(f"case {self.name!r} has several replies and names no environment that answers them")
        if not math.isfinite(self.bound):
            raise ValueError(f"case {self.name!r} has the bound {self.bound}, which nothing is above or below")

    @property
    def replies(self) -> tuple[str, ...]:
        """What the policy says, one text a turn."""
        return (self.reply,) if isinstance(self.reply, str) else self.reply

    def trajectory(self) -> Trajectory:
        """The episode of the case; it has no tokens. Raises InputError where it is over before the last reply."""
        found = self.with_replies(self.replies)
        said = tuple(m.content for m in found.messages if m.role == "assistant")
        if said[-len(self.replies) :] != self.replies:
            raise InputError(f"case {self.name!r}: the episode is over before the last of {len(self.replies)} replies")
        return found

    def with_replies(self, replies: tuple[str, ...]) -> Trajectory:
        """The episode in which the policy says something else; what is left when it is over is not said."""
        if not self.env:
            return replied(self.scenario, replies[0])
        return play(plugins.load("envs", self.env), self.scenario, replies)

    def with_last(self, reply: str) -> Trajectory:
        """The episode in which the policy says something else in the end."""
        return self.with_replies((*self.replies[:-1], reply))


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
    """A case as a line of a file: a reply to a request of the reply protocol, or any scenario in full."""

    name: str
    family: str
    reply: str | tuple[str, ...]
    bound: float
    why: str
    shown: str = ""
    stratum: str = ""
    truth: Truth | None = None
    scenario: Scenario | None = None
    env: str = ""
    codes: tuple[str, ...] = ()


def write_cases(path: Path, cases: Iterable[Case]) -> None:
    """A file of cases, one JSON object a line."""
    write_lines(path, map(_as_line, cases))


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of a file that `write_cases` or a person wrote. Raises InputError with file and line."""
    lines = enumerate(read_lines(path, by_hand=True), start=1)
    return tuple(_of_line(value, f"{path}:{number}") for number, value in lines)


def _as_line(case: Case) -> dict[str, Any]:
    line: dict[str, Any] = {
        "name": case.name,
        "family": case.family,
        "reply": case.reply,
        "bound": case.bound,
        "why": case.why,
    }
    line |= {"codes": case.codes} if case.codes else {}
    where = case.scenario
    if case.env or not of_protocol(where):
        return {**line, "scenario": where, "env": case.env}
    return {**line, "shown": where.opening[-1].content, "stratum": where.stratum, "truth": truth(where)}


def _of_line(value: Any, where: str) -> Case:
    if isinstance(value, dict) and isinstance(value.get("scenario"), dict):
        value = {**value, "scenario": _hiding(value["scenario"])}
    line = as_record(_Line, value, where)
    if line.scenario is not None and line.truth is None:
        asked = line.scenario
    elif line.truth is not None and line.scenario is None:
        asked = placed(line.shown, line.truth, line.stratum, where)
    else:
        raise InputError("a case has either a scenario, or what is shown and its truth", where=where)
    try:
        return Case(line.name, line.family, asked, line.reply, line.bound, line.why, line.env, line.codes)
    except ValueError as error:
        raise InputError(str(error), where=where) from error


def scenario_of(value: Any, where: str) -> Scenario:
    """A whole scenario from JSON types, as `store.plain` writes it. Raises InputError with `where`."""
    return as_record(Scenario, _hiding(value), where)


def _hiding(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("hidden"), dict):
        return {**value, "hidden": _frozen(value["hidden"])}
    return value


def _frozen(value: Any) -> Any:
    """JSON types as what a scenario hides: lists as tuples, objects as frozen maps."""
    if isinstance(value, dict):
        return FrozenMap({name: _frozen(each) for name, each in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def placed(content: str, truth: Truth, stratum: str, where: str) -> Scenario:
    """The scenario of a line of a file, `where`. Raises InputError where no reply could be right by its truth."""
    for field, value, known in (("intent", truth.intent, tuple(PAYLOADS)), ("slot", truth.slot, ("", *SLOTS))):
        if value not in known:
            names = ", ".join(filter(None, known))
            raise InputError(f"truth: no {field} is called {value!r}", where=where, hint=f"choose from {names}")
    return shown(content, truth, stratum=stratum)


def of_protocol(scenario: Scenario) -> bool:
    """Whether what a scenario hides is a truth of the reply protocol."""
    try:
        truth(scenario)
    except TypeError:
        return False
    return True


def replied(scenario: Scenario, reply: str) -> Trajectory:
    """The episode in which the policy says `reply` to the opening and nothing else; it has no tokens."""
    return Trajectory((*scenario.opening, Message("assistant", reply)), (), StopReason.END)


def play(env: ModuleType, scenario: Scenario, replies: Iterable[str]) -> Trajectory:
    """The episode in which the policy says one of `replies` a turn; it has no tokens.

    What is left of `replies` when the environment ends the episode is not said. Where they run out first, the episode
    ends with the last of them, as that of a policy that was cut off. Raises ValueError for no replies.
    """
    messages: tuple[Message, ...] = tuple(env.start(scenario))
    spoken = len(messages)
    for reply in replies:
        messages += (Message("assistant", reply),)
        spoken = len(messages)
        answer: Message | None = env.step(scenario, messages)
        if answer is None:
            return Trajectory(messages, (), StopReason.END)
        messages += (answer,)
    if spoken == len(messages):
        raise ValueError("an episode has at least one reply")
    return Trajectory(messages[:spoken], (), StopReason.LENGTH)
