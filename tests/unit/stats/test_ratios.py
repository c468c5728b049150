"""Bounds by cluster: against the t interval of cluster means, a loop over the published formula, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from askfirst.contracts import stats as contract
from askfirst.stats import clopper_pearson, ratios
from askfirst.store import generator
from askfirst.values import Floats, Interval


def column(*values: float) -> Floats:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def test_clusters_of_one_size_are_means_with_student_bounds() -> None:
    sums = (2.0, -1.0, 4.5, 3.0, 0.5)
    found = ratios.interval(column(*sums), column(*[4.0] * 5), 20, share=False)
    means = np.array(sums) / 4
    reference = stats.t.interval(0.95, 4, loc=means.mean(), scale=stats.sem(means))
    assert found.estimate == pytest.approx(means.mean())
    assert (found.lower, found.upper) == (pytest.approx(reference[0]), pytest.approx(reference[1]))


def test_a_share_has_the_bounds_of_korn_and_graubard() -> None:
    hits, sizes = (3, 0, 5, 2, 1, 4), (6, 2, 7, 3, 5, 4)
    n, clusters = sum(sizes), len(sizes)
    p = sum(hits) / n
    variance = 0.0
    for y, x in zip(hits, sizes, strict=True):
        variance += clusters / (clusters - 1) * ((y - p * x) / n) ** 2
    size = min(n, p * (1 - p) / variance * (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, clusters - 1)) ** 2)
    found = ratios.interval(column(*hits), column(*sizes), n)
    assert size < n
    assert found.lower == pytest.approx(stats.beta.ppf(0.025, size * p, size - size * p + 1))
    assert found.upper == pytest.approx(stats.beta.ppf(0.975, size * p + 1, size - size * p))


def test_a_mean_of_two_ratios() -> None:
    y, x = np.array([[1.0, 3.0], [2.0, 1.0], [0.0, 2.0]]), np.array([[2.0, 4.0], [2.0, 2.0], [4.0, 2.0]])
    found = ratios.interval(y, x, 12, share=False)
    first, second = 3 / 8, 6 / 8
    terms = [
        ((a - first * c) / 8 + (b - second * d) / 8) / 2 for (a, b), (c, d) in zip(y.tolist(), x.tolist(), strict=True)
    ]
    reach = stats.t.ppf(0.975, 2) * (1.5 * sum(term**2 for term in terms)) ** 0.5
    assert found.estimate == pytest.approx((first + second) / 2)
    assert found.upper - found.estimate == pytest.approx(reach)


@pytest.mark.parametrize("all_right", [True, False])
def test_clusters_that_are_alike_count_once_each(all_right: bool) -> None:
    sizes = column(*[10.0] * 7)
    found = ratios.interval(sizes * all_right, sizes, 70)
    exact = clopper_pearson.interval(7 * all_right, 7)
    assert (found.lower, found.upper) == (pytest.approx(exact.lower), pytest.approx(exact.upper))
    assert ratios.alike(sizes * all_right, sizes)
    assert not ratios.alike(column(1, 2, 1, 1, 1, 1, 1), sizes)


def test_the_simplest_share_is_the_exact_one() -> None:
    """Alike clusters with a rate between 0 and 1 show no more than their items would by themselves."""
    found = ratios.interval(column(*[5.0] * 6), column(*[10.0] * 6), 60)
    exact = clopper_pearson.interval(30, 60)
    assert (found.lower, found.upper) == (pytest.approx(exact.lower), pytest.approx(exact.upper))


@pytest.mark.parametrize(
    ("y", "x", "items", "share", "alpha"),
    [
        (column(1.0), column(2.0), 2, True, 0.05),
        (column(1.0, 1.0), column(2.0, 2.0), 1, True, 0.05),
        (column(0.0, 0.0), column(0.0, 0.0), 4, True, 0.05),
        (column(3.0, 1.0), column(1.0, 1.0), 4, True, 0.05),
        (column(1.0, float("nan")), column(1.0, 1.0), 4, True, 0.05),
        (column(1.0, 1.0), column(2.0, 2.0), 4, False, 0.05),
        (column(1.0, 0.0), column(2.0, 2.0), 4, True, 1.0),
    ],
    ids=["one cluster", "too few items", "nothing", "no share", "nan", "alike", "alpha"],
)
def test_refused(y: Floats, x: Floats, items: int, share: bool, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"."):
        ratios.interval(y, x, items, share, alpha)


def drawn(rng: np.random.Generator, share: bool) -> Interval:
    """25 clusters of 3 to 12 items that hang together: their own rate has a standard deviation of .19 around .3."""
    sizes = rng.integers(3, 13, 25)
    if share:
        hits = rng.binomial(sizes, rng.beta(1.5, 3.5, 25))
        return ratios.interval(column(*hits), column(*sizes), int(sizes.sum()))
    means = 0.3 + rng.normal(0, 1, 25)
    sums = [float(rng.normal(mean, 1, size).sum()) for mean, size in zip(means, sizes, strict=True)]
    return ratios.interval(column(*sums), column(*sizes), int(sizes.sum()), share=False)


@pytest.mark.parametrize("share", [True, False])
def test_coverage(share: bool) -> None:
    assert contract.covers(lambda rng: drawn(rng, share), 0.3, 400, seed=5) > 0.9
    naive = 0
    rng = generator("test clustered", 1)
    for _ in range(200 if share else 0):
        sizes = rng.integers(3, 13, 25)
        hits = int(rng.binomial(sizes, rng.beta(1.5, 3.5, 25)).sum())
        exact = clopper_pearson.interval(hits, int(sizes.sum()))
        naive += exact.lower <= 0.3 <= exact.upper
    assert naive <= 0.9 * 200  # what takes items for independent does not cover
