"""What the interval methods share: the sides of an interval and checked counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Sided = Literal["two", "lower", "upper"]


def tails(alpha: float, sided: Sided) -> tuple[float, float]:
    """The error left to the lower and to the upper bound; 0 where there is no such bound. Raises ValueError."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, found {alpha}")
    match sided:
        case "two":
            return alpha / 2, alpha / 2
        case "lower":
            return alpha, 0.0
        case "upper":
            return 0.0, alpha
    raise ValueError(f"sided must be two, lower or upper, found {sided!r}")


def check_counts(n: int, **counts: int) -> None:
    """Raises ValueError unless n is at least 1 and the counts are whole, not negative and at most n together."""
    values = {"n": n, **counts}
    for name, value in values.items():
        if isinstance(value, bool) or int(value) != value or value < 0:
            raise ValueError(f"{name} must be a whole number of items, found {value!r}")
    if n == 0:
        raise ValueError("no items: an interval of nothing has no meaning")
    if sum(counts.values()) > n:
        raise ValueError(f"{counts} is more than n = {n}")


def least_difference(
    power: Callable[[float, float], float], discordance: float, wanted: float, low: float
) -> float | None:
    """The smallest true difference (to 1e-6), `low` at the least, with `power(win_rate, loss_rate)` of what is wanted.

    Power must grow with the difference. None where not even a difference equal to the discordance is enough.

    `discordance` is the share of items on which the two differ. Raises ValueError for shares outside (0, 1].
    """
    if not 0 < discordance <= 1 or not 0 < wanted < 1:
        raise ValueError(f"discordance {discordance} and wanted power {wanted} must be between 0 and 1")

    def holds(difference: float) -> bool:
        return power((discordance + difference) / 2, (discordance - difference) / 2) >= wanted

    high = discordance
    if not holds(high):
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
