"""Bounds on a ratio of sums whose items come in clusters: the clusters are the independent units.

With sums y_g and x_g of cluster g, the estimate is R = Σy/Σx and its variance, by linearisation (Cochran 1977,
chapter 6), is

    v = G/(G-1) Σ ((y_g - R x_g) / Σx)²

Of several ratios the mean is taken, and the terms of a cluster likewise. A share has the bounds of Korn and Graubard
(1998, Survey Methodology 24:193): those of Clopper and Pearson with the effective number of items R(1-R)/v, adjusted by
(t_{n-1}/t_{G-1})² and at most n. Where all clusters are at 0 or 1, it is the number of clusters. What is no share has
R ± t_{G-1} √v.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, stdtrit

from askfirst.values import Floats, Interval, Target

TARGETS: tuple[Target, ...] = ("new_clusters",)
TINY = 1e-24  # of a variance: all clusters are alike


def estimate(numerators: Floats, denominators: Floats) -> float:
    """The mean of the ratios of sums; arrays have shape (G, k) for k ratios. Raises ValueError for no denominator."""
    totals = denominators.sum(axis=0)
    if not len(totals) or np.any(totals <= 0):
        raise ValueError("nothing to divide by: a ratio of nothing has no meaning")
    return float(np.mean(numerators.sum(axis=0) / totals))


def alike(numerators: Floats, denominators: Floats) -> bool:
    """Whether all clusters are alike, so that they do not tell how others would differ; arrays as in `estimate`."""
    return _variance(numerators, denominators) <= TINY


def interval(numerators: Floats, denominators: Floats, items: int, share: bool = True, alpha: float = 0.05) -> Interval:
    """Two-sided bounds on the mean of ratios of sums, a row for each cluster.

    `items` is the number of items that the clusters hold together; `share` says that the ratio is of a part and its
    whole. Raises ValueError for fewer than two clusters, fewer items than clusters, numbers that are not finite, an
    alpha out of range, no denominator, and where all clusters are alike in what is no share.
    """
    y, x = np.atleast_2d(numerators), np.atleast_2d(denominators)
    count = len(y)
    if count < 2 or items < count:
        raise ValueError(f"bounds need two clusters or more and an item in each, found {count} and {items} items")
    if y.shape != x.shape or not (np.isfinite(y).all() and np.isfinite(x).all()) or not 0 < alpha < 1:
        raise ValueError("numerators, denominators or alpha are out of range")
    mean, variance = estimate(y, x), _variance(y, x)
    if share:
        return _of_share(mean, variance, (items, count), alpha)
    if variance <= TINY:
        raise ValueError("all clusters are alike in what is no share: they give no bounds")
    reach = -float(stdtrit(count - 1, alpha / 2)) * variance**0.5
    return Interval(mean, mean - reach, mean + reach, alpha, "clustered")


def _variance(y: Floats, x: Floats) -> float:
    totals, count = x.sum(axis=0), len(y)
    terms = ((y - y.sum(axis=0) / totals * x) / totals).mean(axis=1)
    return count / (count - 1) * float(terms @ terms)


def _of_share(mean: float, variance: float, sizes: tuple[int, int], alpha: float) -> Interval:
    if not -1e-12 <= mean <= 1 + 1e-12:
        raise ValueError(f"a share is between 0 and 1, found {mean}")
    items, count = sizes
    mean = min(1.0, max(0.0, mean))
    if variance > TINY:
        degrees = float(stdtrit(items - 1, alpha / 2) / stdtrit(count - 1, alpha / 2))
        size = min(float(items), mean * (1 - mean) / variance * degrees**2)
    else:
        size = float(count if mean in (0.0, 1.0) else items)
    hits = size * mean
    lower = float(betaincinv(hits, size - hits + 1, alpha / 2)) if hits > 0 else 0.0
    upper = float(betaincinv(hits + 1, size - hits, 1 - alpha / 2)) if hits < size else 1.0
    return Interval(mean, min(lower, mean), max(upper, mean), alpha, "clustered share")
