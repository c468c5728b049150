"""The three-way rule, non-inferiority in its three modes, Holm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askfirst import plugins
from askfirst.errors import PlanError
from askfirst.inference import groups, multiplicity, noninferiority, rule
from askfirst.inference.rule import Evidence, Rule, Status

ITEMS = tuple(f"task-{i}" for i in range(115))
RULE = Rule("paired_hoeffding", 0.05, 0.03, "fixed_items", (-1.0, 1.0), "0" * 64)


def evidence(wins: int, losses: int, n: int = 115) -> Evidence:
    return Evidence(ITEMS[:n], np.repeat([1.0, -1.0, 0.0], [wins, losses, n - wins - losses]))


@pytest.mark.parametrize(
    ("wins", "losses", "status"),
    [(33, 0, "validated"), (45, 12, "validated"), (32, 0, "inconclusive"), (0, 25, "inconclusive"), (0, 26, "failed")],
)
def test_three_answers(wins: int, losses: int, status: str) -> None:
    found = rule.apply(RULE, evidence(wins, losses))
    assert found.status == status
    assert found.estimate == pytest.approx((wins - losses) / 115)
    assert (found.n, found.trials, found.span, found.alpha, found.margin) == (115, 1, 2.0, 0.05, 0.03)


def test_the_inputs_are_hashed() -> None:
    first, other = rule.apply(RULE, evidence(33, 0)), rule.apply(RULE, evidence(34, 0))
    assert first.inputs_sha256 != other.inputs_sha256
    assert first == rule.apply(RULE, evidence(33, 0))


@pytest.mark.parametrize("method", sorted(rule.METHODS))
def test_every_method_decides_and_says_what_it_serves(method: str) -> None:
    module = plugins.load("stats", method)
    for target in ("fixed_items", "new_items", "new_clusters", "new_seeds"):
        own = replace(RULE, method=method, target=target, margin=-0.2)
        given = replace(evidence(45, 5), clusters=tuple(str(i // 2) for i in range(115)))
        if target in module.TARGETS:
            assert rule.apply(own, given).target == target
        else:
            with pytest.raises(PlanError, match=f"cannot speak of {target}"):
                rule.apply(own, given)


def test_clusters_widen_what_is_said_of_new_ones() -> None:
    given = replace(evidence(40, 0), clusters=tuple(str(i // 3) for i in range(115)))
    of_items, of_clusters = (rule.apply(replace(RULE, target=t), given) for t in ("new_items", "new_clusters"))
    assert of_items.status is Status.VALIDATED
    assert of_clusters.status is Status.INCONCLUSIVE


def test_trials_make_the_rule_decide() -> None:
    values = np.repeat(evidence(30, 12).values[:, None], 8, axis=1)
    assert rule.apply(RULE, evidence(30, 12)).status is Status.INCONCLUSIVE
    assert rule.apply(RULE, Evidence(ITEMS, values)).status is Status.VALIDATED
    assert rule.apply(RULE, Evidence(ITEMS, values)).trials == 8


def test_missing_and_impossible_evidence_is_no_failure() -> None:
    for bad in (
        Evidence((), np.array([])),
        Evidence(ITEMS, np.array([0.0])),
        Evidence(("a", "a"), np.array([0.0, 1.0])),
        Evidence(("a",), np.array([1.5])),
        Evidence(("a",), np.array([np.nan])),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            rule.apply(RULE, bad)
    with pytest.raises(ValueError, match="need a cluster"):
        rule.apply(replace(RULE, target="new_clusters"), evidence(3, 2))
    with pytest.raises(ValueError, match="tango compares passes"):
        rule.apply(replace(RULE, method="tango", target="new_items"), Evidence(("a",), np.array([0.5])))
    with pytest.raises(PlanError, match="no decision method"):
        rule.serves("guesswork", "new_items")


def test_criteria_together() -> None:
    yes, no, maybe = Status.VALIDATED, Status.FAILED, Status.INCONCLUSIVE
    assert rule.together([yes, yes]) is yes
    assert rule.together([yes, maybe]) is maybe
    assert rule.together([yes, maybe, no]) is no
    with pytest.raises(ValueError, match="no criteria"):
        rule.together([])


def test_no_difference_is_rarely_validated_or_failed() -> None:
    """An A/A comparison errs at most at α."""
    source = np.random.default_rng(7)
    for method in ("paired_hoeffding", "clustered", "empirical_bernstein"):
        own = replace(RULE, method=method, margin=0.0, target="new_items")
        drawn = (source.choice([1.0, -1.0, 0.0], p=[0.15, 0.15, 0.7], size=115) for _ in range(100))
        errors = sum(rule.apply(own, Evidence(ITEMS, d)).status is not Status.INCONCLUSIVE for d in drawn)
        assert errors <= 12, method  # 5 expected at most; 3 standard errors above


@pytest.mark.parametrize(
    ("n", "two", "one"),
    [(115, 0.0315681960, 0.0257134757), (130, 0.027977, 0.022781), (40, 0.088097, 0.072158), (20, None, 0.139108)],
)
def test_zero_flips_exclude_a_rate(n: int, two: float | None, one: float) -> None:
    digits = 5e-11 if n == 115 else 5e-7
    assert noninferiority.regression_rate_upper(0, n).upper == pytest.approx(one, abs=digits)
    if two is not None:
        assert noninferiority.regression_rate_upper(0, n, 0.025).upper == pytest.approx(two, abs=digits)


@pytest.mark.parametrize(("rate", "n"), [(0.01, 299), (0.02, 149), (0.05, 59), (0.10, 29)])
def test_how_many_items_without_a_flip_exclude_a_rate(rate: float, n: int) -> None:
    mode = "regression_rate_upper"
    assert noninferiority.holds(mode, noninferiority.regression_rate_upper(0, n), rate)
    assert not noninferiority.holds(mode, noninferiority.regression_rate_upper(0, n - 1), rate)


def test_rate_noninferiority() -> None:
    found = noninferiority.rate_noninferiority(30, 12, 115)
    assert noninferiority.holds("rate_noninferiority", found, 0.05)
    worse = noninferiority.rate_noninferiority(1, 7, 21)
    assert not noninferiority.holds("rate_noninferiority", worse, 0.10)
    wide = noninferiority.rate_noninferiority(30, 12, 115, by="paired_hoeffding")
    assert wide.lower == pytest.approx(0.1565217391 - 0.22825356889648507, abs=1e-10)
    assert wide.lower < found.lower


def test_no_item_regression_wants_decoding_that_repeats_itself() -> None:
    assert noninferiority.no_item_regression(0, 40, pinned=True)
    assert not noninferiority.no_item_regression(1, 40, pinned=True)
    with pytest.raises(ValueError, match="repeats itself"):
        noninferiority.no_item_regression(0, 40, pinned=False)
    chances = [noninferiority.flipped_by_luck(0.01, n) for n in (20, 30, 40, 50, 130)]
    assert chances == pytest.approx([0.18, 0.26, 0.33, 0.39, 0.73], abs=5e-3)


def test_a_margin_of_nothing_is_another_claim() -> None:
    found = noninferiority.rate_noninferiority(0, 0, 10)
    with pytest.raises(ValueError, match="superiority"):
        noninferiority.holds("rate_noninferiority", found, 0.0)
    with pytest.raises(ValueError, match="by a count"):
        noninferiority.holds("no_item_regression", found, 0.1)
    with pytest.raises(ValueError, match="not a design"):
        noninferiority.flipped_by_luck(0.1, 0)


def test_holm() -> None:
    assert multiplicity.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02], abs=1e-15)
    assert multiplicity.holm([0.7, 0.9]) == [1.0, 1.0]
    for bad in ([], [1.2], [float("nan")]):
        with pytest.raises(ValueError, match="p-values"):
            multiplicity.holm(bad)
    theirs = pytest.importorskip("statsmodels.stats.multitest")
    drawn = np.random.default_rng(0).random(9) ** 3
    assert multiplicity.holm(list(drawn)) == pytest.approx(list(theirs.multipletests(drawn, method="holm")[1]))


@pytest.mark.parametrize(("rate", "share"), [(0.5, 0.875), (0.1, 0.3438), (0.02, 0.0776), (0.0, 0.0), (1.0, 0.0)])
def test_informative_groups(rate: float, share: float) -> None:
    assert groups.informative_fraction(rate, 4) == pytest.approx(share, abs=5e-5)
    for bad in ((1.5, 4), (0.5, 1)):
        with pytest.raises(ValueError, match="two or more"):
            groups.informative_fraction(*bad)
