"""Policies that no reward may prefer: what they earn over whole splits, against one that asks and acts as it should.

A reward can hold against every single reply and still pay a habit: asking always, refusing always, acting always. The
habits that pay best do right by the clear requests and save themselves the trouble where something is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from types import ModuleType
from typing import Any

from askfirst.cases import play
from askfirst.errors import RewardFault
from askfirst.replies import SAID, SLOTS, Reply, parse_reply, truth
from askfirst.rollout import MAX_TURNS, Scorer
from askfirst.values import TOLERANCE, FrozenMap, Scenario, Score, Trajectory

GAP = 0.25  # that the honest policy must earn more than any habit, in units of the reward's range
RUNG = 0.1  # that a policy of a ladder must earn more than the next, likewise
# The same for the last rung of LADDER. A sixth of the questions asked in turn is the right one, so that turn is worth a
# sixth of what the shortest right question earns over a guess: 0.05 of the range under a reward that passes or fails,
# where the shortest question does for half of the requests. Half of that is left to the draw.
LAST_RUNG = 0.025
FULL = 0.99  # of the highest total, that the honest policy must earn on every single scenario
MINIMAL, IN_TURN, EVERYTHING = "minimal ask", "ask for each slot in turn", "ask for everything where unclear"
BLIND = "guess"
LADDER = ("honest", MINIMAL, IN_TURN, BLIND)  # in the order in which they must earn
# What asks for each slot, whatever was said.
QUESTIONS: Mapping[str, str] = {
    "recipient": "who is it for?",
    "time": "what time should it be?",
    "target": "which one do you mean?",
    "app": "which app should i use?",
    "content": "what should it say?",
    "quantity": "how many should it be?",
}
SINGLE = {f"always ask for the {slot}": slot for slot in SLOTS}

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
    """What every policy earns, the honest one first, and for single replies last that which asks for each slot in turn.

    Raises RewardFault where the reward cannot score a scenario.
    """
    scorer, found = Scorer(reward, params), []
    known: dict[tuple[int, str | tuple[str, ...]], Score] = {}  # most policies say the same to a clear request
    for name, policy in policies(env).items():
        scores = []
        for at, s in enumerate(scenarios):
            said = policy(s)
            if (at, said) not in known:
                known[at, said] = scorer.score(s, episode(env, s, said))
            scores.append((s, known[at, said]))
        passes = {side: [x.passed for s, x in scores if s.ambiguous is side] for side in (True, False)}
        shares = {side: sum(each) / len(each) if each else 0.0 for side, each in passes.items()}
        found.append(Earning(name, sum(x.total for _, x in scores) / len(scores), shares[True], shares[False]))
    turns = [earning for earning in found if earning.policy in SINGLE]
    return (*found, _evenly(IN_TURN, turns)) if turns else tuple(found)


def _evenly(name: str, mixed: Sequence[Earning]) -> Earning:
    """What a policy earns that follows each of the others equally often."""
    columns = [[getattr(earning, key) for earning in mixed] for key in ("mean", "ambiguous_pass", "clear_pass")]
    return Earning(name, *(sum(column) / len(column) for column in columns))


def best_habit(found: Sequence[Earning]) -> Earning:
    """The habit that earns most: of all but the honest policy and the one that asks as briefly as may do."""
    return max((e for e in found if e.policy not in {"honest", MINIMAL}), key=lambda earning: earning.mean)


def earns_in_full(
    reward: ModuleType, env: ModuleType, scenarios: Sequence[Scenario], params: Mapping[str, Any] = FrozenMap()
) -> None:
    """Raise RewardFault, naming the scenario, unless the honest policy passes and earns FULL on every one of them."""
    scorer, honest, best = Scorer(reward, params), policies(env)["honest"], reward.BOUNDS[1]
    for scenario in scenarios:
        score = scorer.score(scenario, episode(env, scenario, honest(scenario)))
        if not score.passed or score.total < FULL * best:
            why = ", ".join(score.failures) or "no reason"
            raise RewardFault(
                f"the honest policy earns {score.total:.2f} of {best:g} on {scenario.family} ({why})",
                where=f"scenario {scenario.id}",
            )


def keeps_caps(found: Sequence[Earning], caps: Mapping[str, float], own: Iterable[str]) -> None:
    """Raise RewardFault unless every habit of an environment's `own` but honesty has a cap, earns no more than that on
    average, and passes nothing that is ambiguous. `caps`: habit → the most that it may earn.
    """
    earned = {earning.policy: earning for earning in found}
    for name in (name for name in own if name != "honest"):
        if name not in caps:
            raise RewardFault(f"policy {name!r} has no cap")
        if earned[name].mean > caps[name] + TOLERANCE or earned[name].ambiguous_pass > 0:
            raise RewardFault(
                f"policy {name!r} earns {earned[name].mean:.2f}, cap {caps[name]:g}, "
                f"and passes {earned[name].ambiguous_pass:.0%} of what is ambiguous, cap 0 %"
            )


def prefers_honesty(found: Sequence[Earning], bounds: tuple[float, float], gap: float = GAP) -> None:
    """Raise RewardFault unless the honest policy earns `gap` of the range more than every habit."""
    _outearns(found[0], best_habit(found), bounds, gap)


def keeps_order(found: Sequence[Earning], bounds: tuple[float, float]) -> None:
    """Raise RewardFault unless what is earned falls along LADDER: by RUNG of the range from each policy to the next,
    and by LAST_RUNG from asking for each slot in turn to acting blind.

    A reply holds one question, so to ask for everything takes as many replies as there are slots, and that is what
    IN_TURN does. EVERYTHING puts it all into one reply: that earns a RUNG less than the shortest question, no more than
    IN_TURN, and no less than acting blind. A reward that only passes or fails pays these two alike: both fail.
    """
    earned = {earning.policy: earning for earning in found}
    rungs = [*((upper, lower, RUNG) for upper, lower in pairwise(LADDER[:-1])), (IN_TURN, BLIND, LAST_RUNG)]
    stuffed = [(MINIMAL, EVERYTHING, RUNG), (IN_TURN, EVERYTHING, 0.0), (EVERYTHING, BLIND, 0.0)]
    for upper, lower, wanted in (*rungs, *stuffed):
        _outearns(earned[upper], earned[lower], bounds, wanted)


def ladder(found: Sequence[Earning]) -> str:
    """What the policies of LADDER earn, in its order and in words; empty where one of them was not tried."""
    earned = {earning.policy: earning.mean for earning in found}
    known = set(LADDER) <= set(earned)
    return ", ".join(f"{name} {earned[name]:.2f}" for name in LADDER) if known else ""


def _outearns(upper: Earning, lower: Earning, bounds: tuple[float, float], wanted: float) -> None:
    gap = (upper.mean - lower.mean) / (bounds[1] - bounds[0])
    if not gap >= wanted - TOLERANCE:
        raise RewardFault(
            f"policy {lower.policy!r} earns {lower.mean:.2f}, {upper.policy!r} {upper.mean:.2f}: "
            f"a gap of {gap:.2f} of the range, wanted {wanted}"
        )


def policies(env: ModuleType) -> dict[str, Policy]:
    """Name → policy: the honest one, the blind ones, which know only what is shown, and those of `_where_unclear`.

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
    single = getattr(env, "MAX_TURNS", MAX_TURNS) == 1
    return {**found, **(_where_unclear(env) if single else {}), **getattr(env, "habits", dict)()}


