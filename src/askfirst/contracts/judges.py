"""What every judge must satisfy; each function raises JudgeFault, naming what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType

from askfirst import plugins
from askfirst.cases import play
from askfirst.contracts.policies import policies
from askfirst.errors import JudgeFault
from askfirst.judgement import Judgement
from askfirst.judging import Judge
from askfirst.replies import PAYLOADS, SLOT_NAMES, SLOTS
from askfirst.rollout import MAX_TURNS, Scorer, action_of
from askfirst.store import generator
from askfirst.values import Message, Rollout, Scenario, StopReason, Trajectory

ENVS = ("judgment", "clarify")
DRAWN = 5  # scenarios of each environment
FUZZED = 100
_SHORT = 4  # hidden texts below this length say nothing when they occur
_TEXTS = (
    "",
    "{}",
    "?",
    "\x00",
    "[1, 2",
    '{"intent": "clarify"}',
    "\ud800",
    "a" * 9000,
    "null",
    "\u202e",
    "0",
    "1, 1, 1",
)
_SHOWN = frozenset({"problem"})  # of what `clarify` hides: the opening tells all of it
_ROLES = ("assistant", "user", "system", "tool", "")


def check(judge: Judge) -> None:
    """Every contract of a judge, in turn."""
    seen = episodes()
    repeatable(judge, seen)
    total(judge, seen)
    keeps_secrets(judge, seen)


def played(env: ModuleType, scenarios: Sequence[Scenario]) -> Iterator[Rollout]:
    """Episodes of every policy of an environment on every scenario, by its oracle's score."""
    scorer, most = Scorer.named(env.ORACLE), int(getattr(env, "MAX_TURNS", MAX_TURNS))
    for scenario in scenarios:
        for index, policy in enumerate(policies(env).values()):
            said = policy(scenario)
            trajectory = play(env, scenario, (said,) * most if isinstance(said, str) else said)
            yield Rollout(scenario, index, trajectory, action_of(env, trajectory), scorer.score(scenario, trajectory))


def episodes() -> list[Rollout]:
    """Episodes of both environments, honest ones and others."""
    every = [plugins.load("envs", name) for name in ENVS]
    return [each for env in every for each in played(env, env.scenarios("train", DRAWN, 0))]


def repeatable(judge: Judge, seen: Sequence[Rollout]) -> None:
    """The same episodes are judged alike a second time, from last to first."""
    one, other = judge(seen), judge(seen[::-1])[::-1]
    for rollout, first, second in zip(seen, one, other, strict=True):
        if first != second:
            raise _broken(judge, rollout, "is judged differently a second time, in another order")


def total(judge: Judge, seen: Sequence[Rollout]) -> None:
    """Whatever stands in an episode, there is a judgement of it: scores of every dimension, or none and why not."""
    for rollout in _fuzzed(seen, judge.name):
        found = judge([rollout])
        if len(found) != 1:
            raise _broken(judge, rollout, f"got {len(found)} judgements")


def keeps_secrets(judge: Judge, seen: Sequence[Rollout]) -> None:
    """No text that only the scenario hides occurs in the feedback, be it in a failure code of the score."""
    for rollout in (*seen, *_fuzzed(seen, judge.name)):
        hidden = secrets(rollout)
        codes = (*rollout.score.failures, *(f"wrong:{text}" for text in hidden), *hidden)
        coded = replace(rollout.score, passed=False, failures=codes)
        for each in (rollout, replace(rollout, score=coded)):
            said = leaked(judge([each])[0], hidden)
            if said:
                raise _broken(judge, rollout, f"is told the hidden {said!r}")


def secrets(rollout: Rollout) -> list[str]:
    """The hidden texts of a scenario that were neither shown nor said, but for words of the protocol."""
    said = "\n".join(m.content for m in rollout.trajectory.messages).lower()
    known = {*PAYLOADS, *SLOTS, *(way for ways in SLOT_NAMES.values() for way in ways)}
    hidden = [held for name, held in rollout.scenario.hidden.items() if name not in _SHOWN]
    found = {text.lower() for text in _texts([hidden, rollout.scenario.values])}
    return sorted(t for t in found - known if len(t) >= _SHORT and t not in said)


def leaked(judgement: Judgement, hidden: Sequence[str]) -> str:
    """The first hidden text in the words of a judgement; empty where there is none."""
    words = f" {judgement.feedback.lower()} "
    return next((text for text in hidden if text in words), "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(inner)


def _fuzzed(seen: Sequence[Rollout], name: str) -> Iterator[Rollout]:
    """Episodes with strange messages, endings, failure codes and roles."""
    rng = generator("judges", name)
    for number in range(FUZZED):
        rollout = seen[int(rng.integers(len(seen)))]
        texts = [_TEXTS[at] for at in rng.integers(0, len(_TEXTS), int(rng.integers(0, 5)))]
        said = [Message(_ROLES[int(rng.integers(len(_ROLES)))], text) for text in texts]
        last = Message("assistant", _TEXTS[number % len(_TEXTS)])
        messages = (*rollout.trajectory.messages[: int(rng.integers(0, 3))], *said, last)
        code = _TEXTS[int(rng.integers(len(_TEXTS)))]
        score = replace(rollout.score, passed=not number % 3, failures=(code, "intent_mismatch") if number % 3 else ())
        stop = list(StopReason)[number % len(StopReason)]
        yield replace(rollout, trajectory=Trajectory(messages, (), stop), score=score)


def _broken(judge: Judge, rollout: Rollout, what: str) -> JudgeFault:
    return JudgeFault(f"judge {judge.name!r}: an episode {what}", where=f"scenario {rollout.scenario.id}")
