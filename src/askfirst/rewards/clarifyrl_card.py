"""The published ClarifyRL reward as its model card states it: 0.6 correctness + 0.2 efficiency + 0.2 format.

Nothing of that kind runs in the published environment (`clarifyrl_code` is what does), and the card defines none of the
three. Here correctness is the weighted share of right fields, and efficiency and format are those of the code. Do not
train on it: a plan of nonsense that asks nothing earns 0.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.cases import Case
from askfirst.clarify.clarifyrl import CARD, GATE
from askfirst.clarify.clarifyrl_play import played
from askfirst.clarify.exploits import EXPLOITS, PROPER
from askfirst.clarify.problem import hidden_of
from askfirst.errors import RewardFault
from askfirst.rewards._protocol import checked
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

VERSION = 1
ENV = "clarify"  # whose scenarios it judges
BOUNDS = (0.0, 1.0)
DEFAULTS: FrozenMap = FrozenMap()
# What it pays for an exploit is the cap: it is recorded here, not held against it.
ATTACKS = tuple(Case(e.name, e.family, e.scenario, e.said, e.card, e.why, ENV) for e in EXPLOITS)
HONEST = tuple(Case(e.name, e.family, e.scenario, e.said, e.card, e.why, ENV) for e in PROPER)


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """The card's sum for the episode's plan, 0 without one; it passes where the plan has all required keys.

    Raises RewardFault for unknown params and for a scenario that is not of `clarify`.
    """
    checked(params, DEFAULTS)
    try:
        hidden = hidden_of(scenario)
    except TypeError as error:
        raise RewardFault(f"expected the truth of clarify: {error}", where=f"scenario {scenario.id}") from error
    parts = played(hidden, scenario, trajectory).parts
    terms = dict.fromkeys(CARD, 0.0) if parts is None else parts.weighed(CARD)
    completed = parts is not None and parts.format >= GATE
    failures = () if completed else ("no_plan" if parts is None else "format",)
    return Score(sum(terms.values()), FrozenMap(terms), completed, failures, f"clarifyrl_card@{VERSION}")
