"""The interval of Hoeffding (1963) for the mean of independent bounded differences; they need not be identical."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, floor, log, sqrt
from statistics import NormalDist

from numpy.typing import ArrayLike

from askfirst.stats._bounded import Support, checked, grouped, item_means, net_chances, span
from askfirst.stats._counts import Sided, least_difference, tails
from askfirst.values import Interval, Target

TARGETS: tuple[Target, ...] = ("fixed_items", "new_items", "new_clusters")
DIFFERENCE: Support = (-1.0, 1.0)  # of two rates


def half_width(
    n: int, within: Support = DIFFERENCE, alpha: float = 0.05, sided: Sided = "two", sizes: Sequence[int] = ()
) -> float:
    """R·√(ln(1/tail) / (2n)), with tail α/2 when two-sided.

    `n` counts independent values; k trials on each of n fixed items are n·k of them. With the `sizes` of clusters that
    are themselves the independent units, R·√(ln(1/tail)·Σm²/2)/n. Raises ValueError for no items, an alpha out of
    range, or sizes that do not add up to n.
    """
    if n < 1:
        raise ValueError(f"an interval needs at least one item, found {n}")
    if sizes and (sum(sizes) != n or min(sizes) < 1):
        raise ValueError(f"cluster sizes add up to {sum(sizes)}, not to {n}")
    unlike = sum(m * m for m in sizes) / n if sizes else 1.0  # n over the number of units that it amounts to
    return span(within) * sqrt(log(1 / max(tails(alpha, sided))) * unlike / (2 * n))


def interval(
    values: ArrayLike,
    within: Support = DIFFERENCE,
    alpha: float = 0.05,
    sided: Sided = "two",
    target: Target = "new_items",
    clusters: Sequence[Hashable] = (),
) -> Interval:
    """Bounds on the mean of values, shape (items,) or (items, trials), each within its support.

    For `fixed_items` every trial counts, for `new_items` every item, for `new_clusters` every cluster, one name an
    item. A side that is not asked for is the end of the support. Raises ValueError for what is missing or outside.
    """
    found = checked(values, within)
    if target not in TARGETS:
        raise ValueError(f"paired_hoeffding speaks of {', '.join(TARGETS)}, not of {target}")
    if (target == "new_clusters") != bool(len(clusters)):
        raise ValueError("clusters are named exactly when the target is new_clusters")
    sizes: list[int] = []
    if target == "new_clusters":
        sizes = [int(m) for m in grouped(item_means(found), clusters)[1]]
    units = found.size if target == "fixed_items" else len(found)
    half = half_width(units, within, alpha, sided, sizes)
    mean = float(item_means(found).mean())
    return Interval(
        estimate=mean,
        lower=within[0] if sided == "upper" else mean - half,
        upper=within[1] if sided == "lower" else mean + half,
        alpha=alpha,
        method=f"paired_hoeffding ({sided}-sided, {target}, {len(sizes) or units} units)",
    )


def thresholds(n: int, margin: float = 0.0, alpha: float = 0.05, sizes: Sequence[int] = ()) -> tuple[float, float]:
    """The net wins (wins − losses of n pairs) above which the two-sided rule says yes, and below which it says no."""
    half = half_width(n, alpha=alpha, sizes=sizes)
    return n * (margin + half), n * (margin - half)


def needed(n: int, margin: float = 0.0, alpha: float = 0.05) -> int | None:
    """The least net wins of n pairs whose lower bound is above the margin; None where not even n are enough."""
    least = floor(thresholds(n, margin, alpha)[0]) + 1
    return least if least <= n else None


def refuting(n: int, margin: float = 0.0, alpha: float = 0.05) -> int | None:
    """The largest net wins of n pairs whose upper bound is below the margin; None where not even −n are enough."""
    most = ceil(thresholds(n, margin, alpha)[1]) - 1
    return most if most >= -n else None


def power(n: int, win_rate: float, loss_rate: float, threshold: float = 0.0, alpha: float = 0.05) -> float:
    """The exact probability that the lower two-sided bound is above the threshold, over all outcomes of n pairs.

    A pair is a win with probability `win_rate`, a loss with `loss_rate`, else a tie; `n` counts independent pairs
    as in `half_width`. Raises ValueError for a design out of range.
    """
    chances = net_chances(n, win_rate, loss_rate)
    least = needed(n, threshold, alpha)
    return 0.0 if least is None else float(min(1.0, chances[n + max(least, -n) :].sum()))


def minimum_effect(
    n: int, discordance: float, threshold: float = 0.0, alpha: float = 0.05, wanted: float = 0.8
) -> float | None:
    """The smallest true difference (to 1e-6) shown to be above the threshold with probability `wanted`.

    `discordance` is the share of pairs that differ. None where not even a difference equal to it is shown that often.
    """
    lowest = -discordance
    return least_difference(lambda win, loss: power(n, win, loss, threshold, alpha), discordance, wanted, lowest)


def pairs_for_width(half: float, within: Support = DIFFERENCE, alpha: float = 0.05) -> int:
    """The least number of independent values whose two-sided half-width is at most `half`."""
    if not half > 0:
        raise ValueError(f"a half-width is positive, found {half}")
    return ceil(span(within) ** 2 * log(2 / alpha) / (2 * half * half) - 1e-9)


def pairs_for_power(
    difference: float, discordance: float, threshold: float = 0.0, alpha: float = 0.05, wanted: float = 0.8
) -> int | None:
    """About how many pairs show a true difference to be above the threshold with probability `wanted`.

    By the normal approximation to the mean: √n·(d − t) = R·√(ln(2/α)/2) + z·√(ψ − d²). None where the difference is
    not above the threshold, so that no number is enough.
    """
    if not abs(difference) <= discordance <= 1:
        raise ValueError(f"a difference of {difference} cannot come from a discordance of {discordance}")
    if difference <= threshold:
        return None
    reach = half_width(1, alpha=alpha) + NormalDist().inv_cdf(wanted) * sqrt(discordance - difference**2)
    return ceil((reach / (difference - threshold)) ** 2)
