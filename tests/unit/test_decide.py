"""The verdict: a pure function of plan and evidence, with three possible answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst.decide import power, verdict
from askfirst.errors import InputError
from askfirst.values import EvalRecord, ItemOutcome

PLAN = plans.load(Path(__file__).parents[2] / "examples" / "quickstart.toml", ["ship.ambiguous_pass={ above = 0.22 }"])


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
    found = verdict(PLAN, record("y" * 80 + "n" * 20, "y" * 100, "y" * 100), BASE, 1)
    assert found.decision == "SHIP"
    assert "by exact bound" in found.reason
    assert "reused_holdout" not in found.limits


def test_a_lucky_nine_of_forty_does_not_ship() -> None:
    """9/40 is above 22 %, and its exact lower bound is .108."""
    lucky = record("y" * 9 + "n" * 31, "y" * 100, "y" * 100)
    base = record("n" * 40, "y" * 100, "y" * 100)
    found = verdict(PLAN, lucky, base, 1)
    assert found.decision == "INCONCLUSIVE"
    assert found.rules[0].lower == pytest.approx(0.108397, abs=1e-6)


def test_a_plain_regression_is_discarded() -> None:
    found = verdict(PLAN, record("y" * 80 + "n" * 20, "y" * 60 + "n" * 40, "y" * 100), BASE, 1)
    assert found.decision == "DISCARD"
    assert "out_of_scope_pass" in found.reason


def test_a_rate_below_the_threshold_is_discarded() -> None:
    assert verdict(PLAN, record("n" * 100, "y" * 100, "y" * 100), BASE, 1).decision == "DISCARD"


def test_too_few_items_to_exclude_a_regression_is_inconclusive() -> None:
    base = record("n" * 100, "y" * 20, "y" * 20)
    assert verdict(PLAN, record("y" * 100, "y" * 20, "y" * 20), base, 1).decision == "INCONCLUSIVE"


def test_a_second_opening_is_stamped() -> None:
    assert verdict(PLAN, BASE, BASE, 2).limits.startswith("reused_holdout")


def test_records_of_other_items_are_refused() -> None:
    with pytest.raises(InputError, match="same items"):
        verdict(PLAN, record("y", "y", "y"), BASE, 1)


def test_power_is_that_of_the_registered_rule() -> None:
    small, large = (
        power(PLAN, {"ambiguous_pass": 40})["ambiguous_pass"],
        power(PLAN, {"ambiguous_pass": 400})["ambiguous_pass"],
    )
    assert 0 < small < 0.8 < large <= 1
