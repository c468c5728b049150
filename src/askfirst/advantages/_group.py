"""What the group rules share: checked inputs and rewards centred on a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askfirst.errors import PlanError
from askfirst.values import Floats


def centred(rewards: Floats) -> Floats:
    """Rewards minus their mean, shape (G,); exactly 0 where all are equal.

    Equality is tested on the rewards themselves: the mean of equal floats can differ from them in the last bit.
    Raises ValueError for a group of fewer than two, another shape, or a reward that is not finite.
    """
    if rewards.ndim != 1:
        raise ValueError(f"rewards have shape {rewards.shape}, expected (G,)")
    if len(rewards) < 2:
        raise ValueError(f"a group of {len(rewards)} has no baseline; use a group size of at least 2")
    if not np.isfinite(rewards).all():
        raise ValueError(f"rewards must be finite, found {rewards.tolist()}")
    if (rewards == rewards[0]).all():
        return np.zeros(len(rewards))  # (G,)
    return np.asarray(rewards - rewards.mean(), dtype=np.float64)


def settings(params: Mapping[str, Any], defaults: Mapping[str, float]) -> dict[str, float]:
    """Defaults overlaid with `params`. Raises PlanError for a name that the rule does not know."""
    unknown = sorted(set(params) - set(defaults))
    if unknown:
        raise PlanError(f"unknown advantage parameters {unknown}", hint=f"known: {sorted(defaults) or 'none'}")
    return {**defaults, **params}
