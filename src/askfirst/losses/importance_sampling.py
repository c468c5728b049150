"""Importance-weighted policy gradient, unclipped: −ρA with ρ = π / sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askfirst.losses._ratio import ratios, settings, spread
from askfirst.values import Floats, FrozenMap, Row

NEEDS: frozenset[str] = frozenset()
DEFAULTS = FrozenMap()


def loss(row: Row, policy_logprobs: Floats, scale: float, params: Mapping[str, Any]) -> tuple[float, Floats]:
    """scale · Σ −ρA to minimise, and its derivative by the policy logprobs, shape (T,), 0 off the mask.

    Raises ValueError for non-finite values on the mask, PlanError for a parameter.
    """
    settings(params, DEFAULTS)
    terms = -scale * ratios(row, policy_logprobs) * row.advantages[row.mask]  # (M,); d ρ / d logprob = ρ
    return float(terms.sum()), spread(row, terms)


def clipped(row: Row, policy_logprobs: Floats, params: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Tokens whose gradient a clip removed, shape (T,): none, this loss has no clip."""
    settings(params, DEFAULTS)
    return np.zeros(row.mask.shape, dtype=np.bool_)
