"""RLOO: each reward minus the mean of the others (Kool et al. 2019; Ahmadian et al. 2024, arXiv 2402.14740)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.advantages._group import centred
from askfirst.credit import REWARDS, Evidence, settings
from askfirst.values import Floats, FrozenMap

NEEDS: frozenset[str] = frozenset({REWARDS})
DEFAULTS = FrozenMap()


def advantages(evidence: Evidence, params: Mapping[str, Any]) -> Floats:
    """r_i − mean_{j≠i} r_j = G/(G − 1) · (r_i − mean), shape (G,).

    Raises ValueError for fewer than two or non-finite rewards, PlanError for a parameter.
    """
    settings(params, DEFAULTS)
    size = len(evidence.rewards)
    return centred(evidence.rewards) * (size / (size - 1))
