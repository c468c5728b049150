"""Whole habits over whole splits: no reward that is trained on may prefer one to asking and acting as one should."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest

from askfirst import plugins
from askfirst.contracts.policies import (
    GAP,
    IN_TURN,
    LADDER,
    LAST_RUNG,
    RUNG,
    Earning,
    best_habit,
    earnings,
    keeps_order,
    ladder,
    policies,
    prefers_honesty,
)
from askfirst.errors import RewardFault
from askfirst.replies import SLOTS, parse_reply
from askfirst.values import FrozenMap, Score

BLIND = {
    *("refuse everything", "confirm everything", "ask what was said", "ask for everything", "ask and answer"),
    *("ask after acting", "repeat", "do nothing", "say nothing"),
}
ENV = plugins.load("envs", "judgment")


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize("name", ["slots", "shaped"])
def test_honesty_pays_most_and_blind_asking_least(name: str, split: str) -> None:
    reward = plugins.load("rewards", name)
    found = earnings(reward, ENV, ENV.scenarios(split, 240, 5))
    prefers_honesty(found, reward.BOUNDS)
    keeps_order(found, reward.BOUNDS)
    by_name = {earning.policy: earning for earning in found}
    assert by_name["honest"].ambiguous_pass == by_name["honest"].clear_pass == 1.0
    assert by_name["guess"].ambiguous_pass == 0.0
    slots = {f"always ask for the {slot}" for slot in SLOTS}
    others = [earning for earning in found if earning.policy not in {"honest", "guess", "minimal ask", IN_TURN}]
    asking = [e for e in others if e.policy not in {*slots, "ask when clear"}]
    assert all(earning.ambiguous_pass == 0.0 for earning in asking), "a question that is not one question"
    assert all(by_name[name].ambiguous_pass <= 0.25 for name in slots), "one question fits a quarter of all requests"
    low, high = reward.BOUNDS
    gaps = [(by_name[a].mean - by_name[b].mean) / (high - low) for a, b in pairwise(LADDER)]
    assert min(gaps[:-1]) >= RUNG
    assert gaps[-1] >= LAST_RUNG > 0, "every rung is a gap, none a tie"
    sixth = (by_name["minimal ask"].mean - by_name["guess"].mean) / len(SLOTS)
    assert by_name[IN_TURN].mean - by_name["guess"].mean >= sixth - 1e-9, "what LAST_RUNG is derived from"
    assert ladder(found).startswith("honest 1.00, minimal ask 0.")
    if name == "shaped":  # with partial credit a reply that asks for everything is told from acting blind too
        assert by_name["ask for everything where unclear"].mean > by_name["guess"].mean + 0.1


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


def test_an_order_that_is_not_kept_is_refused() -> None:
    everything = "ask for everything where unclear"
    earned = {"honest": 1.0, "minimal ask": 0.7, IN_TURN: 0.4, "guess": 0.3, everything: 0.3}

    def found(high: float = 1.0, **changed: float) -> None:
        means = earned | changed
        keeps_order([Earning(name, mean, 0.0, 1.0) for name, mean in means.items()], (0.0, high))

    found()
    for name, mean, said in (
        (everything, 0.65, "'ask for everything where unclear' earns 0.65, 'minimal ask' 0.70"),
        (everything, 0.45, "'ask for everything where unclear' earns 0.45, 'ask for each slot"),
        (everything, 0.25, "'guess' earns 0.30, 'ask for everything where unclear' 0.25"),
        (IN_TURN, 0.3 + 0.9 * LAST_RUNG, "'guess' earns 0.30, 'ask for each slot in turn'"),
        (IN_TURN, 0.65, "'ask for each slot in turn' earns 0.65, 'minimal ask'"),
        ("minimal ask", 0.95, "'minimal ask' earns 0.95, 'honest'"),
    ):
        with pytest.raises(RewardFault, match=said):
            found(**{name: mean})
    with pytest.raises(RewardFault, match=r"'minimal ask' earns 0\.70"):
        found(high=4.0)
    assert best_habit([Earning(name, mean, 0.0, 1.0) for name, mean in earned.items()]).policy == IN_TURN
    assert ladder([Earning("honest", 1.0, 1.0, 1.0)]) == ""


def test_every_habit_of_the_list_is_there() -> None:
    """Each is a reply of the protocol, says what its name says, and differs from the honest one where it should."""
    known = policies(ENV)
    where = next(s for s in ENV.scenarios("dev", 40, 5) if s.ambiguous and s.hidden["slot"] == "recipient")
    said = {name: policy(where) for name, policy in known.items() if name != "say nothing"}
    replies = {name: parse_reply(str(text)) for name, text in said.items()}
    question = replies["honest"].payload["question"]
    assert replies["ask twice"].spoken == f"{question} {question}"
    assert replies["act, then ask"].spoken == f"done, {question}"
    assert replies["ask two things"].spoken == f"{question[:-1]} and what time should it be?"
    assert replies["ask what is not missing"].payload["topic"] == "time"
    assert replies["minimal ask"].spoken == replies["always ask for the recipient"].spoken == "who is it for?"
    assert replies["confirm without content"].intent == "confirm_destructive"
    assert replies["ask for everything"].spoken == replies["ask for everything where unclear"].spoken
    clear = next(s for s in ENV.scenarios("dev", 40, 5) if not s.ambiguous)
    honest = known["honest"](clear)
    blind = {name for name, policy in known.items() if policy(clear) != honest}
    assert blind == {*BLIND, "ask when clear"}


def test_policies_know_nothing_of_the_truth() -> None:
    """But for those that do right by the clear requests: with the truth taken away they say the same."""
    scenarios = ENV.scenarios("dev", 20, 5)
    for name, policy in policies(ENV).items():
        if name not in BLIND:
            continue
        for scenario in scenarios:
            blind = SimpleNamespace(opening=scenario.opening)
            assert policy(blind) == policy(scenario)  # type: ignore[arg-type]
