"""The model `nano-clarify`: `nano` that has learnt to read the openings of `clarify` and to plan.

First all of its dialogues are lists to look up (`_lists`), later some. The others are tasks, of which at first half
are drills: tasks with two keys or three, which are a third as long. Later fewer are. And at first most keys have but
one value or two: writing again what stands there comes before telling which of it is meant. How dialogues are worded
anew stands in `_wordings`.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.scenes import OTHERS, PAIRED, Draws, other_pair, pair
from askfirst.specialists import _lists, _looks, _wordings, _words
from askfirst.specialists.core import Pair, Recipe, Specialist, Told
from askfirst.store import generator
from askfirst.values import Scenario
from askfirst.warmstart import demonstration_scenarios

DISGUISED, BLENDED = 0.45, 0.35  # shares of the dialogues
DRILLS = (0.5, 0.1)  # share of the dialogues at first, and at last
LISTS_UNTIL = 0.05  # share of the build in which all dialogues are about no task, but lists to look up
LISTINGS = (0.35, 0.15)  # share of such dialogues after it, if it had lasted no time, and at last
FEW_UNTIL = 0.1  # share of the build up to which keys of some dialogues have one value, two or three to choose from
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


def scenarios(env: ModuleType, count: int, seed: int, done: float) -> list[Scenario]:
    """Train scenarios, a share of them drills."""
    drills = round(count * float(np.interp(done, (0.0, 1.0), DRILLS)))
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


def retold(scenario: Scenario, told: Told, random: np.random.Generator) -> Pair:
    """The dialogue with other names, with ways to say values blended, or as it is; with few values at first."""
    messages, last, done = told
    few = 1 + min(3, int(4 * random.random() * min(1.0, 2 * done / FEW_UNTIL)))
    if done < LISTS_UNTIL or random.random() < np.interp(done, (0.0, 1.0), LISTINGS):
        hard = min(1.0, done / FEW_UNTIL)
        if scenario.ambiguous:
            return _lists.asked(few, hard, bool(messages[1:]), random)
        return _lists.in_turn(few, hard, random)
    part = random.random()
    if part < DISGUISED:
        messages, last = _wordings.disguised(scenario, messages, last, random)
    elif part < DISGUISED + BLENDED:
        messages = _wordings.blended(scenario, messages, random)
    if random.random() < 1 - done / FEW_UNTIL:
        messages = _lists.with_few_values(messages, last, few, random)
    return messages, last


WORDS = (*_words.KNOWN, *_words.COMMON)
CLARIFY = Specialist(
    "nano-clarify", "clarify", PARTS, Recipe(steps=6000, lr=3e-3), scenarios, WORDS, retold, _looks.guide
)
