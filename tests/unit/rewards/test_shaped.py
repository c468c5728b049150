"""The shaped table, row by row, over every base."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.cases import Case, replied
from askfirst.contracts.rewards import self_test
from askfirst.errors import PluginError, RewardFault
from askfirst.rewards._shaped_cases import FLOORS, ROWS
from askfirst.rewards.shaped import BOUNDS, DEFAULTS, at_step, score
from askfirst.values import FrozenMap

BASES = ["slots", "strict", "lenient"]
EXACT = {"full": 1.0, "partial": 0.3, "nothing": 0.0, "over_asking": -0.5}


@pytest.mark.parametrize("base", ["slots", "strict"])
def test_each_row_of_the_table_is_exact(base: str) -> None:
    for row, case in (*ROWS, *FLOORS):
        found = score(case.scenario, replied(case.scenario, case.reply), {"base": base})
        assert found.total == EXACT[row], case.name


@pytest.mark.parametrize("base", BASES)
def test_the_base_decides_what_passes(base: str) -> None:
    module = plugins.load("rewards", base)
    for _, case in (*ROWS, *FLOORS):
        trajectory = replied(case.scenario, case.reply)
        inner = module.score(case.scenario, trajectory, FrozenMap())
        outer = score(case.scenario, trajectory, {"base": base})
        assert (outer.passed, outer.failures) == (inner.passed, inner.failures)
        assert outer.reward == f"shaped@1({base}@{module.VERSION})"


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("partial", [0.0, 0.1, 0.3])
def test_the_self_test_follows_the_params(base: str, partial: float) -> None:
    assert self_test(plugins.load("rewards", "shaped"), {"base": base, "partial": partial, "penalty": 0.2}).broken == ()


def test_partial_credit_anneals_to_nothing() -> None:
    plan = FrozenMap({"partial": 0.3, "anneal_steps": 100})
    assert [round(at_step(plan, step)["partial"], 6) for step in (0, 50, 100, 300)] == [0.3, 0.15, 0.0, 0.0]
    assert at_step(FrozenMap({"partial": 0.3}), 1000)["partial"] == 0.3
    row, case = next((row, case) for row, case in FLOORS if row == "partial")
    assert row == "partial"
    totals = [
        score(case.scenario, replied(case.scenario, case.reply), at_step(plan, step)).total for step in (0, 50, 100)
    ]
    assert totals == pytest.approx([0.3, 0.15, 0.0])


def test_an_annealed_schedule_starts_from_the_plan_each_time() -> None:
    plan = {"anneal_steps": 10}
    at_step(plan, 5)
    assert plan == {"anneal_steps": 10}


@pytest.mark.parametrize(
    "params",
    [
        {"partial": 1.5},
        {"partial": -0.1},
        {"penalty": 0.7},
        {"penalty": "0.5"},
        {"anneal_steps": -1},
        {"partial": True},
        {"partial": float("nan")},
        {"base": "shaped"},
    ],
)
def test_broken_params_are_our_fault(params: dict[str, object]) -> None:
    _, case = FLOORS[0]
    with pytest.raises(RewardFault):
        score(case.scenario, replied(case.scenario, case.reply), params)


def test_an_unknown_base_lists_the_choices() -> None:
    _, case = FLOORS[0]
    with pytest.raises(PluginError, match="slots"):
        score(case.scenario, replied(case.scenario, case.reply), {"base": "nope"})


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([case for _, case in (*ROWS, *FLOORS)]), st.text(max_size=150), st.sampled_from(BASES))
def test_any_text_is_scored_in_bounds(case: Case, text: str, base: str) -> None:
    where = case.scenario
    result = score(where, replied(where, text), {"base": base})
    assert BOUNDS[0] <= result.total <= BOUNDS[1]
    assert sum(result.terms.values()) == result.total


def test_over_asking_costs_more_than_any_wrong_act() -> None:
    asked = [case for row, case in ROWS if row == "over_asking"]
    acted = [case for row, case in ROWS if row == "nothing"]
    worst = max(score(c.scenario, replied(c.scenario, c.reply), DEFAULTS).total for c in asked)
    assert worst < min(score(c.scenario, replied(c.scenario, c.reply), DEFAULTS).total for c in acted)
