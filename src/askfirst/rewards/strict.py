"""The published strict scorer, for comparison with published numbers.

It can be gamed (a question spoken by nobody, a refusal that answers, an act with any arguments); `slots` is the
reward to train on. Its attacks below are those it does hold against.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.rewards._protocol import checked, pass_or_fail
from askfirst.rewards._published import expected, intent_of, judge
from askfirst.rewards._published_cases import LEGITIMATE, attacks
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

__all__ = ["ATTACKS", "BOUNDS", "DEFAULTS", "HONEST", "VERSION", "intent_of", "score"]

VERSION = 1
BOUNDS = (0.0, 1.0)
DEFAULTS: FrozenMap = FrozenMap()
ATTACKS = attacks(strict=True)
HONEST = LEGITIMATE


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """1 where the published strict scorer passes the last reply, else 0 with its reasons as codes.

    Raises RewardFault for unknown params and for a scenario without a truth of this protocol.
    """
    checked(params, DEFAULTS)
    return pass_or_fail(judge(trajectory.reply, expected(scenario), strict=True), f"strict@{VERSION}")
