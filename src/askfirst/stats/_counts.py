"""What the interval methods share: the sides of an interval and checked counts."""

from __future__ import annotations

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
