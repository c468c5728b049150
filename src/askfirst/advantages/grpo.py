"""GRPO: rewards standardised within the group (Shao et al. 2024, arXiv 2402.03300)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askfirst.advantages._group import centred, settings
from askfirst.errors import PlanError
from askfirst.values import Floats, FrozenMap

NEEDS: frozenset[str] = frozenset()
DEFAULTS = FrozenMap({"eps": 1e-4})


def advantages(rewards: Floats, params: Mapping[str, Any]) -> Floats:
    """(r − mean) / (std + eps) with the sample (n − 1) std, shape (G,); exactly 0 for equal rewards.

    Raises ValueError for fewer than two or non-finite rewards, PlanError for a bad parameter.
    """
    eps = settings(params, DEFAULTS)["eps"]
    if not eps > 0:
        raise PlanError(f"eps must be above 0, found {eps}", where="advantages.grpo")
    offsets = centred(rewards)
    return np.asarray(offsets / (offsets.std(ddof=1) + eps), dtype=np.float64)
