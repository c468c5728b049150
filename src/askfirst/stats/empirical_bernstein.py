"""The empirical Bernstein interval for a mean (Maurer and Pontil 2009, arXiv 0907.3740, theorem 11)."""

from __future__ import annotations

from math import log, sqrt

from numpy.typing import ArrayLike

from askfirst.stats._bounded import Support, checked, item_means, span
from askfirst.stats._counts import Sided, tails
from askfirst.values import Interval, Target

TARGETS: tuple[Target, ...] = ("fixed_items", "new_items")


def half_width(n: int, variance: float, within: Support, tail: float) -> float:
    """√(2·V·ln(2/tail)/n) + 7R·ln(2/tail)/(3(n − 1)), with V the sample variance (ddof 1) and the error of one side."""
    if n < 2 or variance < 0 or not 0 < tail < 1:
        raise ValueError(f"not a sample: n = {n}, variance {variance}, tail {tail}")
    logarithm = log(2 / tail)
    return sqrt(2 * variance * logarithm / n) + 7 * span(within) * logarithm / (3 * (n - 1))


def interval(
    values: ArrayLike,
    within: Support = (-1.0, 1.0),
    alpha: float = 0.05,
    sided: Sided = "two",
    target: Target = "new_items",
) -> Interval:
    """Bounds on the mean of independent values, shape (items,) or (items, trials), each within its support.

    Narrower than Hoeffding's only for a small variance and many items. For `fixed_items` every trial counts, for
    `new_items` every item. Raises ValueError for fewer than two values, missing ones, or values outside.
    """
    found = checked(values, within)
    if target not in TARGETS:
        raise ValueError(f"empirical_bernstein speaks of {', '.join(TARGETS)}, not of {target}")
    units = found.ravel() if target == "fixed_items" else item_means(found)
    if len(units) < 2:
        raise ValueError("a variance needs two or more values")
    half = half_width(len(units), float(units.var(ddof=1)), within, max(tails(alpha, sided)))
    mean = float(units.mean())
    return Interval(
        estimate=mean,
        lower=within[0] if sided == "upper" else mean - half,
        upper=within[1] if sided == "lower" else mean + half,
        alpha=alpha,
        method=f"empirical_bernstein ({sided}-sided, {target}, {len(units)} units)",
    )
