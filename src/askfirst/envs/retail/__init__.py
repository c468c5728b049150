"""Serving the customers of a shop: a database, its tools, a policy for agents, and a user to ask.

The agent finds out who the user is, looks up what it can, asks for what only the user knows, has each change confirmed
and makes it. What a customer wants is drawn from a seed (`askfirst.retail.generated`); what an episode proves is judged
by `askfirst.retail.evidence`, and the published reward of such tasks stands beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from askfirst.envs import _prompts
from askfirst.envs.retail import _others
from askfirst.envs.retail._habits import demonstrations, habits
from askfirst.envs.retail._scenarios import CLEAR_MIX, EVALUATION_MIX, FAMILIES, PAIR_MIX, STRATA, scenarios
from askfirst.retail.calls import FORM, FULL_INSTRUCTIONS, INSTRUCTIONS, NATIVE_INSTRUCTIONS, TOOLS, parse_action
from askfirst.retail.episode import said_next
from askfirst.retail.facts import HEADLINES, MEANS, facts, tallies
from askfirst.retail.simulated import SimulatedUser
from askfirst.retail.task import MAX_TURNS
from askfirst.values import Action, Message, Scenario

VERSION = "1"
ORACLE = "retail"  # the reward that judges evaluations, whatever is trained on
SECRET = ("answers",)  # of what a scenario hides, what the user alone tells; tools show the rest
SYSTEM_PROMPT = INSTRUCTIONS
__all__ = [
    "CLEAR_MIX",
    "EVALUATION_MIX",
    "FAMILIES",
    "HEADLINES",
    "MAX_TURNS",
    "MEANS",
    "NATIVE_INSTRUCTIONS",
    "ORACLE",
    "PAIR_MIX",
    "SECRET",
    "STRATA",
    "SYSTEM_PROMPT",
    "TOOLS",
    "VERSION",
    "demonstrations",
    "facts",
    "habits",
    "of_families",
    "of_folder",
    "parse",
    "scenarios",
    "start",
    "step",
    "system_prompt",
    "tallies",
    "with_user",
]


def of_folder(folder: Path) -> ModuleType:
    """This environment with the published tasks of a folder. Raises InputError."""
    return _others.of_folder(sys.modules[__name__], folder)


def of_families(names: Sequence[str]) -> ModuleType:
    """This environment with requests of these families alone, besides those out of scope. Raises InputError."""
    return _others.of_families(sys.modules[__name__], names)


def with_user(user: SimulatedUser) -> ModuleType:
    """This environment with a model as the user."""
    return _others.with_user(sys.modules[__name__], user)


def system_prompt(name: str, compact: str = SYSTEM_PROMPT) -> str:
    """The prompt called `compact`, `full` (the whole policy and all sixteen tools), `form` (how a call is written, for
    a model that demonstrations have taught the tools), or the text of `file:PATH`.

    Raises InputError for anything else or unreadable.
    """
    return _prompts.system_prompt(name, compact, full=FULL_INSTRUCTIONS, form=FORM)


def start(scenario: Scenario) -> tuple[Message, ...]:
    """What the policy is shown first: the user's first line."""
    return scenario.opening


def parse(text: str) -> Action:
    """A reply as an action; Invalid where it is not one call."""
    return parse_action(text)


def step(scenario: Scenario, messages: Sequence[Message]) -> Message | None:
    """What the tool or the user says to a call; None where the episode is over. Raises TypeError for a scenario of
    another environment."""
    said = said_next(scenario, [message.content for message in messages if message.role == "assistant"])
    return None if said is None else Message("user", said)
