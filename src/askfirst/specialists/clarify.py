"""The model `nano-clarify`: `nano` that has learnt to read the openings of `clarify` and to plan.

Half of its dialogues are drills: the same tasks with two keys or three, which are a third as long, so that a way to say
a value is met more often. How dialogues are worded anew stands in `_wordings`.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.scenes import OTHERS, PAIRED, Draws, other_pair, pair
from askfirst.specialists import _wordings
from askfirst.specialists.core import Pair, Recipe, Specialist
from askfirst.store import generator
from askfirst.values import Message, Scenario
from askfirst.warmstart import demonstration_scenarios

DISGUISED, BLENDED = 0.4, 0.45  # shares of the dialogues
DRILLS = 0.5
# Fixed parts of openings and calls, a token each.
PARTS = (
    '{"name": "ask_question", "arguments": {"question": "What is the ',
    '{"name": "propose_plan", "arguments": {"plan": {"',
    'decline": "',
    '", "assumptions": ["',
    '"]}}}',
    '?"}}',
    " | ",
    "): ",
    " (",
    "\na question: ",
    " (6 left, ",
    "% answered)\nuser said: ",
    "task: ",
    "\nquestions left: ",
    "\nunless said otherwise: ",
    "\nusually: ",
    "\nnot possible: ",
    " = ",
    "%)",
)


def scenarios(env: ModuleType, count: int, seed: int) -> list[Scenario]:
    """Train scenarios, a share of them drills."""
    drills = round(count * DRILLS)
    draws = Draws(generator(seed, "drills"))
    return [*demonstration_scenarios(env, count - drills, seed), *(drill(draws) for _ in range(drills))]


def drill(draws: Draws) -> Scenario:
    """A scenario of a family cut down to two keys or three; half of those that can be ambiguous are."""
    family = draws.pick([own for own in FAMILIES.values() if not own.unseen])
    fields = draws.shuffled(family.fields)[: draws.pick((2, 3))]
    few = replace(family, fields=tuple(replace(one, critical=True, required=True) for one in fields))
    if draws.chance(0.75):
        return pair(few, draws.pick(PAIRED), "train", draws)[int(draws.chance(0.5))]
    return other_pair(few, draws.pick(OTHERS), "train", draws)[0]


def retold(scenario: Scenario, messages: tuple[Message, ...], last: str, random: np.random.Generator) -> Pair:
    """The dialogue with other names, with ways to say values blended, or as it is."""
    part = random.random()
    if part < DISGUISED:
        return _wordings.disguised(scenario, messages, last, random)
    return (_wordings.blended(scenario, messages, random) if part < DISGUISED + BLENDED else messages), last


CLARIFY = Specialist("nano-clarify", "clarify", PARTS, Recipe(steps=2400), scenarios, tuple(_wordings.KNOWN), retold)
