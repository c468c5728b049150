"""λ · GRPO + (1 − λ) · token-level SDPO: the group's rewards and the teacher's word together (arXiv 2601.20802)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.advantages._group import standardised
from askfirst.advantages._sdpo import clipped
from askfirst.credit import REWARDS, TEACHER, Evidence, gaps, settings
from askfirst.errors import PlanError
from askfirst.values import Floats, FrozenMap

NEEDS: frozenset[str] = frozenset({REWARDS, TEACHER})
DEFAULTS = FrozenMap({"weight": 0.9, "clip": 2.0, "eps": 1e-4})  # weight is λ


def advantages(evidence: Evidence, params: Mapping[str, Any]) -> list[Floats]:
    """λ (r − mean) / (std + eps) + (1 − λ) clip(log q − log π) at each rollout's sampled tokens, shapes (n,).

    Raises ValueError for rewards or logprobs that do not fit each other or are not finite, PlanError for a bad
    parameter.
    """
    chosen = settings(params, DEFAULTS)
    weight = chosen["weight"]
    if not 0.0 <= weight <= 1.0:
        raise PlanError(f"weight must lie in [0, 1], found {weight}", where="train.advantage_params")
    group = standardised(evidence.rewards, chosen["eps"])
    taught = [clipped(gap[:, 0], chosen["clip"]) for gap in gaps(evidence)]
    return [weight * reward + (1.0 - weight) * own for reward, own in zip(group, taught, strict=True)]
