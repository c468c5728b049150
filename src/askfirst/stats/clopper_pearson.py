"""The exact binomial interval (Clopper and Pearson 1934)."""

from __future__ import annotations

from math import floor

from scipy.special import bdtrc, betaincinv

from askfirst.stats._counts import Sided, check_counts, tails
from askfirst.values import TOLERANCE, Interval, Target

TARGETS: tuple[Target, ...] = ("new_items",)  # identical, independent items


def interval(successes: int, n: int, alpha: float = 0.05, sided: Sided = "two") -> Interval:
    """Bounds on a rate from `successes` of `n` independent items.

    Lower BetaInv(α; k, n − k + 1), upper BetaInv(1 − α; k + 1, n − k), with α/2 each when two-sided; a side that is
    not asked for is 0 or 1. Raises ValueError for n = 0 and for counts or alpha out of range.
    """
    check_counts(n, successes=successes)
    low, high = tails(alpha, sided)
    k = int(successes)
    return Interval(
        estimate=k / n,
        lower=float(betaincinv(k, n - k + 1, low)) if low and k else 0.0,
        upper=float(betaincinv(k + 1, n - k, 1 - high)) if high and k < n else 1.0,
        alpha=alpha,
        method=f"clopper_pearson ({sided}-sided)",
    )


def needed(n: int, threshold: float, alpha: float = 0.05, sided: Sided = "lower") -> int | None:
    """The smallest number of successes of n whose lower bound is above the threshold; None where none is."""
    check_counts(n)
    _check_threshold(threshold, sided)
    low, high = 0, n + 1  # the lower bound grows with the successes
    while low < high:
        middle = (low + high) // 2
        if interval(min(middle, n), n, alpha, sided).lower > threshold:
            high = middle
        elif middle >= n:
            return None
        else:
            low = middle + 1
    return low


def power(n: int, rate: float, threshold: float, alpha: float = 0.05, sided: Sided = "lower") -> float:
    """The exact probability that the lower bound of n items is above the threshold when the true rate is `rate`.

    Raises ValueError for a rate or threshold outside [0, 1], n = 0 or an interval without a lower bound.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be in [0, 1], found {rate}")
    least = needed(n, threshold, alpha, sided)
    if least is None:
        return 0.0
    return float(bdtrc(least - 1, n, rate)) if least > 0 else 1.0


def plain_power(n: int, rate: float, threshold: float) -> float:
    """The exact probability that the plain share of n items is above the threshold: what a rule without a bound lets
    through, also by luck. Raises as `power`.
    """
    check_counts(n)
    _check_threshold(threshold, "lower")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be in [0, 1], found {rate}")
    return float(bdtrc(floor(n * threshold + TOLERANCE), n, rate)) if threshold < 1 else 0.0


def minimum_effect(
    n: int, threshold: float, alpha: float = 0.05, sided: Sided = "lower", wanted: float = 0.8
) -> float | None:
    """The smallest true rate (to 1e-9) that n items show to be above the threshold with probability `wanted`.

    None where no rate does: n is too small for its best outcome to clear the threshold. Raises as `power`.
    """
    if not 0 < wanted < 1:
        raise ValueError(f"the wanted power must be between 0 and 1, found {wanted}")
    if needed(n, threshold, alpha, sided) is None:
        return None
    low, high = 0.0, 1.0  # power grows with the rate
    while high - low > 1e-9:
        middle = (low + high) / 2
        if power(n, middle, threshold, alpha, sided) >= wanted:
            high = middle
        else:
            low = middle
    return high


def _check_threshold(threshold: float, sided: Sided) -> None:
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be in [0, 1], found {threshold}")
    if sided == "upper":
        raise ValueError("an upper bound alone cannot show that a rate is above a threshold")
