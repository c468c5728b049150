"""What the self-distillation rules share: the clipped gap between teacher and policy.

The objective is Σ_t KL(π(·|x, y_<t) ‖ q(·|x, f, y_<t)), q the teacher, which has also seen the feedback f and is held
still. Its gradient is E[Σ_t (log π − log q) ∇log π], that of a policy gradient with the advantage log q − log π
(Hübotter et al. 2026, arXiv 2601.20802).
"""

from __future__ import annotations

import numpy as np

from askfirst.errors import PlanError
from askfirst.values import Floats


def clipped(gap: Floats, clip: float) -> Floats:
    """The gap in nats held within ±clip, of the same shape; a clip of 0 is none. Raises PlanError for one below 0."""
    if not clip >= 0:
        raise PlanError(f"clip must be at least 0, found {clip}", where="train.advantage_params")
    return np.clip(gap, -clip, clip) if clip else gap
