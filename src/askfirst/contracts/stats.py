"""What every decision method must satisfy; each function raises PluginError, naming what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np

from askfirst.errors import PluginError
from askfirst.store import generator
from askfirst.values import Interval


def ordered(found: Interval) -> None:
    """Bounds are finite and enclose the estimate, and the method is named."""
    numbers = (found.lower, found.estimate, found.upper)
    if not all(np.isfinite(numbers)) or not found.lower <= found.estimate <= found.upper or not found.method:
        raise PluginError(f"not an interval around its estimate: {found}")


def refuses(method: ModuleType, calls: Sequence[Mapping[str, Any]]) -> None:
    """Each set of arguments, impossible by construction, makes `interval` raise ValueError."""
    for arguments in calls:
        try:
            found = method.interval(**arguments)
        except ValueError:
            continue
        raise PluginError(f"interval({dict(arguments)}) gives {found}, expected a ValueError", where=method.__name__)


def covers(draw: Callable[[np.random.Generator], Interval], truth: float, repeats: int, seed: int) -> float:
    """The share of `repeats` simulated intervals that hold the truth.

    Raises PluginError where it is more than three standard errors below 1 − alpha, ValueError for no repeats.
    """
    if repeats < 1:
        raise ValueError("coverage of no simulations has no meaning")
    source = generator("contract", "coverage", seed)
    intervals = [draw(source) for _ in range(repeats)]
    for found in intervals:
        ordered(found)
    alpha = intervals[0].alpha
    share = sum(found.lower <= truth <= found.upper for found in intervals) / repeats
    if share < 1 - alpha - 3 * sqrt(alpha * (1 - alpha) / repeats):
        raise PluginError(f"{intervals[0].method} covers {truth} in {share:.3f} of {repeats} draws at alpha {alpha}")
    return share
