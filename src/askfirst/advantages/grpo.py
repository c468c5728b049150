"""GRPO: rewards standardised within the group (Shao et al. 2024, arXiv 2402.03300)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.advantages._group import standardised
from askfirst.credit import REWARDS, Evidence, settings
from askfirst.values import Floats, FrozenMap

NEEDS: frozenset[str] = frozenset({REWARDS})
DEFAULTS = FrozenMap({"eps": 1e-4})


def advantages(evidence: Evidence, params: Mapping[str, Any]) -> Floats:
    """(r − mean) / (std + eps) with the sample (n − 1) std, shape (G,); exactly 0 for equal rewards.

    Raises ValueError for fewer than two or non-finite rewards, PlanError for a bad parameter.
    """
    return standardised(evidence.rewards, settings(params, DEFAULTS)["eps"])
