"""The exact binomial interval against published numbers and scipy."""

from __future__ import annotations

import pytest
from scipy.stats import binom, binomtest

from askfirst.contracts import stats as contract
from askfirst.errors import PluginError
from askfirst.stats import clopper_pearson as method


@pytest.mark.parametrize(
    ("k", "n", "lower", "upper"),
    [
        (9, 40, 0.108397, 0.384512), (14, 40, 0.206282, 0.516844), (1, 115, 0.000220, 0.047497),
        (3, 115, 0.005412, 0.074346), (5, 20, 0.086571, 0.491046), (9, 20, 0.230578, 0.684722),
    ],
)  # fmt: skip
def test_intervals(k: int, n: int, lower: float, upper: float) -> None:
    found = method.interval(k, n)
    assert (found.estimate, found.alpha) == (k / n, 0.05)
    assert (found.lower, found.upper) == (pytest.approx(lower, abs=5.1e-7), pytest.approx(upper, abs=5.1e-7))


@pytest.mark.parametrize(("n", "upper"), [(115, 0.0315681960), (130, 0.027977), (40, 0.088097)])
def test_zero_events_two_sided(n: int, upper: float) -> None:
    assert method.interval(0, n).upper == pytest.approx(upper, abs=5.1e-7)
    assert method.interval(n, n).lower == pytest.approx(1 - upper, abs=5.1e-7)
    assert (method.interval(0, n).lower, method.interval(n, n).upper) == (0.0, 1.0)


@pytest.mark.parametrize(("n", "upper"), [(115, 0.0257134757), (130, 0.022781), (40, 0.072158), (20, 0.139108)])
def test_zero_events_one_sided(n: int, upper: float) -> None:
    found = method.interval(0, n, sided="upper")
    assert (found.lower, found.upper) == (0.0, pytest.approx(upper, abs=5.1e-7))


@pytest.mark.parametrize(("rate", "n"), [(0.01, 299), (0.02, 149), (0.05, 59), (0.10, 29)])
def test_zero_failures_needed_to_exclude_a_rate(rate: float, n: int) -> None:
    assert method.interval(0, n, sided="upper").upper < rate <= method.interval(0, n - 1, sided="upper").upper


@pytest.mark.parametrize(("k", "n", "alpha"), [(0, 7, 0.1), (3, 7, 0.01), (7, 7, 0.05), (52, 311, 0.2)])
def test_against_scipy(k: int, n: int, alpha: float) -> None:
    found, oracle = method.interval(k, n, alpha), binomtest(k, n).proportion_ci(1 - alpha, "exact")
    assert (found.lower, found.upper) == (pytest.approx(oracle.low, abs=1e-12), pytest.approx(oracle.high, abs=1e-12))


@pytest.mark.parametrize(("n", "one", "two"), [(20, 9, 9), (40, 14, 15), (100, 30, 31), (115, 34, 35), (130, 38, 39)])
def test_successes_needed_above_22_percent(n: int, one: int, two: int) -> None:
    assert (method.needed(n, 0.22), method.needed(n, 0.22, sided="two")) == (one, two)


@pytest.mark.parametrize(
    ("n", "count", "chance"), [(20, 5, 0.458), (40, 9, 0.531), (100, 23, 0.443), (115, 26, 0.474), (130, 29, 0.501)]
)
def test_a_share_above_22_percent_is_luck_half_of_the_time(n: int, count: int, chance: float) -> None:
    assert method.plain_power(n, 0.22, 0.22) == pytest.approx(chance, abs=5e-4)
    assert method.plain_power(n, 0.22, 0.22) == pytest.approx(binom.sf(count - 1, n, 0.22), rel=1e-12)
    assert method.plain_power(4, 0.5, 0.25) == pytest.approx(11 / 16)  # above a quarter, not at it
    assert method.plain_power(4, 0.5, 1.0) == 0.0


def test_needed_is_none_where_the_best_outcome_does_not_do() -> None:
    assert method.needed(1, 0.22) is None
    assert method.needed(2, 0.22) == 2  # 0.05^(1/2) = .2236
    assert method.power(1, 1.0, 0.22) == 0.0
    assert method.minimum_effect(1, 0.22) is None


def test_power_is_the_exact_tail() -> None:
    assert method.power(40, 0.4, 0.22) == pytest.approx(binom.sf(13, 40, 0.4), rel=1e-12)
    assert method.power(40, 0.22, 0.22) < 0.05  # the rule errs less often than alpha
    assert method.power(40, 1.0, 0.22) == 1.0


def test_minimum_effect_is_where_power_crosses() -> None:
    rate = method.minimum_effect(40, 0.22)
    assert rate is not None
    assert method.power(40, rate, 0.22) >= 0.8 > method.power(40, rate - 1e-6, 0.22)


@pytest.mark.parametrize(("n", "rate"), [(12, 0.22), (40, 0.05), (40, 0.5)])
def test_coverage_is_at_least_nominal(n: int, rate: float) -> None:
    for sided in ("two", "lower", "upper"):
        intervals = [(method.interval(k, n, 0.05, sided), binom.pmf(k, n, rate)) for k in range(n + 1)]
        for found, _ in intervals:
            contract.ordered(found)
        assert sum(p for found, p in intervals if found.lower <= rate <= found.upper) >= 0.95


def test_impossible_input_is_refused() -> None:
    calls = [
        {"successes": 0, "n": 0}, {"successes": 5, "n": 4}, {"successes": -1, "n": 4}, {"successes": 1.5, "n": 4},
        {"successes": float("nan"), "n": 4}, {"successes": True, "n": 4}, {"successes": 1, "n": 4, "alpha": 0.0},
        {"successes": 1, "n": 4, "alpha": 1.0}, {"successes": 1, "n": 4, "sided": "both"},
    ]  # fmt: skip
    contract.refuses(method, calls)
    with pytest.raises(PluginError, match="expected a ValueError"):
        contract.refuses(method, [{"successes": 1, "n": 4}])
    with pytest.raises(ValueError, match="rate"):
        method.power(40, 1.1, 0.22)
    with pytest.raises(ValueError, match="upper bound alone"):
        method.needed(40, 0.22, sided="upper")
    with pytest.raises(ValueError, match="threshold"):
        method.needed(40, float("nan"))
    with pytest.raises(ValueError, match="wanted"):
        method.minimum_effect(40, 0.22, wanted=1.0)
