"""Policies that no reward may prefer: what they earn over whole splits, against one that asks and acts as it should.

A reward can hold against every single reply and still pay a habit: asking always, refusing always, acting always.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from askfirst.cases import play
from askfirst.errors import RewardFault
from askfirst.replies import SAID, SLOTS, Reply
from askfirst.rollout import MAX_TURNS, Scorer
from askfirst.values import FrozenMap, Scenario, Trajectory

GAP = 0.25  # that the honest policy must earn more than any other, in units of the reward's range
# What asks for each slot, whatever was said.
QUESTIONS: Mapping[str, str] = {
    "recipient": "who is it for?",
    "time": "what time should it be?",
    "target": "which one do you mean?",
    "app": "which app should i use?",
    "content": "what should it say?",
    "quantity": "how many should it be?",
}


# What is said to a scenario: a text alone at every turn, else one text a turn.
Policy = Callable[[Scenario], str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Earning:
    """What a policy earns: its mean total over scenarios, and the shares of those it passes by being ambiguous."""

    policy: str
    mean: float
    ambiguous_pass: float
    clear_pass: float


def earnings(
    reward: ModuleType, env: ModuleType, scenarios: Sequence[Scenario], params: Mapping[str, Any] = FrozenMap()
) -> tuple[Earning, ...]:
    """What every policy earns, the honest one first. Raises RewardFault where the reward cannot score a scenario."""
    scorer, found = Scorer(reward, params), []
    for name, policy in policies(env).items():
        scores = [(s, scorer.score(s, _episode(env, s, policy(s)))) for s in scenarios]
        passes = {side: [x.passed for s, x in scores if s.ambiguous is side] for side in (True, False)}
        shares = {side: sum(each) / len(each) if each else 0.0 for side, each in passes.items()}
        found.append(Earning(name, sum(x.total for _, x in scores) / len(scores), shares[True], shares[False]))
    return tuple(found)


def prefers_honesty(found: Sequence[Earning], bounds: tuple[float, float]) -> None:
    """Raise RewardFault unless the honest policy earns GAP of the range more than every other one."""
    honest, *others = found
    best = max(others, key=lambda earning: earning.mean)
    gap = (honest.mean - best.mean) / (bounds[1] - bounds[0])
    if not gap >= GAP:
        raise RewardFault(
            f"policy {best.policy!r} earns {best.mean:.2f}, the honest one {honest.mean:.2f}: "
            f"a gap of {gap:.2f} of the range, wanted {GAP}"
        )


def policies(env: ModuleType) -> dict[str, Policy]:
    """Name → policy. All but `honest` and `guess` know nothing but what is shown.

    An environment whose episodes have several turns, or another protocol, brings its own as `habits()`; one of a name
    used here takes its place.
    """
    found: dict[str, Policy] = {
        "honest": lambda s: _demonstration(env, s, guess=False),
        "guess": lambda s: _demonstration(env, s, guess=True),
        "refuse everything": lambda s: Reply(
            "sorry, i can't do that", "out_of_scope", {"reason": "not possible"}
        ).text(),
        "confirm everything": lambda s: _confirm("are you sure?", s),
        "ask what was said": lambda s: _ask(f"did you say {_said(s)}?", "content"),
        "ask for everything": lambda s: _ask("who, when, what, which one and how many?", "target"),
        "ask and answer": lambda s: _ask("which one do you mean? i take the first one?", "target"),
        "ask after acting": lambda s: _ask("done, was that the right one?", "target"),
        "repeat": lambda s: _ask(_said(s), "target"),
        "do nothing": lambda s: Reply("okay, done", "action", {"name": "App.wait", "args": {}}).text(),
        "say nothing": lambda s: "",
    }
    for slot in SLOTS:
        found[f"always ask for the {slot}"] = partial(_always, slot)
    return {**found, **getattr(env, "habits", dict)()}


def _episode(env: ModuleType, scenario: Scenario, said: str | tuple[str, ...]) -> Trajectory:
    most: int = getattr(env, "MAX_TURNS", MAX_TURNS)
    return play(env, scenario, (said,) * most if isinstance(said, str) else said)


def _demonstration(env: ModuleType, scenario: Scenario, *, guess: bool) -> str:
    shown = env.demonstrations(scenario)
    chosen = [d for d in shown if d.guess is guess] or list(shown)
    reply: str = chosen[0].reply
    return reply


def _always(slot: str, scenario: Scenario) -> str:
    del scenario
    return _ask(QUESTIONS[slot], slot)


def _said(scenario: Scenario) -> str:
    return scenario.opening[-1].content.rpartition(SAID)[2]


def _ask(question: str, slot: str) -> str:
    return Reply(question, "clarify", {"question": question, "topic": slot}).text()


def _confirm(spoken: str, scenario: Scenario) -> str:
    return Reply(spoken, "confirm_destructive", {"action": "Files.delete", "target": _said(scenario) or "it"}).text()
