"""Dialogues of `clarify` worded anew, so that a model learns to read and not the wordings by heart.

Two of the seven families are never seen in training. So keys and values may have names of one to three words, any that
are common in English or made up, and some of these are what is said: only looking for a word again helps there. Or
values are said in words of several of their ways at once, since a model that has seen few ways to say a value learns
those by heart and reads no other. Some made-up values are said in words that have nothing to do with them, any or those
of the value whose place they took: plans leave these keys out, which costs half of what a wrong guess does, unless they
have asked: answers can be read. Around the
facts stand sentences of other families or words that mean nothing, as they will in requests that were never seen.
Nothing here is of another split than train.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from askfirst.clarify.calls import parse_call
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, Family, ways_of
from askfirst.clarify.problem import DEFAULT, Problem, hidden_of
from askfirst.replies import SAID
from askfirst.specialists import _words as made
from askfirst.specialists._words import SEEN
from askfirst.specialists.core import Pair
from askfirst.values import Message, Scenario

TRIES = 8
KEPT = 0.5  # share of the keys that cannot be read whose values are said as they were before
DULL = 0.5  # share of the disguised dialogues with a question in whose request nothing that is disguised can be read
# Words of users that tell what holds, not what: any others in their place tell as much.
CONNECTIVES = ("either", "or else", "As I said", "Like I told you", "no, sorry", "I have no idea", "I know nothing")


def disguised(scenario: Scenario, messages: tuple[Message, ...], last: str, random: np.random.Generator) -> Pair:
    """The dialogue with made-up names for most keys and for all of their values, wherever these are said."""
    problem = hidden_of(scenario).problem
    family = FAMILIES[problem.family]
    share = 1.0 if messages[1:] and random.random() < DULL else made.UNREAD
    unread: set[str] = set()
    requested: dict[str, str] = {}  # what a request says → what it says instead
    answered: dict[str, str] = {}  # what an answer says → what it says instead
    written: dict[str, str] = {}  # what stands in schema, notes and calls → what stands there instead
    for one in family.fields:
        # A number as a value would be taken for a price.
        if one.name == CONFIRM or one.values[-1].isdigit() or random.random() < 0.2:
            continue
        # Questions write a name without `_`, so that one of a word stays one.
        name, shared = made.name(random)[: 1 + one.name.count("_")], made.shared(random)
        written |= {one.name.replace("_", " "): " ".join(name), one.name: "_".join(name)}
        kept = random.random() < KEPT
        if random.random() < share:
            unread.add(one.name)
        for value in one.values:
            own = made.value(shared, random)
            written[value] = " ".join(shared.around(own))
            for way in map(str.lower, one.ways(value)):
                answered[way] = made.told(own, shared, random)
                if one.name not in unread:
                    requested[way] = answered[way]
                elif not kept:
                    requested[way] = made.unread(random)
    shown, mark, request = messages[0].content.rpartition(SAID)
    opening = Message(
        "user", _swapped(shown, written) + mark + reframed(scenario, _swapped(request, requested), random)
    )
    rest = [Message(m.role, _swapped(m.content, answered if m.role == "user" else written)) for m in messages[1:]]
    return (opening, *rest), _swapped(_without(last, problem, unread), written)


def _without(last: str, problem: Problem, unread: set[str]) -> str:
    """The call without the entries of a plan that only the request tells, for keys of which it tells nothing."""
    call = parse_call(last)
    only_there = {key.name for key in problem.keys if key.known is not None and key.source != DEFAULT} & unread
    return replace(call, plan={k: v for k, v in call.plan.items() if k not in only_there}).text()


def blended(scenario: Scenario, messages: tuple[Message, ...], random: np.random.Generator) -> tuple[Message, ...]:
    """The messages with values said in words of their ways of split train."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    spoken: dict[str, str] = {}
    for one in family.fields:
        ways = {v: ways_of(family, one, v, "train") for v in one.values}
        for value, own in ways.items():
            others = {word for v in ways if v != value for way in ways[v] for word in way.lower().split()}
            for way in own:
                spoken[way.lower()] = _blend(way, own, others, random)
    shown, mark, request = messages[0].content.rpartition(SAID)
    opening = Message("user", shown + mark + reframed(scenario, _swapped(request, spoken), random))
    rest = (
        Message(m.role, _connected(_swapped(m.content, spoken), random)) if m.role == "user" else m
        for m in messages[1:]
    )
    return (opening, *rest)


