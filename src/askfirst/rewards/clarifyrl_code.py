"""The published ClarifyRL reward as its code has it, for comparison with published numbers. Do not train on it.

It pays for asking as such, takes no notice of what is answered, and does not know that a request can say all that is
needed (docs/clarify.md, "The published rewards"). With `as_trained` it is what its trainer was given: the reward of
the last step, which has replaced all earlier ones, with a bonus for having submitted a plan or a penalty for not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.cases import Case
from askfirst.clarify.clarifyrl import CODE, GATE, NEVER_SUBMITTED, OVER_CAP, SUBMITTED
from askfirst.clarify.clarifyrl_play import played
from askfirst.clarify.exploits import EXPLOITS, PROPER, Exploit
from askfirst.clarify.problem import hidden_of
from askfirst.errors import RewardFault
from askfirst.rewards._protocol import checked
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

VERSION = 1
ENV = "clarify"  # whose scenarios it judges
BOUNDS = (OVER_CAP + NEVER_SUBMITTED, 1.0 + SUBMITTED)
DEFAULTS = FrozenMap({"as_trained": False})


def cases(params: Mapping[str, Any]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """The attacks and the honest cases; what it pays for an exploit is the cap: recorded, not held against it."""
    trained = _as_trained(params)

    def bounded(each: Exploit) -> Case:
        bound = each.as_trained if trained else each.code
        return Case(each.name, each.family, each.scenario, each.said, bound, each.why, ENV)

    return tuple(map(bounded, EXPLOITS)), tuple(map(bounded, PROPER))


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """The score of the episode's plan, 0 without one; it passes where the published evaluation counts it as completed.

    Raises RewardFault for unusable params and for a scenario that is not of `clarify`.
    """
    as_trained = _as_trained(params)
    try:
        hidden = hidden_of(scenario)
    except TypeError as error:
        raise RewardFault(f"expected the truth of clarify: {error}", where=f"scenario {scenario.id}") from error
    episode = played(hidden, scenario, trajectory)
    parts = episode.parts
    completed = parts is not None and parts.format >= GATE
    terms = parts.weighed(CODE) if parts is not None and completed else dict.fromkeys(CODE, 0.0)
    if as_trained:
        terms["last_step"] = episode.steps[-1].reward - sum(terms.values()) if episode.steps else 0.0
        terms["submitted"] = NEVER_SUBMITTED if parts is None else SUBMITTED
    failures = () if completed else ("no_plan" if parts is None else "format",)
    return Score(sum(terms.values()), FrozenMap(terms), completed, failures, f"clarifyrl_code@{VERSION}")


def _as_trained(params: Mapping[str, Any]) -> bool:
    chosen = checked(params, DEFAULTS)["as_trained"]
    if not isinstance(chosen, bool):
        raise RewardFault(f"expected as_trained to be true or false, found {chosen!r}", where="reward params")
    return chosen


ATTACKS, HONEST = cases(DEFAULTS)
