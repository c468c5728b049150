"""Standard errors of a mean with dependent items (Miller 2024, arXiv 2411.00640), and the interval they give."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from askfirst.stats._bounded import checked, grouped, item_means
from askfirst.values import Interval, Target

TARGETS: tuple[Target, ...] = ("new_items", "new_clusters")
LEAST = 20  # clusters; with few of them the error can come out far too small


def standard_error(values: ArrayLike, clusters: Sequence[Hashable] = (), *, correction: bool = False) -> float:
    """√(Σ_c (Σ_{i∈c} (s_i − mean))²) / n over clusters; without clusters every item is its own.

    With `correction`, times √(g/(g − 1)) for g clusters. Raises ValueError for missing values or fewer than two units.
    """
    found = item_means(checked(values, least=2))
    sums = grouped(found - found.mean(), clusters or range(len(found)))[0]
    if len(sums) < 2:
        raise ValueError("an error between clusters needs two or more of them")
    factor = len(sums) / (len(sums) - 1) if correction else 1.0
    return sqrt(factor * float(np.square(sums).sum())) / len(found)


def interval(
    values: ArrayLike,
    alpha: float = 0.05,
    *,
    clusters: Sequence[Hashable] = (),
    distribution: Literal["t", "z"] = "t",
    least: int = LEAST,
) -> Interval:
    """Bounds on the mean of values, shape (items,) or (items, trials), by the corrected clustered error.

    By t with one degree of freedom less than there are clusters, or by the normal distribution. Raises ValueError for
    fewer than `least` clusters and for values that are all the same.
    """
    found = item_means(checked(values, least=2))
    units = len(set(clusters)) if clusters else len(found)
    if units < least or not 0 < alpha < 1:
        raise ValueError(f"{least} or more clusters are needed, found {units}; alpha must be in (0, 1), found {alpha}")
    error = standard_error(found, clusters, correction=True)
    if error == 0:
        raise ValueError("all units are the same: their spread says nothing of others")
    tail = 1 - alpha / 2
    reach = error * (float(stdtrit(units - 1, tail)) if distribution == "t" else NormalDist().inv_cdf(tail))
    mean = float(found.mean())
    return Interval(mean, mean - reach, mean + reach, alpha, f"clustered ({distribution}, {units} units)")


def items_for_power(
    effect: float, between: float, within: Sequence[tuple[float, int]], alpha: float = 0.05, wanted: float = 0.8
) -> float:
    """About how many items show a paired difference: (z_{α/2} + z_β)²(ω² + Σ σ²/K) / δ².

    `between` is ω², the variance of the items' true differences; `within` has σ² and the trials K of each model.
    """
    if effect == 0 or between < 0 or any(variance < 0 or trials < 1 for variance, trials in within):
        raise ValueError(f"not a design: effect {effect}, variances {between}, {list(within)}")
    sides = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(wanted)
    return sides**2 * (between + sum(variance / trials for variance, trials in within)) / effect**2