def _blend(way: str, ways: Sequence[str], others: set[str], random: np.random.Generator) -> str:
    """Words of the ways, one of which no other value has: a beginning and an end, or any; else the way itself."""
    for _ in range(TRIES):
        if random.random() < 0.5:
            one, other = (ways[int(i)].split() for i in random.integers(len(ways), size=2))
            words = one[: int(random.integers(len(one) + 1))] + other[int(random.integers(len(other) + 1)) :]
        else:
            every = [word for each in ways for word in each.split()]
            words = [every[int(i)] for i in random.permutation(len(every))[: int(random.integers(1, 5))]]
        if not others.issuperset(word.lower() for word in words):
            return " ".join(words)
    return way


def _swapped(text: str, words: dict[str, str]) -> str:
    """The text with each of the words, longest first, replaced."""
    if not words:
        return text

    def swap(match: re.Match[str]) -> str:
        found = words.get(match[0]) or words[match[0].lower()]
        return found[:1].upper() + found[1:] if match[0][0].isupper() else found

    return _pattern(frozenset(words)).sub(swap, text)


@lru_cache(maxsize=1024)
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    """Finds whole words, the longest first; a family has few sets of them, and to compile one takes milliseconds."""
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(r"(?<![\w#])(" + "|".join(map(re.escape, longest)) + r")(?!\w)", re.IGNORECASE)


def reframed(scenario: Scenario, request: str, random: np.random.Generator) -> str:
    """A request with another sentence around its facts, another act, or, where it is none, another one that is none."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    if scenario.stratum == "out_of_scope":
        return _beyond(family, random) if random.random() < 0.6 else request
    before = scenario.template.partition(": ")[2].partition("{facts}")[0]
    if random.random() < 0.6 and request.startswith(before):
        request = _before(before, random) + request.removeprefix(before)
    for act in family.split(family.acts, "train"):
        if act in request and random.random() < 0.6:
            request = request.replace(act, made.words(int(random.integers(3, 7)), random))
    return _connected(request, random)


def _before(before: str, random: np.random.Generator) -> str:
    """What stands before the facts in a request of any family, as good a beginning of a sentence as `before`."""
    ends = before.rstrip().endswith((".", "?"))
    others = [say.partition("{facts}")[0] for family in SEEN for say in family.split(family.says, "train")]
    fitting = [other for other in others if other.rstrip().endswith((".", "?")) == ends]
    return fitting[int(random.integers(len(fitting)))]


def _beyond(family: Family, random: np.random.Generator) -> str:
    """A request that is none of the family's: of another one, or one in words that mean nothing."""
    if random.random() < 0.5:
        return f"{made.words(int(random.integers(3, 9)), random).capitalize()}{'.?'[int(random.integers(2))]}"
    others = [other for other in SEEN if other is not family]
    other = others[int(random.integers(len(others)))]
    says, one = other.split(other.says, "train"), other.fields[int(random.integers(len(other.fields)))]
    ways = ways_of(other, one, one.values[int(random.integers(len(one.values)))], "train")
    return says[int(random.integers(len(says)))].format(facts=ways[int(random.integers(len(ways)))])


def _connected(text: str, random: np.random.Generator) -> str:
    """The text with some of the CONNECTIVES replaced by as many other words."""
    for phrase in CONNECTIVES:
        if phrase in text and random.random() < 0.6:
            words = made.words(len(phrase.split()), random)
            text = text.replace(phrase, words.capitalize() if phrase[0].isupper() else words)
    return text
