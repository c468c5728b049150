"""SDPO over the policy's K likeliest tokens and one bucket for the rest (arXiv 2601.20802).

At every place the KL of the bucketed distributions has the exact gradient Σ_k π_k (D_k − D_rest) ∇log π_k, where
D = log π − log q and the probabilities of the rest are 1 − Σ_k: the gradient of the rest's is minus the sum of theirs.
No sampled token stands for the others, so this has less variance than the token-level rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askfirst.advantages._sdpo import clipped
from askfirst.credit import ALTERNATIVES, TEACHER, Evidence, gaps, settings
from askfirst.errors import PlanError
from askfirst.values import Floats, FrozenMap

NEEDS: frozenset[str] = frozenset({TEACHER, ALTERNATIVES})
DEFAULTS = FrozenMap({"k": 20, "clip": 2.0})  # clip in nats; 0 is none
LEAST = 1e-7  # probability of the rest: single precision tells no less from nothing


def alternatives(params: Mapping[str, Any]) -> int:
    """K, how many of the policy's likeliest tokens the rule looks at. Raises PlanError for none."""
    k = settings(params, DEFAULTS)["k"]
    if k != int(k) or k < 1:
        raise PlanError(f"k must be a whole number of at least 1, found {k}", where="train.advantage_params")
    return int(k)


def advantages(evidence: Evidence, params: Mapping[str, Any]) -> list[Floats]:
    """0 for the sampled token and π_k (A_k − A_rest) for each alternative, A = log q − log π clipped; (n, 1 + K) each.

    Raises ValueError for logprobs that do not fit each other or are not finite, PlanError for a bad parameter.
    """
    clip = settings(params, DEFAULTS)["clip"]
    alternatives(params)
    found = []
    for gap, policy, teacher in zip(gaps(evidence), evidence.policy, evidence.teacher, strict=True):
        rest = clipped(_rest(teacher) - _rest(policy), clip)  # (n, 1)
        weights = np.exp(policy) * (clipped(gap, clip) - rest)
        weights[:, 0] = 0.0
        found.append(weights)
    return found


def _rest(logprobs: Floats) -> Floats:
    """Log probability of everything but the alternatives, shape (n, 1)."""
    rest = 1.0 - np.exp(logprobs[:, 1:]).sum(axis=1, keepdims=True)
    return np.asarray(np.log(np.maximum(rest, LEAST)), dtype=np.float64)
