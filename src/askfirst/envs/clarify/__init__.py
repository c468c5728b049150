"""Ask or act over several turns, where every question has a price: the optimum is known exactly.

A desk gets a request, and the keys, allowed values and prices of the plan that it is to make. It asks the user, whose
answers are simulated, and ends with a plan. What a request leaves open, and what the best reply is, is in
`askfirst.clarify.scenes`; the costs are in `askfirst.clarify.problem`.

Requests, the words for values, prices and two of the families each belong to exactly one split. The allowed values
themselves and the wordings of notes are shared by all.
"""

from __future__ import annotations

from collections.abc import Sequence

from askfirst.clarify.calls import INSTRUCTIONS, NATIVE_INSTRUCTIONS, TOOLS, parse_action
from askfirst.clarify.episode import MAX_TURNS, said_next, spoken
from askfirst.clarify.facts import facts
from askfirst.clarify.oracle import optimal
from askfirst.clarify.tallies import HEADLINES, MEANS, SPREADS, tallies
from askfirst.envs import _prompts
from askfirst.envs.clarify._habits import demonstrations, habits
from askfirst.envs.clarify._scenarios import (
    AMBIGUOUS_SHARE,
    CLEAR_MIX,
    EVALUATION_MIX,
    FAMILIES,
    PAIR_MIX,
    STRATA,
    scenarios,
)
from askfirst.values import Action, Message, Scenario

VERSION = "2"
ORACLE = "utility"  # the reward that judges evaluations, whatever is trained on
SYSTEM_PROMPT = INSTRUCTIONS
__all__ = [
    "AMBIGUOUS_SHARE",
    "CLEAR_MIX",
    "EVALUATION_MIX",
    "FAMILIES",
    "HEADLINES",
    "MAX_TURNS",
    "MEANS",
    "NATIVE_INSTRUCTIONS",
    "PAIR_MIX",
    "SPREADS",
    "STRATA",
    "SYSTEM_PROMPT",
    "TOOLS",
    "VERSION",
    "demonstrations",
    "facts",
    "habits",
    "optimal",
    "parse",
    "scenarios",
    "start",
    "step",
    "system_prompt",
    "tallies",
]


def system_prompt(name: str) -> str:
    """The prompt called `compact`, or the text of `file:PATH`. Raises InputError for anything else or unreadable."""
    return _prompts.system_prompt(name, INSTRUCTIONS)


def start(scenario: Scenario) -> tuple[Message, ...]:
    """What the policy is shown first: the scenario's opening."""
    return scenario.opening


def parse(text: str) -> Action:
    """A reply as an action; Invalid where it is not one call."""
    return parse_action(text)


def step(scenario: Scenario, messages: Sequence[Message]) -> Message | None:
    """The user's answer, or the task again; None where the episode is over. Raises TypeError for a strange scenario."""
    said = said_next(scenario, spoken(messages))
    return None if said is None else Message("user", said)
