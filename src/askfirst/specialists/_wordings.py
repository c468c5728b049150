"""Dialogues of `clarify` worded anew, so that a model learns to read and not the wordings by heart.

Two of the seven families are never seen in training. So keys and values may have names of one to three words, made up
or of something else, and some of these are what is said: only looking for a word again helps there. Or values are said
in words of several of their ways at once, since a model that has seen few ways to say a value learns those by heart and
reads no other. Around the facts stand sentences of other families or words that mean nothing, as they will in requests
that were never seen. Everything used here is of split train.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, Family, ways_of
from askfirst.clarify.problem import hidden_of
from askfirst.nano_build import made_up, odd
from askfirst.replies import SAID
from askfirst.specialists.core import Pair
from askfirst.values import Message, Scenario

TRIES = 8
SEEN = tuple(family for family in FAMILIES.values() if not family.unseen)
AROUND = (  # a made-up value
    *("{}", "{}", "the {}", "a {}", "with {}", "{} it is", "for {}", "in the {}", "out of a {}", "for my {}"),
    *("over the {}", "{} of ours", "by {} only", "just {}", "at the {} please", "for one {}", "{} in all"),
)
# Words of values and of the ways to say them, and of keys, in the families that are trained on; as they are written.
KNOWN: list[str] = sorted(
    {
        word
        for family in SEEN
        for one in family.fields
        for text in (one.name, one.noun, *(way for v in one.values for way in (v, *ways_of(family, one, v, "train"))))
        for word in re.findall(r"[A-Za-z_]{2,}", text)
    }
)
WORDS: list[str] = sorted({word.lower() for word in KNOWN if len(word) > 3 and "_" not in word})
# Words of users that tell what holds, not what: any others in their place tell as much.
CONNECTIVES = ("either", "or else", "As I said", "Like I told you", "no, sorry", "I have no idea", "I know nothing")


def disguised(scenario: Scenario, messages: tuple[Message, ...], last: str, random: np.random.Generator) -> Pair:
    """The dialogue with made-up names for most keys and for all of their values, wherever these are said."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    spoken: dict[str, str] = {}  # what users say → what they say instead
    written: dict[str, str] = {}  # what stands in schema, notes and calls → what stands there instead
    for one in family.fields:
        # A number as a value would be taken for a price.
        if one.name == CONFIRM or one.values[-1].isdigit() or random.random() < 0.2:
            continue
        name = [_word(random) for _ in range(int(random.integers(1, 3)))]
        written |= {one.name.replace("_", " "): " ".join(name), one.name: "_".join(name)}
        for value in one.values:
            words = [_word(random) for _ in range(int(random.integers(1, 4)))]
            written[value] = " ".join(words)
            for way in one.ways(value):
                first = int(random.integers(len(words)))
                part = " ".join(words[first : first + int(random.integers(1, len(words) + 1))])
                spoken[way.lower()] = AROUND[int(random.integers(len(AROUND)))].format(part)
    shown, mark, request = messages[0].content.rpartition(SAID)
    opening = Message("user", _swapped(shown, written) + mark + reframed(scenario, _swapped(request, spoken), random))
    rest = [Message(m.role, _swapped(m.content, spoken if m.role == "user" else written)) for m in messages[1:]]
    return (opening, *rest), _swapped(last, written)


def _word(random: np.random.Generator) -> str:
    """A made-up word, an odd one, or one that the families use somewhere."""
    match int(random.integers(3)):
        case 0:
            return made_up(random)
        case 1:
            return odd(random)
        case _:
            return WORDS[int(random.integers(len(WORDS)))]


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
    longest = sorted(words, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w#])(" + "|".join(map(re.escape, longest)) + r")(?!\w)", re.IGNORECASE)

    def swap(match: re.Match[str]) -> str:
        found = words.get(match[0]) or words[match[0].lower()]
        return found[:1].upper() + found[1:] if match[0][0].isupper() else found

    return pattern.sub(swap, text)


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
            request = request.replace(act, _words(int(random.integers(3, 7)), random))
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
        return f"{_words(int(random.integers(3, 9)), random).capitalize()}{'.?'[int(random.integers(2))]}"
    others = [other for other in SEEN if other is not family]
    other = others[int(random.integers(len(others)))]
    says, one = other.split(other.says, "train"), other.fields[int(random.integers(len(other.fields)))]
    ways = ways_of(other, one, one.values[int(random.integers(len(one.values)))], "train")
    return says[int(random.integers(len(says)))].format(facts=ways[int(random.integers(len(ways)))])


def _connected(text: str, random: np.random.Generator) -> str:
    """The text with some of the CONNECTIVES replaced by as many other words."""
    for phrase in CONNECTIVES:
        if phrase in text and random.random() < 0.6:
            words = _words(len(phrase.split()), random)
            text = text.replace(phrase, words.capitalize() if phrase[0].isupper() else words)
    return text


def _words(count: int, random: np.random.Generator) -> str:
    return " ".join(_word(random) for _ in range(count))
