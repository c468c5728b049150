"""Act, answer, refuse, confirm or ask: one spoken request to a desktop assistant, one reply.

The request may lack something (who, when, what text, how much, which app, which item), several things on the screen may
be meant, a pronoun may refer to nothing, or the whole may be vague: then the right reply is one question. Every such
request has a clear twin that differs only in what was missing. The rest of a batch is clear by itself.

Frames and open-class values (people, titles, topics, errands, occasions, sayings, places, dates and times, amounts)
each belong to exactly one split. App names, nouns of element kinds, label suffixes, verbs and function words are
closed classes and shared by all. So every word of a dev or sealed frame occurs in some train frame: what is new there
is the combination, as it is in what a model meets in use.
"""

from __future__ import annotations

from collections.abc import Sequence

from askfirst.envs.judgment._fixtures import read_fixture, read_suite, write_fixture
from askfirst.envs.judgment._prompts import system_prompt
from askfirst.envs.judgment._replies import demonstrations
from askfirst.envs.judgment._scenarios import (
    AMBIGUOUS_SHARE,
    CLEAR_MIX,
    EVALUATION_MIX,
    FAMILIES,
    PAIR_MIX,
    STRATA,
    TOPICS,
    scenarios,
)
from askfirst.envs.judgment._words import APPS
from askfirst.replies import parse_action
from askfirst.values import Action, Message, Scenario

VERSION = "3"
MAX_TURNS = 1
ORACLE = "slots"  # the reward that judges evaluations, whatever is trained on
RESERVED = APPS  # names that no value of a scenario is: what says a request in other words may not bring one in
__all__ = [
    "AMBIGUOUS_SHARE",
    "CLEAR_MIX",
    "EVALUATION_MIX",
    "FAMILIES",
    "MAX_TURNS",
    "ORACLE",
    "PAIR_MIX",
    "RESERVED",
    "STRATA",
    "SYSTEM_PROMPT",
    "TOPICS",
    "VERSION",
    "demonstrations",
    "parse",
    "read_fixture",
    "read_suite",
    "scenarios",
    "start",
    "step",
    "system_prompt",
    "write_fixture",
]
SYSTEM_PROMPT = system_prompt("compact")


def start(scenario: Scenario) -> tuple[Message, ...]:
    """What the policy is shown first: the scenario's opening."""
    return scenario.opening


def parse(text: str) -> Action:
    """A reply as an action; Invalid where it breaks the protocol."""
    return parse_action(text)


def step(scenario: Scenario, messages: Sequence[Message]) -> Message | None:
    """The environment's next message after a reply: none, an episode is a single turn."""
    del scenario, messages
    return None
