"""What a credit rule sees of a group, and what it may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askfirst.errors import PlanError
from askfirst.values import Floats

REWARDS, TEACHER, ALTERNATIVES = "rewards", "teacher", "alternatives"  # what a rule's NEEDS may name


@dataclass(frozen=True, slots=True)
class Evidence:
    """A group of G rollouts. `policy` and `teacher` hold, for each, logprobs in nats of shape (n, 1 + K).

    n is the number of sampled tokens; column 0 is the sampled token's, the others are those of the K tokens that the
    policy found likeliest there, K = 0 unless the rule NEEDS alternatives. Both are the trainer's, none the sampler's.
    They are empty where the rule needs no teacher. Of a rollout for which the teacher has seen nothing more than the
    policy, both are one array.
    """

    rewards: Floats
    policy: tuple[Floats, ...] = ()
    teacher: tuple[Floats, ...] = ()


# What a rule returns: one number for each rollout, shape (G,), or a list of G arrays, each of the shape (n,) or, with a
# weight for every alternative, (n, 1 + K).
Advantages = Floats | list[Floats]


def gaps(evidence: Evidence) -> list[Floats]:
    """log teacher − log policy in nats of each rollout, shapes (n, 1 + K).

    Raises ValueError where the two are not of the same tokens, and for a logprob that is not finite.
    """
    if len(evidence.policy) != len(evidence.rewards) or len(evidence.teacher) != len(evidence.rewards):
        raise ValueError(f"{len(evidence.rewards)} rollouts, {len(evidence.teacher)} of them scored by a teacher")
    found = []
    for policy, teacher in zip(evidence.policy, evidence.teacher, strict=True):
        if policy.shape != teacher.shape or policy.ndim != 2 or not policy.shape[1]:
            raise ValueError(f"logprobs of shapes {policy.shape} and {teacher.shape} are not of the same tokens")
        if not (np.isfinite(policy).all() and np.isfinite(teacher).all()):
            raise ValueError("logprobs of policy and teacher must be finite")
        found.append(np.asarray(teacher - policy, dtype=np.float64))
    return found


def settings(params: Mapping[str, Any], defaults: Mapping[str, float]) -> dict[str, float]:
    """Defaults overlaid with `params`. Raises PlanError for a name that the rule does not know."""
    unknown = sorted(set(params) - set(defaults))
    if unknown:
        raise PlanError(f"unknown advantage parameters {unknown}", hint=f"known: {sorted(defaults) or 'none'}")
    return {**defaults, **params}
