"""The model `nano-clarify`: `nano` that has learnt to read the openings of `clarify` and to plan.

Two of the seven families are never seen. So in a share of the dialogues keys and values have names of one to three
words, made up or of something else, and some of these are what is said: only looking for a word again helps there. In
others values are said in words of two of their ways at once, since a model that has seen few ways to say a value learns
those by heart and reads no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM
from askfirst.clarify.problem import hidden_of
from askfirst.nano_build import made_up
from askfirst.specialists.core import Pair, Recipe, Specialist
from askfirst.values import Message, Scenario

DISGUISED, BLENDED = 0.35, 0.45  # shares of the dialogues
TRIES = 8
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
AROUND = (  # a made-up value
    *("{}", "{}", "the {}", "a {}", "with {}", "{} it is", "for {}", "in the {}", "out of a {}", "for my {}"),
    *("over the {}", "{} of ours", "by {} only", "just {}", "at the {} please", "for one {}", "{} in all"),
)
# Words of ways to say a value, in the families that are trained on.
WORDS = sorted(
    {
        word.lower()
        for family in FAMILIES.values()
        if not family.unseen
        for one in family.fields
        for value in one.values
        for way in (value, *family.split(one.said[value], "train"), *one.also.get(value, ()))
        for word in re.findall(r"[A-Za-z]{4,}", way)
    }
)


def retold(scenario: Scenario, messages: tuple[Message, ...], last: str, random: np.random.Generator) -> Pair:
    """The dialogue with other names, with ways to say values blended, or as it is."""
    part = random.random()
    if part < DISGUISED:
        return disguised(scenario, messages, last, random)
    return (blended(scenario, messages, random) if part < DISGUISED + BLENDED else messages), last


def disguised(scenario: Scenario, messages: tuple[Message, ...], last: str, random: np.random.Generator) -> Pair:
    """The dialogue with made-up names for most keys and for all of their values, wherever these are said."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    spoken: dict[str, str] = {}  # what users say → what they say instead
    written: dict[str, str] = {}  # what stands in schema, notes and calls → what stands there instead
    for one in family.fields:
        # A number as a value would be taken for a price.
        if one.name == CONFIRM or one.values[-1].isdigit() or random.random() < 0.2:
            continue
        key = made_up(random)
        written |= {one.name: key, one.name.replace("_", " "): key}
        for value in one.values:
            words = [_word(random) for _ in range(int(random.integers(1, 4)))]
            written[value] = " ".join(words)
            for way in one.ways(value):
                first = int(random.integers(len(words)))
                part = " ".join(words[first : first + int(random.integers(1, len(words) + 1))])
                spoken[way.lower()] = AROUND[int(random.integers(len(AROUND)))].format(part)
    shown, mark, request = messages[0].content.rpartition("user said: ")
    opening = Message("user", _swapped(shown, written) + mark + _swapped(request, spoken))
    rest = [Message(m.role, _swapped(m.content, spoken if m.role == "user" else written)) for m in messages[1:]]
    return (opening, *rest), _swapped(last, written)


def _word(random: np.random.Generator) -> str:
    """A made-up word or one that the families use somewhere."""
    return made_up(random) if random.random() < 0.5 else WORDS[int(random.integers(len(WORDS)))]


def blended(scenario: Scenario, messages: tuple[Message, ...], random: np.random.Generator) -> tuple[Message, ...]:
    """The messages with values said in words of two of their ways of split train."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    spoken: dict[str, str] = {}
    for one in family.fields:
        ways = {v: (*family.split(one.said[v], "train"), *one.also.get(v, ())) for v in one.values}
        for value, own in ways.items():
            others = {word for v in ways if v != value for way in ways[v] for word in way.lower().split()}
            for way in own:
                spoken[way.lower()] = _blend(way, own, others, random)
    shown, mark, request = messages[0].content.rpartition("user said: ")
    opening = Message("user", shown + mark + _swapped(request, spoken))
    return (opening, *(Message(m.role, _swapped(m.content, spoken)) if m.role == "user" else m for m in messages[1:]))


def _blend(way: str, ways: Sequence[str], others: set[str], random: np.random.Generator) -> str:
    """The beginning of one way and the end of another, with a word that no other value has; else the way itself."""
    for _ in range(TRIES):
        one, other = (ways[int(i)].split() for i in random.integers(len(ways), size=2))
        words = one[: int(random.integers(len(one) + 1))] + other[int(random.integers(len(other) + 1)) :]
        if not others.issuperset(word.lower() for word in words):
            return " ".join(words)
    return way


def _swapped(text: str, words: dict[str, str]) -> str:
    """The text with each of the words, longest first, replaced."""
    if not words:
        return text
    longest = sorted(words, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w#])(" + "|".join(map(re.escape, longest)) + r")(?!\w)", re.IGNORECASE)

    def swap(match: re.Match[str]) -> str:
        found = words.get(match[0]) or words[match[0].lower()]
        return found[:1].upper() + found[1:] if match[0][0].isupper() else found

    return pattern.sub(swap, text)


CLARIFY = Specialist("nano-clarify", "clarify", PARTS, Recipe(steps=2400), retold)
