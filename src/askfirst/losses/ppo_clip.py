"""The clipped surrogate of PPO (Schulman et al. 2017, arXiv 1707.06347), with an optional dual clip.

Dual clip (Ye et al. 2019, arXiv 1912.09729): for A < 0 the surrogate is not let below c·A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askfirst.errors import PlanError
from askfirst.losses._ratio import ratios, settings, spread
from askfirst.values import Floats, FrozenMap, Row

NEEDS: frozenset[str] = frozenset()
DEFAULTS = FrozenMap({"clip_low": 0.2, "clip_high": 0.2, "dual_clip": 0.0})  # dual_clip 0 is off


def loss(row: Row, policy_logprobs: Floats, scale: float, params: Mapping[str, Any]) -> tuple[float, Floats]:
    """scale · Σ −min(ρA, clip(ρ, 1 − low, 1 + high)A), and its derivative by the policy logprobs, shape (T,).

    The derivative is 0 off the mask and on clipped tokens. Raises ValueError for non-finite values on the mask,
    PlanError for a bad parameter.
    """
    ratio = ratios(row, policy_logprobs)
    advantage = row.advantages[row.mask]  # (M,)
    surrogate, cut = _surrogate(ratio, advantage, params)
    slope = np.where(cut, 0.0, -scale * ratio * advantage)
    return float((-scale * surrogate).sum()), spread(row, slope)


def clipped(row: Row, policy_logprobs: Floats, params: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Tokens whose gradient the clip removed, shape (T,)."""
    cut = _surrogate(ratios(row, policy_logprobs), row.advantages[row.mask], params)[1]
    return spread(row, cut.astype(np.float64)) > 0


def _surrogate(ratio: Floats, advantage: Floats, params: Mapping[str, Any]) -> tuple[Floats, NDArray[np.bool_]]:
    chosen = settings(params, DEFAULTS)
    low, high, dual = chosen["clip_low"], chosen["clip_high"], chosen["dual_clip"]
    if not (0 <= low <= 1 and high >= 0 and (dual == 0 or dual > 1)):
        raise PlanError(
            f"clip_low {low} must be in [0, 1], clip_high {high} at least 0, dual_clip {dual} 0 or above 1",
            where="losses.ppo_clip",
        )
    free = ratio * advantage
    surrogate = np.minimum(free, np.clip(ratio, 1 - low, 1 + high) * advantage)
    if dual:
        surrogate = np.where(advantage < 0, np.maximum(surrogate, dual * advantage), surrogate)
    return surrogate, surrogate != free