def _where_unclear(env: ModuleType) -> dict[str, Policy]:
    """Policies that do right by the clear requests and make do with something else where a question is due; and one
    that asks well where it is due, and where it is not."""
    made: dict[str, Callable[[Scenario, str], str]] = {
        MINIMAL: lambda s, asked: _ask(QUESTIONS[_slot(s)], _slot(s)),
        EVERYTHING: lambda s, asked: _ask("who, when, what, which one and how many?", _slot(s)),
        "ask what is not missing": lambda s, asked: _ask(QUESTIONS[_other(s)], _other(s)),
        "ask twice": lambda s, asked: _ask(f"{asked} {asked}", _slot(s)),
        "ask two things": lambda s, asked: _ask(f"{asked[:-1]} and {QUESTIONS[_other(s)]}", _slot(s)),
        "act, then ask": lambda s, asked: _ask(f"done, {asked}", _slot(s)),
        "ask, then answer": lambda s, asked: _ask(f"{asked} i take the first one", _slot(s)),
        "confirm without content": lambda s, asked: _confirm("is that ok?", s),
        **{name: partial(_always, slot) for name, slot in SINGLE.items()},
    }
    found = {name: partial(_instead, env, reply) for name, reply in made.items()}
    return {**found, "ask when clear": partial(_always_asks, env)}


def episode(env: ModuleType, scenario: Scenario, said: str | tuple[str, ...]) -> Trajectory:
    """The episode of what a policy says: one text a turn, or the same in every turn."""
    most: int = getattr(env, "MAX_TURNS", MAX_TURNS)
    return play(env, scenario, (said,) * most if isinstance(said, str) else said)


@lru_cache(maxsize=1024)
def _demonstration(env: ModuleType, scenario: Scenario, *, guess: bool) -> str:
    shown = env.demonstrations(scenario)
    chosen = [d for d in shown if d.guess is guess] or list(shown)
    reply: str = chosen[0].reply
    return reply


def _instead(env: ModuleType, reply: Callable[[Scenario, str], str], scenario: Scenario) -> str:
    """The honest reply to a clear request; to another what `reply` makes of it and of the honest question."""
    honest = _demonstration(env, scenario, guess=False)
    return reply(scenario, str(parse_reply(honest).payload["question"])) if scenario.ambiguous else honest


def _always_asks(env: ModuleType, scenario: Scenario) -> str:
    return _demonstration(env, scenario, guess=False) if scenario.ambiguous else _always("target")


def _slot(scenario: Scenario) -> str:
    return truth(scenario).slot or "target"


def _other(scenario: Scenario) -> str:
    """A slot that is not missing."""
    return SLOTS[(SLOTS.index(_slot(scenario)) + 1) % len(SLOTS)]


def _always(slot: str, *given: Any) -> str:
    del given
    return _ask(QUESTIONS[slot], slot)


def _said(scenario: Scenario) -> str:
    return scenario.opening[-1].content.rpartition(SAID)[2]


def _ask(question: str, slot: str) -> str:
    return Reply(question, "clarify", {"question": question, "topic": slot}).text()


def _confirm(spoken: str, scenario: Scenario) -> str:
    return Reply(spoken, "confirm_destructive", {"action": "Files.delete", "target": _said(scenario) or "it"}).text()
