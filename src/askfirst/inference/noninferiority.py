"""No regression, in the three senses that can be shown: no item flips, the rate falls by less than a margin, and
fewer than a margin of items flip.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from askfirst.stats import clopper_pearson, paired_hoeffding, tango
from askfirst.stats._counts import Sided, check_counts
from askfirst.values import Interval

Mode = Literal["no_item_regression", "rate_noninferiority", "regression_rate_upper"]
By = Literal["tango", "paired_hoeffding"]


def no_item_regression(losses: int, n: int, *, pinned: bool) -> bool:
    """Whether no item that the baseline passed fails now.

    Only for decoding that repeats itself to the bit (`pinned`: greedy, the same seeds, the same machine and versions);
    with a flip noise of 1 % an item it fails by luck on 1 − .99^n of the occasions. Raises ValueError where it is not.
    """
    check_counts(n, losses=losses)
    if not pinned:
        raise ValueError("no_item_regression needs decoding that repeats itself to the bit; use a mode with a margin")
    return losses == 0


def rate_noninferiority(wins: int, losses: int, n: int, alpha: float = 0.05, *, by: By = "tango") -> Interval:
    """The one-sided lower bound on the difference of rates, to be compared with −margin (`holds`)."""
    return difference(wins, losses, n, alpha, by=by, sided="lower")


def regression_rate_upper(losses: int, n: int, alpha: float = 0.05) -> Interval:
    """The exact one-sided upper bound on the share of items that flip from pass to fail, compared with the margin."""
    return clopper_pearson.interval(losses, n, alpha, "upper")


def holds(mode: Mode, found: Interval, margin: float) -> bool:
    """Whether bounds of `rate_noninferiority` or `regression_rate_upper` exclude a regression of the margin.

    Raises ValueError for a margin of 0, which would be a claim of superiority, or out of range.
    """
    if not 0 < margin < 1:
        raise ValueError(f"a margin is between 0 and 1, found {margin}; with 0 it would be a test of superiority")
    match mode:
        case "rate_noninferiority":
            return found.lower > -margin
        case "regression_rate_upper":
            return found.upper < margin
        case _:
            raise ValueError(f"{mode} is decided by a count, not by bounds")


def flipped_by_luck(noise: float, n: int) -> float:
    """The chance that at least one of n items flips when each flips by luck with probability `noise`: 1 − (1 − p)^n."""
    if not 0 <= noise <= 1 or n < 1:
        raise ValueError(f"not a design: noise {noise}, {n} items")
    return float(-np.expm1(n * np.log1p(-noise))) if noise < 1 else 1.0


def difference(wins: int, losses: int, n: int, alpha: float, *, by: By = "tango", sided: Sided = "two") -> Interval:
    """The difference of rates, wins − losses of n pairs, with bounds by the method."""
    if by == "tango":
        return tango.interval(wins, losses, n, alpha, sided)
    check_counts(n, wins=wins, losses=losses)
    values = np.repeat([1.0, -1.0, 0.0], [wins, losses, n - wins - losses])
    return paired_hoeffding.interval(values, alpha=alpha, sided=sided)
