"""Another reward with partial credit for the right intent and a penalty for asking when all was said.

| reply | reward |
|---|---|
| passes the base reward | 1 |
| right intent, but fails the base reward | `partial`, annealed to 0 over `anneal_steps` |
| wrong intent, or not a reply | 0 |
| clarify where the scenario is not ambiguous | −`penalty`, before all other rows |

Source of the table: the requirements of GRPO-Clarify v1, GC-08 to GC-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.cases import Case
from askfirst.errors import RewardFault
from askfirst.rewards._protocol import checked, truth_of
from askfirst.rewards._shaped_cases import FLOORS, ROWS
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

VERSION = 1
BOUNDS = (-0.5, 1.0)
DEFAULTS = FrozenMap({"base": "slots", "partial": 0.3, "penalty": 0.5, "anneal_steps": 0})
NO_PARAMS = FrozenMap()


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """The row of the table above that the last reply falls in; `passed` and `failures` are those of the base.

    Raises RewardFault for unusable params and for a scenario without a truth of this protocol.
    """
    chosen = _chosen(params)
    base = _base(chosen["base"])
    inner: Score = base.score(scenario, trajectory, NO_PARAMS)
    stated = base.intent_of(trajectory.reply)
    asks_too_much = stated == "clarify" and not scenario.ambiguous
    right_intent = stated == truth_of(scenario).intent
    terms = {
        "pass": float(inner.passed and not asks_too_much),
        "partial": chosen["partial"] if right_intent and not inner.passed and not asks_too_much else 0.0,
        "over_asking": -chosen["penalty"] if asks_too_much else 0.0,
    }
    total = terms["pass"] + terms["partial"] + terms["over_asking"]
    return Score(total, FrozenMap(terms), inner.passed, inner.failures, f"shaped@{VERSION}({inner.reward})")


def at_step(params: Mapping[str, Any], step: int) -> FrozenMap:
    """The params at an optimiser step: `partial` falls linearly to 0 at `anneal_steps`; 0 keeps it constant."""
    chosen = _chosen(params)
    left = max(0.0, 1.0 - step / chosen["anneal_steps"]) if chosen["anneal_steps"] else 1.0
    return FrozenMap({**chosen, "partial": chosen["partial"] * left})


def intent_of(reply: str) -> str:
    """The intent that a reply states, as the default base reads it; empty where there is none."""
    return str(_base(DEFAULTS["base"]).intent_of(reply))


def cases(params: Mapping[str, Any]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """The attacks and the honest cases with the bounds that the params mean."""
    chosen = _chosen(params)
    bounds = {"full": 1.0, "partial": chosen["partial"], "nothing": 0.0, "over_asking": -chosen["penalty"]}
    attacks, honest = ([replace(case, bound=bounds[row]) for row, case in rows] for rows in (ROWS, FLOORS))
    return tuple(attacks), tuple(honest)


def law_exceptions(params: Mapping[str, Any]) -> Mapping[str, str]:
    """The laws that the base does not keep, with its reasons."""
    found: Mapping[str, str] = getattr(_base(_chosen(params)["base"]), "LAW_EXCEPTIONS", NO_PARAMS)
    return found


def _chosen(params: Mapping[str, Any]) -> dict[str, Any]:
    chosen = checked(params, DEFAULTS)
    for name, low, high in (("partial", 0.0, 1.0), ("penalty", 0.0, -BOUNDS[0]), ("anneal_steps", 0, float("inf"))):
        value = chosen[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise RewardFault(f"expected {name} between {low} and {high}, found {value!r}", where="reward params")
    return chosen


@lru_cache(maxsize=8)
def _base(name: str) -> ModuleType:
    module = plugins.load("rewards", name)
    if not hasattr(module, "intent_of"):
        raise RewardFault(
            f"the reward {name!r} cannot be shaped: it does not define intent_of(reply)",
            where="reward params: base",
            hint="define intent_of(reply: str) -> str, the intent that a reply states",
        )
    if hasattr(module, "at_step"):
        raise RewardFault(f"the reward {name!r} is shaped itself", where="reward params: base")
    return module


ATTACKS, HONEST = cases(DEFAULTS)
