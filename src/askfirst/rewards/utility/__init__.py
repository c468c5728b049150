"""What an episode of `clarify` is worth: 1 for every optimal one, 0 for doing nothing, less for harm.

The total is 1 less the regret, in units of what the optimum saves over doing nothing, and never under -1. Regret counts
chances and not luck (`askfirst.clarify.judge`): a guess that happens to be right earns what guesses earn. Asking as
such earns nothing; what it is worth is what the plan gets better by. An episode passes where it has no regret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.clarify.episode import recorded
from askfirst.clarify.judge import judge
from askfirst.clarify.optimum import CLOSE
from askfirst.clarify.problem import Hidden, hidden_of
from askfirst.errors import RewardFault
from askfirst.rewards._protocol import checked
from askfirst.rewards.utility._cases import ATTACKS, HONEST
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

__all__ = ["ATTACKS", "BOUNDS", "CAPS", "DEFAULTS", "ENV", "HONEST", "VERSION", "score"]

VERSION = 1
ENV = "clarify"  # whose scenarios it judges
BOUNDS = (-1.0, 1.0)
DEFAULTS: FrozenMap = FrozenMap()
# The most that each habit of the environment may earn on average, over 240 scenarios of the default mix of any split;
# none may pass anything that is ambiguous.
CAPS = FrozenMap(
    {
        "guess": 0.5,
        "never ask": 0.7,
        "ask for everything": 0.6,
        "ask and ignore the answers": -0.9,
        "ask and never act": -0.5,
        "first values": -0.5,
        "first values as assumptions": -0.3,
        "propose nothing": 0.0,
        "refuse everything": 0.1,
        "read the task": 0.0,
        "say nothing": 0.0,
    }
)


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """The worth of an episode; its failures are codes of what was asked, planned or left undone.

    Terms: `start` is what there is to save, and each kind of cost is taken off it. Raises RewardFault for unknown
    params and for a scenario that is not of `clarify`.
    """
    checked(params, DEFAULTS)
    verdict = judge(_truth_of(scenario), recorded(scenario, trajectory))
    terms = {
        "start": verdict.nothing / verdict.scale,
        "questions": -verdict.questions / verdict.scale,
        "doubt": -verdict.doubt / verdict.scale,
        "plan": -verdict.wrong / verdict.scale,
        "clutter": -verdict.clutter / verdict.scale,
    }
    raw = sum(terms.values())
    total = min(1.0, max(BOUNDS[0], raw))
    # Costs tell whether it passes and codes tell why not: where a code lacks, the self-test finds a fail without one.
    passed = verdict.regret <= CLOSE
    return Score(total, FrozenMap({**terms, "bound": total - raw}), passed, verdict.failures, f"utility@{VERSION}")


def _truth_of(scenario: Scenario) -> Hidden:
    try:
        return hidden_of(scenario)
    except TypeError as error:
        raise RewardFault(
            f"expected the truth of clarify, found hidden fields {sorted(scenario.hidden)}",
            where=f"scenario {scenario.id}",
            hint="use a reward that belongs to the environment",
        ) from error
