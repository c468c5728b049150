"""Several tests at once: Holm's adjustment (1979)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given: max over j ≤ i of (m − j + 1)·p_(j) by rank, at most 1.

    Raises ValueError for none, and for what is not a probability.
    """
    if not p_values or not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"p-values lie in [0, 1] and there is at least one; found {list(p_values)}")
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, (len(p_values) - rank) * p_values[at])
        adjusted[at] = min(1.0, highest)
    return adjusted
