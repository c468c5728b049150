"""The bootstrap of paired differences: items, or clusters of them, are drawn again, pairs kept together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import bootstrap

from askfirst.stats._bounded import checked, grouped, item_means
from askfirst.values import Floats, Interval, Target

TARGETS: tuple[Target, ...] = ("new_items", "new_clusters")
LEAST = 30  # with fewer units its intervals are too short
RESAMPLES = 20_000
BATCH = 1000


def interval(
    values: ArrayLike,
    alpha: float = 0.05,
    *,
    seed: int,
    clusters: Sequence[Hashable] = (),
    method: Literal["BCa", "percentile"] = "BCa",
    resamples: int = RESAMPLES,
) -> Interval:
    """Bounds on the mean of differences, shape (items,) or (items, trials), or of items drawn with their clusters.

    Raises ValueError for fewer than 30 items or clusters, missing values, and values that are all the same, of which
    a new draw says nothing.
    """
    found = item_means(checked(values))
    if not 0 < alpha < 1 or resamples < 1000:
        raise ValueError(f"alpha must be in (0, 1) and resamples at least 1000; found {alpha}, {resamples}")
    sums, sizes = grouped(found, clusters or range(len(found)))
    if len(sums) < LEAST:
        raise ValueError(f"the bootstrap is too short with fewer than {LEAST} units, found {len(sums)}")
    if np.ptp(sums / sizes) == 0 and np.ptp(sizes) == 0:
        raise ValueError("all units are the same, so that drawing them again says nothing of others")
    drawn = bootstrap(
        (sums, sizes),
        _ratio,
        n_resamples=resamples,
        batch=BATCH,
        paired=True,
        vectorized=True,
        confidence_level=1 - alpha,
        method=method,
        rng=np.random.default_rng(seed),
    )
    low, high = map(float, drawn.confidence_interval)
    name = f"paired_bootstrap ({method}, {resamples} resamples of {len(sums)} units, seed {seed})"
    return Interval(float(found.mean()), low, high, alpha, name)


def _ratio(sums: Floats, sizes: Floats, axis: int = -1) -> Floats:
    found: Floats = sums.sum(axis=axis) / sizes.sum(axis=axis)
    return found
