"""The error boundary: a score is computed or the run stops; an environment's fault drops the group."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from askfirst import replies
from askfirst.backends.scripted import Line, Scripted
from askfirst.errors import RewardFault
from askfirst.policy import Sampling
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.values import FrozenMap, Message, Scenario, Score

SCENARIO = Scenario("s1", "f", "ambiguous", "train", True, (Message("user", "user said: send it"),), FrozenMap())
DRAW = Draw(seed=1, step=0, group_size=2)


def env(**changes: object) -> SimpleNamespace:
    fields = {
        "start": lambda s: s.opening,
        "step": lambda s, m: None,
        "parse": replies.parse_action,
        "__name__": "fake",
    }
    return SimpleNamespace(**{**fields, **changes})


def reward(score: object, bounds: tuple[float, float] = (0.0, 1.0)) -> Scorer:
    def compute(scenario: Scenario, trajectory: object, params: object) -> object:
        if isinstance(score, Exception):
            raise score
        return score

    return Scorer(SimpleNamespace(score=compute, BOUNDS=bounds, __name__="fake"))  # type: ignore[arg-type]


def value(total: float, **terms: float) -> Score:
    return Score(total, FrozenMap(terms or {"pass": total}), total > 0, (), "fake@1")


def run(scorer: Scorer, environment: SimpleNamespace | None = None):
    stage = Stage(environment or env(), "be brief", Sampling(40))  # type: ignore[arg-type]
    return rollouts(stage, Scripted([Line("", "hello")]), scorer, [SCENARIO], DRAW)


def test_groups_hold_one_rollout_per_seed() -> None:
    (group,) = run(reward(value(1.0))).groups
    assert [r.index for r in group.rollouts] == [0, 1]
    assert [m.role for m in group.rollouts[0].trajectory.messages] == ["system", "user", "assistant"]
    prompt, reply = group.rollouts[0].trajectory.segments
    assert not prompt.sampled
    assert reply.sampled
    assert len(reply.logprobs) == len(reply.token_ids)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (ZeroDivisionError("x"), "raised ZeroDivisionError"),
        (value(float("nan")), "outside its bounds"),
        (value(1.5), "outside its bounds"),
        (value(0.5, a=0.2, b=0.2), "do not add up"),
        (0.5, "not a Score"),
        (None, "not a Score"),
    ],
)
def test_a_reward_without_a_sound_score_stops_the_run(score: object, message: str) -> None:
    with pytest.raises(RewardFault, match=message):
        run(reward(score))


def test_an_environment_that_raises_drops_the_whole_group() -> None:
    calls: list[int] = []

    def sometimes(scenario: Scenario, messages: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("lost")

    batch = run(reward(value(1.0)), env(step=sometimes))
    assert batch.groups == ()
    assert "KeyError" in str(batch.faults[0])


def test_another_turn_is_refused_aloud() -> None:
    batch = run(reward(value(1.0)), env(step=lambda s, m: Message("user", "and?")))
    assert "one turn" in str(batch.faults[0])
