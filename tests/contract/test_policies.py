"""Whole habits over whole splits: no reward that is trained on may prefer one to asking and acting as one should."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from askfirst import plugins
from askfirst.contracts.policies import GAP, earnings, policies, prefers_honesty
from askfirst.errors import RewardFault
from askfirst.values import FrozenMap, Score

ENV = plugins.load("envs", "judgment")


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize("name", ["slots", "shaped"])
def test_honesty_pays_most_and_blind_asking_least(name: str, split: str) -> None:
    reward = plugins.load("rewards", name)
    found = earnings(reward, ENV, ENV.scenarios(split, 240, 5))
    prefers_honesty(found, reward.BOUNDS)
    by_name = {earning.policy: earning for earning in found}
    assert by_name["honest"].ambiguous_pass == by_name["honest"].clear_pass == 1.0
    assert by_name["guess"].ambiguous_pass == 0.0
    others = [earning for earning in found if earning.policy not in {"honest", "guess"}]
    assert all(earning.mean < by_name["guess"].mean for earning in others)
    assert all(earning.ambiguous_pass <= 0.25 for earning in others), "one question fits a quarter of all requests"


def test_a_reward_that_pays_a_habit_is_refused() -> None:
    def score(scenario: object, trajectory: SimpleNamespace, params: object) -> Score:
        total = 1.0 if '"clarify"' in trajectory.reply else 0.0
        return Score(total, FrozenMap({"pass": total}), total > 0, (), "asks@1")

    reward = SimpleNamespace(score=score, BOUNDS=(0.0, 1.0), __name__="asks")
    found = earnings(reward, ENV, ENV.scenarios("train", 60, 5))  # type: ignore[arg-type]
    with pytest.raises(RewardFault, match="ask"):
        prefers_honesty(found, reward.BOUNDS)


def test_the_published_scorers_pay_honesty_less_than_they_should() -> None:
    """The literal annotations refuse two thirds of the honest questions: known, and why `slots` exists."""
    for name in ("strict", "lenient"):
        found = earnings(plugins.load("rewards", name), ENV, ENV.scenarios("dev", 240, 5))
        assert found[0].ambiguous_pass < 0.5
        with pytest.raises(RewardFault, match=str(GAP)):
            prefers_honesty(found, (0.0, 1.0))


def test_policies_know_nothing_of_the_truth() -> None:
    """But for the demonstrations: with the truth taken away they say the same."""
    scenarios = ENV.scenarios("dev", 20, 5)
    for name, policy in policies(ENV).items():
        if name in {"honest", "guess"}:
            continue
        for scenario in scenarios:
            blind = SimpleNamespace(opening=scenario.opening)
            assert policy(blind) == policy(scenario)  # type: ignore[arg-type]
