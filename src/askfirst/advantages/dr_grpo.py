"""Dr. GRPO: rewards minus the group mean, without a division by the spread (Liu et al. 2025, arXiv 2503.20783)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.advantages._group import centred
from askfirst.credit import REWARDS, Evidence, settings
from askfirst.values import Floats, FrozenMap

NEEDS: frozenset[str] = frozenset({REWARDS})
DEFAULTS = FrozenMap()


def advantages(evidence: Evidence, params: Mapping[str, Any]) -> Floats:
    """r − mean, shape (G,). Raises ValueError for fewer than two or non-finite rewards, PlanError for a parameter."""
    settings(params, DEFAULTS)
    return centred(evidence.rewards)
