"""The hedged-capital betting interval for a bounded mean (Waudby-Smith and Ramdas 2024, arXiv 2010.09686).

It depends on the order of the items, so that the order has to be fixed before the data are seen: by the hash of plan
and item. It assumes one common mean given the past, as of independent draws of a population; for a fixed set of unlike
items it does not hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import ArrayLike

from askfirst.stats._bounded import Support, checked, item_means, span
from askfirst.values import Floats, Interval, Target

TARGETS: tuple[Target, ...] = ("new_items",)
GRID = 4001  # candidate means over the support, both ends included
TRUNCATION = 0.75  # c: the largest share of the capital that is staked


def in_order(items: Sequence[str], salt: str) -> list[int]:
    """The places of the items sorted by sha256(salt ‖ item). Raises ValueError for an item that stands twice."""
    if len(set(items)) != len(items):
        raise ValueError("an item stands twice, so that the order is not fixed")
    digests = [hashlib.sha256((salt + item).encode()).hexdigest() for item in items]
    return sorted(range(len(items)), key=digests.__getitem__)


def interval(
    values: ArrayLike,
    within: Support = (-1.0, 1.0),
    alpha: float = 0.05,
    *,
    items: Sequence[str],
    salt: str,
    grid: int = GRID,
) -> Interval:
    """Bounds on the mean of values, shape (items,) or (items, trials), taken in the order of `in_order(items, salt)`.

    Raises ValueError for values missing or outside, and where no mean of the grid is believable: the values then do
    not look like draws with one common mean.
    """
    found = item_means(checked(values, within))
    if len(items) != len(found):
        raise ValueError(f"{len(found)} values, but {len(items)} items")
    return sequential(found[in_order(items, salt)], within, alpha, grid=grid)


def sequential(
    values: ArrayLike,
    within: Support = (-1.0, 1.0),
    alpha: float = 0.05,
    *,
    grid: int = GRID,
    truncation: float = TRUNCATION,
) -> Interval:
    """As `interval`, on values, shape (items,), in the order in which they stand. The bounds are points of the grid."""
    found = checked(values, within)
    if not 0 < alpha < 1 or not 0 < truncation <= 1 or grid < 3 or found.ndim != 1:
        raise ValueError(f"alpha {alpha}, truncation {truncation}, grid {grid}, shape {found.shape}")
    scaled = np.clip((found - within[0]) / span(within), 0.0, 1.0)  # what is clipped here is rounding
    means = np.linspace(0.0, 1.0, grid)
    stakes = _stakes(scaled, alpha)
    with np.errstate(divide="ignore"):
        caps = truncation / means, truncation / (1 - means)
    up, down, kept = np.zeros(grid), np.zeros(grid), np.ones(grid, dtype=bool)
    for x, stake in zip(scaled, stakes, strict=True):
        with np.errstate(divide="ignore"):
            up += np.log1p(np.minimum(stake, caps[0]) * (x - means))
            down += np.log1p(-np.minimum(stake, caps[1]) * (x - means))
        kept &= np.maximum(up, down) + log(0.5) < log(1 / alpha)
    if not kept.any():
        raise ValueError("no common mean is believable in this order of the items: the confidence set is empty")
    low, high = (float(within[0] + means[at] * span(within)) for at in np.flatnonzero(kept)[[0, -1]])
    mean = float(found.mean())
    method = f"betting (two-sided, grid {grid}, c {truncation})"
    return Interval(mean, min(low, mean), max(high, mean), alpha, method)


def _stakes(scaled: Floats, alpha: float) -> Floats:
    """λ_t = √(2 ln(2/α) / (n σ²_{t−1})): predictable, from the values before the t-th."""
    n = len(scaled)
    times = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(scaled)) / (times + 1)
    variances = (0.25 + np.cumsum((scaled - means) ** 2)) / (times + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    stakes: Floats = np.sqrt(2 * log(2 / alpha) / (n * before))
    return stakes
