"""What every credit rule must satisfy; each function raises PluginError, naming what was found."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from askfirst.errors import PluginError
from askfirst.values import Floats, FrozenMap

# Small groups of rewards as environments give them: on a lattice, skewed, and with a lone success.
GROUPS: tuple[tuple[float, ...], ...] = (
    (0.0, 1.0),
    (1.0, 0.3, 0.0, -0.5),
    (0.0,) * 7 + (1.0,),
    (0.3, 0.3, 1.0, 1.0, 0.0),
)


def check(rule: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> None:
    """Every contract of a group rule, in turn."""
    zero_for_equal_rewards(rule, params)
    mean_zero(rule, params)
    shift_invariant(rule, params)
    keeps_order(rule, params)
    refuses_bad_rewards(rule, params)


def zero_for_equal_rewards(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """Equal rewards give exactly 0, whatever the rounding of their mean."""
    for reward in (0.1, 1.0, -0.5, 1 / 3, 1e9 + 0.1):
        for size in (2, 3, 7, 10):
            found = _apply(rule, np.full(size, reward), params)
            if (found != 0.0).any():
                raise _broken(rule, f"{size} rewards of {reward} give {found.tolist()}, expected exact zeros")


def mean_zero(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """The advantages of a group sum to 0 within 1e-9."""
    for rewards in GROUPS:
        found = _apply(rule, np.array(rewards), params)
        if abs(found.sum()) > 1e-9:
            raise _broken(rule, f"advantages of {rewards} sum to {found.sum()}, expected 0")


def shift_invariant(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """Adding a constant to every reward changes nothing beyond 1e-9."""
    for rewards in GROUPS:
        plain = _apply(rule, np.array(rewards), params)
        moved = _apply(rule, np.array(rewards) + 5.0, params)
        if np.abs(plain - moved).max() > 1e-9:
            raise _broken(rule, f"rewards {rewards} plus 5 give {moved.tolist()}, expected {plain.tolist()}")


def keeps_order(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """A higher reward has a higher advantage, and equal rewards have equal ones."""
    for rewards in GROUPS:
        values = np.array(rewards)
        found = _apply(rule, values, params)
        wanted = np.sign(values[:, None] - values[None, :])
        if (np.sign(found[:, None] - found[None, :]) != wanted).any():
            raise _broken(rule, f"advantages {found.tolist()} are not in the order of rewards {rewards}")


def refuses_bad_rewards(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """NaN, infinity, one reward or none raise ValueError."""
    for rewards in ((0.0, float("nan")), (0.0, float("inf")), (1.0,), ()):
        try:
            found = rule.advantages(np.array(rewards, dtype=np.float64), params)
        except ValueError:
            continue
        raise _broken(rule, f"rewards {rewards} give {found}, expected a ValueError")


def _apply(rule: ModuleType, rewards: Floats, params: Mapping[str, Any]) -> Floats:
    found = np.asarray(rule.advantages(rewards.copy(), params), dtype=np.float64)
    if found.shape != rewards.shape or not np.isfinite(found).all():
        raise _broken(rule, f"rewards {rewards.tolist()} give {found.tolist()}, expected as many finite numbers")
    return found


def _broken(rule: ModuleType, message: str) -> PluginError:
    return PluginError(message, where=rule.__name__)
