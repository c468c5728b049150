"""What the losses share: checked inputs and the ratio of policy to sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askfirst.errors import PlanError
from askfirst.values import Floats, Row


def ratios(row: Row, policy_logprobs: Floats) -> Floats:
    """exp(policy − sampler) at the masked tokens, shape (M,).

    Raises ValueError when lengths differ, or when a masked value or its ratio is not finite.
    """
    if policy_logprobs.shape != row.mask.shape or row.sampler_logprobs.shape != row.mask.shape:
        raise ValueError(
            f"logprobs of shapes {policy_logprobs.shape} and {row.sampler_logprobs.shape} "
            f"do not fit a mask of shape {row.mask.shape}"
        )
    gap = policy_logprobs[row.mask] - row.sampler_logprobs[row.mask]  # (M,)
    if not np.isfinite(gap).all() or not np.isfinite(row.advantages[row.mask]).all():
        raise ValueError("logprobs and advantages on the mask must be finite")
    if gap.size and gap.max() > 700.0:
        raise ValueError(f"the policy is exp({gap.max():.0f}) times likelier than its sampler on a sampled token")
    return np.asarray(np.exp(gap), dtype=np.float64)


def spread(row: Row, values: Floats) -> Floats:
    """Values (M,) at the masked tokens put back into the row, shape (T,); exactly 0 elsewhere."""
    full = np.zeros(row.mask.shape)  # (T,)
    full[row.mask] = values
    return full


def settings(params: Mapping[str, Any], defaults: Mapping[str, float]) -> dict[str, float]:
    """Defaults overlaid with `params`. Raises PlanError for a name that the loss does not know."""
    unknown = sorted(set(params) - set(defaults))
    if unknown:
        raise PlanError(f"unknown loss parameters {unknown}", hint=f"known: {sorted(defaults) or 'none'}")
    return {**defaults, **params}
