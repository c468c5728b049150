"""McNemar's test of two paired rates on the pairs that differ (1947), exact, with its interval.

It knows no margin, and for a fixed set of unlike items it tests exchangeability, not whether the mean difference is 0.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
from scipy.special import bdtr, betaincinv, chdtrc, gammaln, xlogy

from askfirst.stats._counts import check_counts
from askfirst.values import Floats, Interval, Target

TARGETS: tuple[Target, ...] = ("new_items",)


def p_value(wins: int, losses: int, n: int, *, mid: bool = False) -> float:
    """The two-sided exact p-value 2·P(Bin(b + c, ½) ≤ min(b, c)), at most 1; with `mid` the chance of what was seen
    counts half. Raises ValueError for n = 0 and for impossible counts. Where no pair differs it is 1.
    """
    check_counts(n, wins=wins, losses=losses)
    return float(_p(np.array([float(wins)]), np.array([float(losses)]), mid=mid)[0])


def chi_square(wins: int, losses: int, n: int, *, correction: bool = True) -> float:
    """The p-value by χ² with one degree of freedom, with or without continuity correction; for many pairs only."""
    check_counts(n, wins=wins, losses=losses)
    if wins + losses == 0:
        return 1.0
    gap = max(0.0, abs(wins - losses) - correction)
    return float(chdtrc(1, gap * gap / (wins + losses)))


def interval(wins: int, losses: int, n: int, alpha: float = 0.05) -> Interval:
    """The share of wins among pairs that differ, with exact bounds; they leave out ½ exactly when `p_value` < α.

    Raises ValueError for impossible counts and where no pair differs.
    """
    check_counts(n, wins=wins, losses=losses)
    differing = wins + losses
    if not 0 < alpha < 1 or not differing:
        raise ValueError(f"a share of the pairs that differ needs one that does, and alpha in (0, 1); found {alpha}")
    low = float(betaincinv(wins, losses + 1, alpha / 2)) if wins else 0.0
    high = float(betaincinv(wins + 1, losses, 1 - alpha / 2)) if losses else 1.0
    return Interval(wins / differing, low, high, alpha, "mcnemar (two-sided, share of wins among pairs that differ)")


def power(n: int, win_rate: float, loss_rate: float, alpha: float = 0.05) -> float:
    """The exact probability that the treatment has more wins and the exact test rejects, over outcomes of n pairs."""
    check_counts(n)
    if not (win_rate >= 0 and loss_rate >= 0 and win_rate + loss_rate <= 1 + 1e-12):
        raise ValueError(f"not a design: win rate {win_rate}, loss rate {loss_rate}")
    counts = np.arange(n + 1, dtype=np.float64)
    wins, losses = (side.ravel() for side in np.meshgrid(counts, counts, indexing="ij"))
    possible = wins + losses <= n
    wins, losses = wins[possible], losses[possible]
    ties = n - wins - losses
    chance = np.exp(
        gammaln(n + 1) - gammaln(wins + 1) - gammaln(losses + 1) - gammaln(ties + 1)
        + xlogy(wins, win_rate) + xlogy(losses, loss_rate) + xlogy(ties, max(0.0, 1 - win_rate - loss_rate))
    )  # fmt: skip
    return float(min(1.0, chance[(wins > losses) & (_p(wins, losses) < alpha)].sum()))


def pairs_for_power(discordance: float, difference: float, alpha: float = 0.05, wanted: float = 0.8) -> float:
    """About how many pairs show a difference (Connor 1987): [(z_{α/2}·√ψ + z_β·√(ψ − d²)) / d]²."""
    if not 0 < abs(difference) <= discordance <= 1:
        raise ValueError(f"a difference of {difference} cannot come from a discordance of {discordance}")
    sides = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(wanted)
    spread = sides[0] * sqrt(discordance) + sides[1] * sqrt(discordance - difference**2)
    return (spread / difference) ** 2


def _p(wins: Floats, losses: Floats, *, mid: bool = False) -> Floats:
    fewer, differing = np.minimum(wins, losses), wins + losses
    below = bdtr(fewer, differing.astype(np.int64), 0.5)
    seen = np.exp(gammaln(differing + 1) - gammaln(wins + 1) - gammaln(losses + 1) - differing * np.log(2.0))
    found: Floats = np.minimum(1.0, 2 * below - (seen if mid else 0.0))
    return found
