"""The published reward of retail tasks: 1 where the database is as it should be and every output was said, else 0.

It does not look at what lies between: who writes without finding out who the user is, without asking and without a yes
earns as much (`askfirst.retail.published` names its quirks). It is here to compare with; `retail` is to train on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.retail.episode import OVERFLOW, PARSE_ERROR, TURNS, UNFINISHED, recorded
from askfirst.retail.task import truth_of
from askfirst.rewards._protocol import checked, pass_or_fail
from askfirst.rewards.retail_published._cases import ATTACKS, HONEST
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

__all__ = ["ATTACKS", "BOUNDS", "DEFAULTS", "ENV", "HONEST", "VERSION", "score"]

VERSION = 1
ENV = "retail"
BOUNDS = (0.0, 1.0)
DEFAULTS: FrozenMap = FrozenMap()


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """1 or 0. Raises RewardFault for unknown params and for a scenario that is not of `retail`."""
    checked(params, DEFAULTS)
    truth_of(scenario)
    record = recorded(scenario, trajectory)
    why = record.ending if record.ending in (PARSE_ERROR, OVERFLOW, TURNS, UNFINISHED) else "other_outcome"
    return pass_or_fail(() if record.paid else (why,), f"retail_published@{VERSION}")
