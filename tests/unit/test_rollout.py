"""The error boundary: a score is computed or the run stops; an environment's fault drops the group."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from askfirst import plugins, replies
from askfirst.backends.scripted import Line, Scripted
from askfirst.batches import make_rows
from askfirst.errors import RewardFault
from askfirst.policy import Sampling
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.values import FrozenMap, Message, Scenario, Score, StopReason, Trajectory

SCENARIO = Scenario("s1", "f", "ambiguous", "train", True, (Message("user", "user said: send it"),), FrozenMap())
DRAW = Draw(seed=1, step=0, group_size=2)


def env(**changes: object) -> SimpleNamespace:
    fields = {
        "start": lambda s: s.opening,
        "step": lambda s, m: None,
        "parse": replies.parse_action,
        "__name__": "fake",
        "MAX_TURNS": 1,
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
    assert "another turn" in str(batch.faults[0])


def test_a_dialogue_is_recorded_turn_by_turn() -> None:
    def step(scenario: Scenario, messages: tuple[Message, ...]) -> Message | None:
        replies = [m.content for m in messages if m.role == "assistant"]
        return Message("user", f"and then {len(replies)}?") if len(replies) < 3 else None

    script = Scripted([Line("and then 2", "third"), Line("and then 1", "second"), Line("", "first")])
    stage = Stage(env(step=step, MAX_TURNS=3), "be brief", Sampling(40))  # type: ignore[arg-type]
    batch = rollouts(stage, script, reward(value(1.0)), [SCENARIO], DRAW)
    trajectory = batch.groups[0].rollouts[1].trajectory
    said = ["first", "and then 1?", "second", "and then 2?", "third"]
    assert [m.content for m in trajectory.messages[2:]] == said
    assert [s.sampled for s in trajectory.segments] == [False, True, False, True, False, True]
    assert trajectory.reply == "third"
    (row, _) = make_rows(batch.groups, plugins.load("advantages", "grpo"), {})
    spans = [script.decode(part) for part in np.split(row.token_ids, np.flatnonzero(np.diff(row.mask)) + 1)]
    assert spans[1::2] == ["first", "second", "third"]
    assert row.mask.sum() == sum(len(s.token_ids) for s in trajectory.segments if s.sampled)


def test_a_reply_that_was_cut_off_ends_the_episode() -> None:
    stage = Stage(env(step=lambda s, m: Message("user", "and?"), MAX_TURNS=3), "", Sampling(1))  # type: ignore[arg-type]
    batch = rollouts(stage, Scripted([Line("", "a long reply")]), reward(value(1.0)), [SCENARIO], DRAW)
    trajectory = batch.groups[0].rollouts[0].trajectory
    assert trajectory.stop is StopReason.LENGTH
    assert [s.sampled for s in trajectory.segments] == [False, True]


def test_what_a_group_says_twice_is_scored_once() -> None:
    scored: list[str] = []

    def count(scenario: Scenario, trajectory: Trajectory, params: object) -> Score:
        scored.append(trajectory.reply)
        return value(1.0)

    scorer = Scorer(SimpleNamespace(score=count, BOUNDS=(0.0, 1.0), __name__="fake"))  # type: ignore[arg-type]
    (group,) = run(scorer).groups
    assert [rollout.trajectory.reply for rollout in group.rollouts] == ["hello", "hello"]
    assert scored == ["hello"]
