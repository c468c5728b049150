"""The desk: tasks by name, and episodes that are played from outside."""

from __future__ import annotations

from collections import Counter

import pytest

from askfirst.cases import play
from askfirst.desk import BLOCK, Desk, EpisodeOver
from askfirst.errors import InputError, PluginError, SplitError
from askfirst.rollout import Scorer
from askfirst.values import StopReason

DESK = Desk.named()


def test_a_task_is_named_by_its_split_and_seed() -> None:
    tasks = [DESK.task("train", seed) for seed in range(3 * BLOCK)]
    assert tasks == [Desk.named().task("train", seed) for seed in range(3 * BLOCK)]
    assert len({task.id for task in tasks}) == len(tasks)
    assert {task.split for task in tasks} == {"train"}
    assert DESK.task("dev", 0).id != tasks[0].id
    assert Counter(task.ambiguous for task in tasks) == {True: 39, False: 21}  # the mix of the environment: 65 %
    assert len({task.stratum for task in tasks}) >= 5


@pytest.mark.parametrize(
    ("split", "seed", "kind"),
    [
        ("sealed", 0, SplitError),
        ("test", 0, SplitError),
        ("train", -1, InputError),
        ("train", 2**32, InputError),
        ("train", 1.0, InputError),
        ("train", True, InputError),
    ],
)
def test_the_sealed_split_and_strange_seeds_are_refused(split: str, seed: object, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        DESK.task(split, seed)  # type: ignore[arg-type]


def test_an_environment_without_tools_is_refused() -> None:
    with pytest.raises(PluginError, match="no TOOLS"):
        Desk.named("judgment", "strict")


def test_a_session_is_the_episode_that_plain_python_plays() -> None:
    scorer = Scorer.named("utility")
    for seed, policy in enumerate((*DESK.env.habits().values(),) * 3):
        scenario = DESK.task("train", seed)
        said = policy(scenario)
        said = (said,) if isinstance(said, str) else tuple(said)
        session, answers = DESK.open(scenario), []
        for text in said:
            if not session.over:
                answers.append(session.say(text))
        episode = play(DESK.env, scenario, said)
        spoken = [m.content for m in episode.messages[len(scenario.opening) :] if m.role == "user"]
        assert session.over == (episode.stop is StopReason.END)
        assert answers[: len(spoken)] == spoken
        assert session.score() == scorer.score(scenario, episode) == DESK.score(scenario, said)


def test_after_the_end_nothing_is_answered_and_the_score_stays() -> None:
    scenario = DESK.task("dev", 3)
    session = DESK.open(scenario)
    assert session.score().total == pytest.approx(0.0)  # nothing is said yet, and nothing is done
    session.say('{"name": "propose_plan", "arguments": {"plan": {}}}')
    score = session.score()
    with pytest.raises(EpisodeOver):
        session.say('{"name": "get_task_info", "arguments": {}}')
    assert session.score() == score
