"""The score interval for the difference of two paired rates (Tango 1998, Statistics in Medicine 17:891)."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from scipy.special import gammaln, xlogy

from askfirst.stats._counts import Sided, check_counts, least_difference, tails
from askfirst.values import Floats, Interval, Target

TARGETS: tuple[Target, ...] = ("new_items",)  # the pairs are draws of one population


def interval(wins: int, losses: int, n: int, alpha: float = 0.05, sided: Sided = "two") -> Interval:
    """Bounds on the difference of two rates measured on the same n items.

    `wins` are the items that only the treatment passed, `losses` those that only the baseline passed. A side that is
    not asked for is −1 or 1. Raises ValueError for n = 0 and for counts or alpha out of range.
    """
    check_counts(n, wins=wins, losses=losses)
    low, high = tails(alpha, sided)
    return Interval(
        estimate=(wins - losses) / n,
        lower=_root(wins, losses, n, _critical(low)) if low else -1.0,
        upper=_root(wins, losses, n, -_critical(high)) if high else 1.0,
        alpha=alpha,
        method=f"tango ({sided}-sided)",
    )


def noninferior(wins: int, losses: int, n: int, margin: float, alpha: float = 0.05) -> bool:
    """Whether the one-sided lower bound is above −margin. Margin 0 is a test of superiority.

    Raises ValueError for a negative margin, and as `interval`.
    """
    if not 0 <= margin < 1:
        raise ValueError(f"margin must be in [0, 1), found {margin}")
    return interval(wins, losses, n, alpha, "lower").lower > -margin


def power(
    n: int, win_rate: float, loss_rate: float, threshold: float = 0.0, alpha: float = 0.05, *, sided: Sided = "two"
) -> float:
    """The exact probability that the lower bound is above the threshold, over all outcomes of n items.

    An item is a win with probability `win_rate`, a loss with `loss_rate`, else a tie. Superiority by a margin has that
    margin as its threshold, non-inferiority minus its margin. Raises ValueError for a design out of range.
    """
    check_counts(n)
    if not (win_rate >= 0 and loss_rate >= 0 and win_rate + loss_rate <= 1 + 1e-12 and -1 < threshold < 1):
        raise ValueError(f"not a design: win rate {win_rate}, loss rate {loss_rate}, threshold {threshold}")
    low = tails(alpha, sided)[0]
    if not low:
        raise ValueError("an upper bound alone cannot show that a difference is above a threshold")
    counts = np.arange(n + 1, dtype=np.float64)
    wins, losses = np.meshgrid(counts, counts, indexing="ij")  # (n + 1, n + 1)
    possible = wins + losses <= n
    wins, losses = wins[possible], losses[possible]
    ties = n - wins - losses
    log_chance = (
        gammaln(n + 1) - gammaln(wins + 1) - gammaln(losses + 1) - gammaln(ties + 1)
        + xlogy(wins, win_rate) + xlogy(losses, loss_rate) + xlogy(ties, max(0.0, 1 - win_rate - loss_rate))
    )  # fmt: skip
    # The score falls as the difference grows, so "lower bound above t" and "score at t above critical" are the same.
    shown = _score(wins, losses, n, threshold) > _critical(low)
    return float(min(1.0, np.exp(log_chance)[shown].sum()))


def minimum_effect(
    n: int,
    discordance: float,
    threshold: float = 0.0,
    alpha: float = 0.05,
    *,
    sided: Sided = "two",
    wanted: float = 0.8,
) -> float | None:
    """The smallest true difference (to 1e-6) shown to be above the threshold with probability `wanted`.

    `discordance` is the share of items on which the two differ. None where not even a difference equal to it is shown
    that often. Raises as `power`.
    """
    lowest = max(-discordance, min(threshold, discordance))
    return least_difference(
        lambda win, loss: power(n, win, loss, threshold, alpha, sided=sided), discordance, wanted, lowest
    )


def _critical(tail: float) -> float:
    return NormalDist().inv_cdf(1 - tail)


def _root(wins: int, losses: int, n: int, critical: float) -> float:
    """The difference in [−1, 1] at which the score falls through `critical`."""
    low, high = -1.0, 1.0
    counts = np.array([float(wins)]), np.array([float(losses)])
    for _ in range(60):  # halving 2 sixty times leaves less than one unit in the last place
        middle = (low + high) / 2
        if _score(*counts, n, middle)[0] > critical:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _score(wins: Floats, losses: Floats, n: int, difference: float) -> Floats:
    """Tango's z for the hypothesis that the true difference is `difference`; falls as it grows."""
    d = difference
    a = 2.0 * n
    b = -wins - losses + (2 * n - wins + losses) * d
    c = -losses * d * (1 - d)
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
    # Of the two forms of the root, each is exact where the other cancels.
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(b > 0, -2 * c / (root + b), (root - b) / (2 * a))
        variance = np.maximum(n * (2 * q + d * (1 - d)), 0.0)
        offset = wins - losses - n * d
        return np.where(offset == 0, 0.0, offset / np.sqrt(variance))
