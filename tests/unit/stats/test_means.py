"""Empirical Bernstein, betting, bootstrap and clustered intervals for a mean."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest

from askfirst.contracts import stats as contract
from askfirst.stats import betting, clustered, empirical_bernstein, paired_bootstrap, paired_hoeffding
from askfirst.values import Interval

BASE = np.repeat([1.0, -1.0, 0.0], [30, 12, 73])
SPREAD = np.array([BASE[(37 * i) % 115] for i in range(115)])  # the same values in a declared order
S, CLUSTERS = [1, 1, 0, 0, 1, 0, 1, 1], [0, 0, 0, 1, 1, 2, 2, 2]


def half(found: Interval) -> float:
    return (found.upper - found.lower) / 2


def test_bernstein_v1_is_wider_than_hoeffding() -> None:
    found = empirical_bernstein.interval(BASE)
    assert half(found) == pytest.approx(0.34122566505, abs=5e-12)
    assert half(found) > paired_hoeffding.half_width(115)
    variance = float(BASE.var(ddof=1))
    assert (variance, sqrt(variance)) == pytest.approx((0.3437070938, 0.5862653783), abs=5e-11)
    parts = (empirical_bernstein.half_width(115, v, w, 0.025) for v, w in ((variance, (0, 1e-12)), (0, (-1, 1))))
    assert list(parts) == pytest.approx([0.16184445779, 0.17938120727], abs=5e-11)
    assert half(empirical_bernstein.interval(np.repeat(BASE[:, None], 4, 1), target="fixed_items")) < half(found)


def test_bernstein_is_narrower_for_a_small_variance_and_many_items() -> None:
    values = np.zeros(4000)
    values[:40] = 1
    assert half(empirical_bernstein.interval(values)) < paired_hoeffding.half_width(4000)


@pytest.mark.parametrize("c", [0.5, 0.75])
def test_betting_v1(c: float) -> None:
    found = betting.sequential(SPREAD, truncation=c)
    assert (found.lower, found.upper) == pytest.approx((0.021, 0.298), abs=1e-9)


def test_betting_wants_an_order_fixed_by_hash() -> None:
    items = [f"item-{i}" for i in range(115)]
    first = betting.interval(BASE, items=items, salt="plan")
    turned = betting.interval(BASE[::-1], items=items[::-1], salt="plan")
    assert first == turned
    assert betting.in_order(items, "plan") != betting.in_order(items, "other plan")
    assert sorted(betting.in_order(items, "plan")) == list(range(115))
    with pytest.raises(ValueError, match="confidence set is empty"):
        betting.sequential(np.sort(BASE)[::-1])
    with pytest.raises(ValueError, match="stands twice"):
        betting.interval([0.0, 1.0], items=["a", "a"], salt="")
    with pytest.raises(ValueError, match="1 items"):
        betting.interval([0.0, 1.0], items=["a"], salt="")


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_bootstrap_v1(method: str) -> None:
    found = paired_bootstrap.interval(BASE, seed=0, method=method)
    assert (found.lower, found.upper) == pytest.approx((0.0521739, 0.2608696), abs=5e-8)
    assert found == paired_bootstrap.interval(BASE, seed=0, method=method)


def test_the_bootstrap_draws_whole_clusters() -> None:
    names = [i // 3 for i in range(120)]
    values = np.repeat(np.arange(40) % 2, 3).astype(float)
    plain = paired_bootstrap.interval(values, seed=1, resamples=2000)
    grouped = paired_bootstrap.interval(values, seed=1, resamples=2000, clusters=names)
    assert half(grouped) == pytest.approx(half(plain) * sqrt(3), rel=0.1)


def test_clustered_errors() -> None:
    assert clustered.standard_error(S, correction=True) == pytest.approx(0.1829812637, abs=5e-11)
    assert clustered.standard_error(S, CLUSTERS) == pytest.approx(0.0382732772, abs=5e-11)
    assert clustered.standard_error(S, CLUSTERS, correction=True) == pytest.approx(0.046875, abs=1e-15)
    for distribution, low, high in (("z", 0.0493714, 0.2636720), ("t", 0.0482218, 0.2648217)):
        found = clustered.interval(BASE, distribution=distribution)
        assert (found.lower, found.upper) == pytest.approx((low, high), abs=5e-8)
    with pytest.raises(ValueError, match="20 or more clusters"):
        clustered.interval(S, clusters=CLUSTERS)


def test_clustered_errors_are_those_of_statsmodels() -> None:
    regression = pytest.importorskip("statsmodels.regression.linear_model")
    source = np.random.default_rng(5)
    names = source.integers(25, size=200)
    values = source.normal(size=200) + source.normal(size=25)[names]
    model = regression.OLS(values, np.ones(200))
    for corrected in (True, False):
        fitted = model.fit(cov_type="cluster", cov_kwds={"groups": names, "use_correction": corrected})
        found = clustered.standard_error(values, list(names), correction=corrected)
        assert found == pytest.approx(float(fitted.bse[0]), rel=1e-12)
    plain = model.fit()
    low, high = plain.conf_int()[0]
    found = clustered.interval(values)
    assert (found.lower, found.upper) == pytest.approx((low, high), rel=1e-12)


def test_items_for_power_is_the_published_formula() -> None:
    # (1.959964 + 0.841621)² · (1/9 + 0.18/2 + 0.18/3) / 0.03²
    found = clustered.items_for_power(0.03, 1 / 9, [(0.18, 2), (0.18, 3)])
    assert found == pytest.approx(7.848879734 * (1 / 9 + 0.09 + 0.06) / 0.0009, rel=1e-7)


def pairs(source: np.random.Generator, n: int) -> np.ndarray:
    return source.choice([1.0, -1.0, 0.0], p=[0.25, 0.10, 0.65], size=n)


@pytest.mark.parametrize("method", [empirical_bernstein, betting, paired_bootstrap, clustered])
def test_coverage(method: object) -> None:
    extra = {"betting": {"items": [str(i) for i in range(60)], "salt": "s", "grid": 401},
             "paired_bootstrap": {"seed": 3, "resamples": 1000}}  # fmt: skip
    name = method.__name__.rpartition(".")[2]

    def draw(source: np.random.Generator) -> Interval:
        return method.interval(pairs(source, 60), **extra.get(name, {}))

    assert contract.covers(draw, 0.15, 60, seed=4) >= 0.85


@pytest.mark.thorough
def test_betting_covers_and_is_half_as_wide() -> None:
    items, widths = [str(i) for i in range(115)], []

    def draw(source: np.random.Generator) -> Interval:
        found = betting.interval(pairs(source, 115), items=items, salt="s")
        widths.append(found.upper - found.lower)
        return found

    assert contract.covers(draw, 0.15, 150, seed=5) >= 0.95
    assert np.mean(widths) == pytest.approx(0.261, abs=0.01)


BAD = ({"values": []}, {"values": [0.0, float("nan")]}, {"values": [0.5] * 40, "alpha": 0.0})


@pytest.mark.parametrize(
    ("method", "extra", "more"),
    [
        (empirical_bernstein, {}, [{"values": [0.5]}, {"values": [0.0, 2.0]}, {"values": [0.5] * 9, "alpha": 1.0}]),
        (empirical_bernstein, {"target": "new_clusters"}, [{"values": [0.0, 1.0]}]),
        (betting, {"items": ["a"], "salt": ""}, [{"values": [1.5]}, {"values": [0.0], "alpha": 2.0}]),
        (paired_bootstrap, {"seed": 0}, [{"values": [0.5] * 40}, {"values": [0.0, 1.0] * 14}]),
        (paired_bootstrap, {"seed": 0, "clusters": [0, 1] * 30}, [{"values": [0.0, 1.0] * 30}]),
        (clustered, {}, [{"values": [0.5] * 40}, {"values": [0.0, 1.0] * 9}, {"values": [inf, 1.0] * 20}]),
    ],
)
def test_impossible_input_is_refused(method: object, extra: dict, more: list) -> None:
    contract.refuses(method, [extra | case for case in (*BAD, *more)])


def test_designs_that_are_none_are_refused() -> None:
    for call in (
        lambda: empirical_bernstein.half_width(1, 0.1, (0, 1), 0.05),
        lambda: clustered.items_for_power(0.0, 0.1, []),
        lambda: clustered.standard_error([0.0, 1.0], ["a", "a"]),
        lambda: betting.sequential([0.0], truncation=0.0),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call()
