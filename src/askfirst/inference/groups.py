"""What a pilot's pass rate says of the groups to come."""

from __future__ import annotations


def informative_fraction(pass_rate: float, group_size: int) -> float:
    """The expected share of groups whose pass-or-fail rewards differ: 1 − p^G − (1 − p)^G.

    Raises ValueError for a rate outside [0, 1] and for groups of fewer than two.
    """
    if not 0 <= pass_rate <= 1 or group_size < 2:
        raise ValueError(f"a rate lies in [0, 1] and a group has two or more; found {pass_rate}, {group_size}")
    return float(1 - pass_rate**group_size - (1 - pass_rate) ** group_size)
