"""Token-level SDPO: how much likelier the teacher finds each sampled token than the policy did (arXiv 2601.20802)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.advantages._sdpo import clipped
from askfirst.credit import TEACHER, Evidence, gaps, settings
from askfirst.values import Floats, FrozenMap

NEEDS: frozenset[str] = frozenset({TEACHER})
DEFAULTS = FrozenMap({"clip": 2.0})  # nats; 0 is none


def advantages(evidence: Evidence, params: Mapping[str, Any]) -> list[Floats]:
    """log q − log π of each rollout's sampled tokens, clipped, shapes (n,); exactly 0 where the two are equal.

    Raises ValueError for logprobs that do not fit each other or are not finite, PlanError for a bad parameter.
    """
    clip = settings(params, DEFAULTS)["clip"]
    return [clipped(gap[:, 0], clip) for gap in gaps(evidence)]
