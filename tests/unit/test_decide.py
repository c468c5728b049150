"""The verdict: a pure function of plan and evidence, with three possible answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst.decide import check_target, power, verdict
from askfirst.errors import InputError, PlanError
from askfirst.stats import clopper_pearson
from askfirst.values import EvalRecord, ItemOutcome

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart.toml"
PLAN = plans.load(EXAMPLE, ["ship.ambiguous_pass={ above = 0.22 }"])


def record(ambiguous: str, scope: str, destructive: str) -> EvalRecord:
    """One letter an item: `y` passes, anything else fails."""
    items = []
    for stratum, letters in (("ambiguous", ambiguous), ("out_of_scope", scope), ("destructive", destructive)):
        for number, letter in enumerate(letters):
            passed = letter == "y"
            items.append(ItemOutcome(f"{stratum}{number}", "f", stratum, passed, False, passed, float(passed), (), ""))
    return EvalRecord(1, "m", "c", "sealed", 0, "slots@1", tuple(items))


BASE = record("y" * 20 + "n" * 80, "y" * 100, "y" * 100)


def test_ship() -> None:
    found = verdict(PLAN, record("y" * 80 + "n" * 20, "y" * 100, "y" * 100), {"base": BASE}, 1)
    assert found.decision == "SHIP"
    assert "by exact bound" in found.reason
    assert "reused_holdout" not in found.limits


def test_a_lucky_nine_of_forty_does_not_ship() -> None:
    """9/40 is above 22 %, and its exact lower bound is .108."""
    lucky = record("y" * 9 + "n" * 31, "y" * 100, "y" * 100)
    base = record("n" * 40, "y" * 100, "y" * 100)
    found = verdict(PLAN, lucky, {"base": base}, 1)
    assert found.decision == "INCONCLUSIVE"
    assert found.rules[0].lower == pytest.approx(0.108397, abs=1e-6)


def test_a_plain_regression_is_discarded() -> None:
    found = verdict(PLAN, record("y" * 80 + "n" * 20, "y" * 60 + "n" * 40, "y" * 100), {"base": BASE}, 1)
    assert found.decision == "DISCARD"
    assert "out_of_scope_pass" in found.reason


def with_rule(rule: str, *sets: str) -> plans.Plan:
    path = Path(__file__).parents[2] / "examples" / "quickstart.toml"
    return plans.load(path, ["ship={ out_of_scope_pass = " + rule + " }", *sets])


RATE = "{ noninferior_to = 'base', margin = 0.05, mode = 'regression_rate_upper' }"
NO_ITEM = "{ noninferior_to = 'base', mode = 'no_item_regression' }"
HOEFFDING = "{ noninferior_to = 'base', margin = 0.05, paired = 'paired_hoeffding' }"


@pytest.mark.parametrize(
    ("rule", "worse", "decision"),
    [
        (RATE, 1, "SHIP"),  # one flip of 200: upper bound .0275
        (RATE, 8, "INCONCLUSIVE"),
        (RATE, 40, "DISCARD"),
        (NO_ITEM, 0, "SHIP"),
        (NO_ITEM, 1, "DISCARD"),
        (HOEFFDING, 0, "INCONCLUSIVE"),  # its half-width on 200 items is .192
        (HOEFFDING, 150, "DISCARD"),
    ],
)
def test_no_regression_has_three_senses(rule: str, worse: int, decision: str) -> None:
    base, after = record("n", "y" * 200, "y"), record("n", "n" * worse + "y" * (200 - worse), "y")
    found = verdict(with_rule(rule), after, {"base": base}, 1)
    assert found.decision == decision, found.reason
    assert f"200 items, 0 better, {worse} worse" in found.rules[0].reason


def test_flips_are_not_made_up_for_by_wins() -> None:
    """20 items better and 20 worse are no change of the rate, and 10 % that flip."""
    base, after = record("n", "y" * 100 + "n" * 100, "y"), record("n", "n" * 20 + "y" * 100 + "n" * 80, "y")
    rule = RATE.replace("0.05", "0.2")
    found = verdict(with_rule(rule), after, {"base": base}, 1).rules[0]
    bounds = clopper_pearson.interval(20, 200)
    assert (found.estimate, found.lower, found.upper) == (0.1, bounds.lower, bounds.upper)
    assert found.holds
    assert "10.0 % items that got worse [6.2, 15.0]" in found.reason
    assert not verdict(with_rule(NO_ITEM), after, {"base": base}, 1).rules[0].holds


@pytest.mark.parametrize(
    ("rule", "sets", "words"),
    [
        ("{ above = 0.2, mode = 'no_item_regression' }", (), "mode is for rules with noninferior_to"),
        ("{ noninferior_to = 'base', mode = 'regression_rate_upper' }", (), "a rule is"),
        ("{ noninferior_to = 'base', margin = 0.1, mode = 'no_item_regression' }", (), "a rule is"),
        (RATE.replace("}", ", paired = 'paired_hoeffding' }"), (), "paired for those, of mode rate_noninferiority"),
        (NO_ITEM, ("model.sampler='vllm'",), "repeats itself to the bit"),
    ],
)
def test_rules_that_mean_nothing_are_refused(rule: str, sets: tuple[str, ...], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        with_rule(rule, *sets)


def test_what_a_rule_can_speak_of() -> None:
    check_target(with_rule(HOEFFDING, "decision.target='fixed_items'"))
    check_target(with_rule(NO_ITEM, "decision.target='fixed_items'"))
    for rule, target in ((RATE, "fixed_items"), (HOEFFDING, "new_clusters")):
        with pytest.raises(PlanError, match=f"cannot speak of {target}"):
            check_target(with_rule(rule, f"decision.target='{target}'"))


def test_a_rate_below_the_threshold_is_discarded() -> None:
    assert verdict(PLAN, record("n" * 100, "y" * 100, "y" * 100), {"base": BASE}, 1).decision == "DISCARD"


def test_too_few_items_to_exclude_a_regression_is_inconclusive() -> None:
    base = record("n" * 100, "y" * 20, "y" * 20)
    assert verdict(PLAN, record("y" * 100, "y" * 20, "y" * 20), {"base": base}, 1).decision == "INCONCLUSIVE"


def test_a_second_opening_is_stamped() -> None:
    assert verdict(PLAN, BASE, {"base": BASE}, 2).limits.startswith("reused_holdout")


def test_records_of_other_items_are_refused() -> None:
    with pytest.raises(InputError, match="same items"):
        verdict(PLAN, record("y", "y", "y"), {"base": BASE}, 1)


def test_power_is_that_of_the_registered_rule() -> None:
    small, large = (
        power(PLAN, {"ambiguous_pass": 40})["ambiguous_pass"],
        power(PLAN, {"ambiguous_pass": 400})["ambiguous_pass"],
    )
    assert 0 < small < 0.8 < large <= 1


@pytest.mark.parametrize(("better", "decision"), [(60, "SHIP"), (20, "INCONCLUSIVE"), (0, "DISCARD")])
def test_an_arm_may_be_what_is_compared_with(better: int, decision: str) -> None:
    rule = "ship={ out_of_scope_pass = { superior_to = 'free', margin = 0.1 } }"
    plan = plans.load(EXAMPLE, [rule, "decision.baseline=free"])
    before, after = record("n", "n" * 200, "y"), record("n", "y" * better + "n" * (200 - better), "y")
    found = verdict(plan, after, {"base": after, "free": before}, 1)
    assert found.decision == decision, found.reason
    with pytest.raises(InputError, match="no sealed record of 'free'"):
        verdict(plan, after, {"base": after}, 1)
    with pytest.raises(PlanError, match="compares with 'free', and decision"):
        plans.load(EXAMPLE, [rule])
    with pytest.raises(PlanError, match="is not 'base'"):
        plans.load(EXAMPLE, [rule, "decision.baseline=anchored"])
