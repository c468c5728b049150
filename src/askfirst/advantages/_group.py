"""What the group rules share: checked inputs, rewards centred on a baseline, and their standardised form."""

from __future__ import annotations

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


def standardised(rewards: Floats, eps: float) -> Floats:
    """(r − mean) / (std + eps) with the sample (n − 1) std, shape (G,); exactly 0 for equal rewards.

    Raises ValueError as `centred`, PlanError for an eps that is not above 0.
    """
    if not eps > 0:
        raise PlanError(f"eps must be above 0, found {eps}", where="train.advantage_params")
    offsets = centred(rewards)
    return np.asarray(offsets / (offsets.std(ddof=1) + eps), dtype=np.float64)
