"""What the methods for bounded differences share: supports, checked values, clusters, losses and wins by chance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from askfirst.values import TOLERANCE, Floats

Support = tuple[float, float]


def support(weights: Mapping[str, float], bounds: Support = (0.0, 1.0)) -> Support:
    """The least and the largest value of Σ w·x when every x lies in `bounds`. Raises ValueError for no such range."""
    low, high = map(float, bounds)
    if not weights or not np.isfinite([low, high, *weights.values()]).all() or low >= high:
        raise ValueError(f"no range: bounds [{low}, {high}], weights {dict(weights)}")
    ends = [(w * low, w * high) if w > 0 else (w * high, w * low) for w in weights.values()]
    found = sum(e[0] for e in ends), sum(e[1] for e in ends)
    if found[0] == found[1]:
        raise ValueError(f"weights {dict(weights)} leave nothing to measure")
    return found


def span(within: Support) -> float:
    """R, the length of the support. Raises ValueError unless it is positive and finite."""
    low, high = within
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"a support is two finite numbers, the lower first; found {within}")
    return high - low


def checked(values: ArrayLike, within: Support | None = None, least: int = 1) -> Floats:
    """The values as floats, shape (items,) or (items, trials).

    Raises ValueError for fewer than `least` items, a missing value (NaN), or one outside the support: nothing is
    clipped, because a value outside its declared bounds makes every bound wrong.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim not in (1, 2) or found.size == 0 or len(found) < least:
        raise ValueError(f"{least} or more items are needed, as (items,) or (items, trials); found shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("a value is missing or not a number; it is not a 0")
    if within is not None:
        span(within)
        slack = TOLERANCE * max(1.0, abs(within[0]), abs(within[1]))
        outside = found[(found < within[0] - slack) | (found > within[1] + slack)]
        if outside.size:
            raise ValueError(f"{outside[0]} is outside the declared support {within}")
    return found


def item_means(values: Floats) -> Floats:
    """One value an item: the mean of its trials."""
    return values if values.ndim == 1 else values.mean(axis=1)


def grouped(values: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """The sum and the number of items of each cluster, in order of appearance. Raises ValueError for another length."""
    if len(clusters) != len(values):
        raise ValueError(f"{len(values)} items, but {len(clusters)} cluster names")
    index: dict[Hashable, int] = {}
    codes = [index.setdefault(name, len(index)) for name in clusters]
    return np.bincount(codes, weights=values).astype(np.float64), np.bincount(codes).astype(np.float64)


def net_chances(n: int, win_rate: float, loss_rate: float) -> Floats:
    """P(wins − losses = j) for j = −n … n, shape (2n + 1,), over n independent pairs.

    The distribution of one pair, convolved n times by repeated squaring; exact up to rounding, since nothing is
    negative. Raises ValueError for rates that are no design.
    """
    if n < 1 or not (win_rate >= 0 and loss_rate >= 0 and win_rate + loss_rate <= 1 + 1e-12):
        raise ValueError(f"not a design: {n} items, win rate {win_rate}, loss rate {loss_rate}")
    square = np.array([loss_rate, max(0.0, 1 - win_rate - loss_rate), win_rate])
    chances = np.ones(1)
    while True:
        if n & 1:
            chances = np.convolve(chances, square)
        n >>= 1
        if not n:
            return chances
        square = np.convolve(square, square)
