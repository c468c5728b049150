"""The score interval for paired differences against published numbers, enumeration and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multinomial

from askfirst.contracts import stats as contract
from askfirst.errors import PluginError
from askfirst.stats import tango as method
from askfirst.values import Interval


@pytest.mark.parametrize(
    ("wins", "losses", "n", "lower", "upper"),
    [(30, 12, 115, 0.0478639233, 0.2637002577), (1, 7, 21, -0.5172322764, -0.0260030325)],
)
def test_intervals(wins: int, losses: int, n: int, lower: float, upper: float) -> None:
    found = method.interval(wins, losses, n)
    assert found.estimate == (wins - losses) / n
    assert (found.lower, found.upper) == (pytest.approx(lower, abs=1e-9), pytest.approx(upper, abs=1e-9))
    turned = method.interval(losses, wins, n)
    assert (turned.lower, turned.upper) == (pytest.approx(-upper, abs=1e-9), pytest.approx(-lower, abs=1e-9))


def test_no_discordant_pair_has_a_closed_form() -> None:
    # With b = c = 0 the score at d is −sqrt(n d / (1 − d)), so the bound is z² / (n + z²).
    z = 1.959963984540054
    found = method.interval(0, 0, 20)
    assert (found.lower, found.upper) == (pytest.approx(-(z**2) / (20 + z**2)), pytest.approx(z**2 / (20 + z**2)))


def test_all_pairs_discordant_one_way() -> None:
    found = method.interval(20, 0, 20)
    assert found.upper == 1.0
    assert found.lower == pytest.approx((20 - 1.959963984540054**2) / (20 + 1.959963984540054**2))


def test_one_side_is_as_far_as_the_two_sides_at_twice_alpha() -> None:
    two, lower, upper = (method.interval(9, 4, 50, a, s) for a, s in ((0.1, "two"), (0.05, "lower"), (0.05, "upper")))
    assert (lower.lower, lower.upper) == (two.lower, 1.0)
    assert (upper.lower, upper.upper) == (-1.0, two.upper)


def test_noninferiority_needs_a_margin_that_the_data_clear() -> None:
    assert method.noninferior(2, 2, 100, 0.05)
    assert not method.noninferior(2, 2, 100, 0.03)
    assert not method.noninferior(0, 0, 30, 0.05)  # nothing lost, but 30 items cannot show it
    assert method.noninferior(12, 2, 100, 0.0)  # margin 0 is superiority
    with pytest.raises(ValueError, match="margin"):
        method.noninferior(2, 2, 100, -0.05)


@pytest.mark.parametrize(("trials", "wanted"), [(1, 0.60), (4, 0.99)])
def test_power_at_a_margin(trials: int, wanted: float) -> None:
    assert method.power(115 * trials, 0.25, 0.10, 0.03) == pytest.approx(wanted, abs=0.006)


@pytest.mark.parametrize("threshold", [-0.1, 0.0, 0.2])
def test_power_enumerates_the_intervals(threshold: float) -> None:
    n, p, q = 14, 0.4, 0.1
    wanted = sum(
        multinomial.pmf([b, c, n - b - c], n, [p, q, 1 - p - q])
        for b in range(n + 1)
        for c in range(n + 1 - b)
        if method.interval(b, c, n).lower > threshold
    )
    assert method.power(n, p, q, threshold) == pytest.approx(wanted, rel=1e-9)


def test_error_rate_at_the_threshold_is_near_alpha() -> None:
    assert method.power(115, 0.16, 0.16, sided="lower") == pytest.approx(0.05, abs=0.01)


def test_minimum_effect_is_where_power_crosses() -> None:
    effect = method.minimum_effect(60, 0.3)
    assert effect is not None
    powers = [method.power(60, (0.3 + d) / 2, (0.3 - d) / 2) for d in (effect, effect - 2e-6)]
    assert powers[0] >= 0.8 > powers[1]
    assert method.minimum_effect(5, 0.3) is None


@pytest.mark.parametrize(("p", "q"), [(0.25, 0.10), (0.02, 0.02)])
def test_coverage(p: float, q: float) -> None:
    def draw(source: np.random.Generator) -> Interval:
        wins, losses, _ = source.multinomial(60, [p, q, 1 - p - q])
        return method.interval(int(wins), int(losses), 60)

    assert contract.covers(draw, p - q, 300, seed=1) >= 0.92


def test_the_coverage_check_catches_an_interval_that_is_too_short() -> None:
    def draw(source: np.random.Generator) -> Interval:
        estimate = float(source.normal())
        return Interval(estimate, estimate - 1.0, estimate + 1.0, 0.05, "one standard error")

    with pytest.raises(PluginError, match="covers"):
        contract.covers(draw, 0.0, 300, seed=1)
    with pytest.raises(ValueError, match="no simulations"):
        contract.covers(draw, 0.0, 0, seed=1)
    with pytest.raises(PluginError, match="around its estimate"):
        contract.ordered(Interval(0.0, math.nan, 1.0, 0.05, "broken"))


def test_impossible_input_is_refused() -> None:
    base = {"wins": 3, "losses": 2, "n": 10}
    bad = [
        {"n": 0},
        {"n": 4},
        {"wins": -1},
        {"losses": 2.5},
        {"alpha": 0.0},
        {"alpha": float("nan")},
        {"sided": "none"},
    ]
    contract.refuses(method, [base | change for change in bad])
    for design in ((40, 0.7, 0.4), (40, -0.1, 0.2), (0, 0.2, 0.1), (40, 0.2, 0.1, 1.0)):
        with pytest.raises(ValueError, match=r"design|whole number|no items"):
            method.power(*design)
    with pytest.raises(ValueError, match="upper bound alone"):
        method.power(40, 0.2, 0.1, sided="upper")
    with pytest.raises(ValueError, match="between 0 and 1"):
        method.minimum_effect(40, 1.5)
