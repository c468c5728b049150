"""The simulated user: which keys a question is about, and what is answered. Deterministic; no model is called.

A question is about the fields whose cues stand in it as whole words. Where cues of two fields overlap, the longer one
counts: "how many minutes" is the duration and not the number of people. Weak cues, such as "place", count in a clause
without others; where there is no cue at all, the words for values count ("at home or in a restaurant?"). A sentence
that asks for confirmation asks for nothing else, so that it can name what it is about. A text without a question mark
that asks for nothing in words ("tell me", "please") is no question. Answers are in the words of the scenario, never by
key, and about nothing that was not asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, PROCEED, Family, Field, ways_of
from askfirst.clarify.persona import PERSONAS
from askfirst.clarify.problem import Hidden
from askfirst.store import seed_from

_REQUEST = re.compile(
    r"[?？؟]|\b(?:tell|give|send|share|specify|name|state|confirm|choose|pick|please|let me know|need to know|wonder"
    r"|could you|can you|would you)\b"
)
# What holds a cue but asks for something else.
_CHATTER = re.compile(
    r"\b(?:do you have (?:a )?(?:time|minute|moment)|have a good time|what time is it(?: now)?(?=\W|$)|this time"
    r"|next time|last time|any ?time|how are you|no problem|in any case|of course|in order to|anything else|what else"
    r"|first of all|where (?:should|shall|do) (?:we|i) (?:start|begin))\b"
)


_SENTENCE = re.compile(r"[.?!;？]+(?=\s|$)")
_CLAUSE = re.compile(r",|\band\b|\bor (?=how|what|when|where|who|which)")
_NOT_TELLING = frozenset({"none", "normal", "full", "high"})  # values that questions about other things hold


@dataclass(frozen=True, slots=True)
class _Cues:
    """What speaks for a field in a question, the strongest first."""

    name: str
    levels: tuple[re.Pattern[str], ...]  # cues, weak cues, words for values


@lru_cache(maxsize=4096)
def understood(family: str, question: str) -> tuple[str, ...]:
    """The fields of a family that a question is about, in the order in which it names them."""
    text = " ".join(question.lower().replace("’", "'").replace("_", " ").split())
    if not _REQUEST.search(text):
        return ()
    text = _CHATTER.sub(lambda match: "~" * len(match[0]), text)
    lexicon = _lexicon(FAMILIES[family])
    found: list[str] = []
    for sentence in _SENTENCE.split(text):
        strong = _named(lexicon, sentence, 0)
        if CONFIRM in strong:
            found.append(CONFIRM)
            continue
        for clause in _CLAUSE.split(sentence):
            found += _named(lexicon, clause, 0) or _named(lexicon, clause, 1)
        found += strong
    return tuple(dict.fromkeys(found)) or _named(lexicon, text, 2)


def _named(lexicon: tuple[_Cues, ...], text: str, level: int) -> tuple[str, ...]:
    """The fields whose cues of a level stand in a text, of overlapping ones the longer, by place."""
    hits = [(match.start(), match.end(), cues.name) for cues in lexicon for match in cues.levels[level].finditer(text)]
    taken: list[tuple[int, int, str]] = []
    for start, end, name in sorted(hits, key=lambda hit: (hit[0] - hit[1], hit[0])):
        if all(end <= low or start >= high for low, high, _ in taken):
            taken.append((start, end, name))
    return tuple(dict.fromkeys(name for _, _, name in sorted(taken)))


@lru_cache(maxsize=64)
def _lexicon(family: Family) -> tuple[_Cues, ...]:
    return tuple(
        _Cues(each.name, tuple(map(_whole, (f"{each.cues}|{each.name.replace('_', ' ')}", each.weak, _values(each)))))
        for each in (*family.fields, PROCEED)
    )


def _values(each: Field) -> str:
    """Words for the values of a field, as far as they tell what a question is about."""
    names = (value.lower() for value in each.values)
    return "|".join(re.escape(name) for name in names if len(name) > 3 and name not in _NOT_TELLING)


def _whole(cues: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{cues})(?!\w)") if cues else re.compile(r"(?!)")


def heard_of(hidden: Hidden, about: tuple[str, ...], left: int) -> tuple[str, ...]:
    """The keys of a question that the user takes notice of, with `left` questions left: all, or the first alone."""
    return about[: min(left, 1) if PERSONAS[hidden.persona].single else left]


@dataclass(frozen=True, slots=True)
class Asking:
    """Where in an episode a question is asked: the scenario's id and split, and what was told by then, by key."""

    scenario: str
    split: str
    told: Mapping[str, str] = field(default_factory=dict)


def tells(hidden: Hidden, at: Asking, heard: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The values that the reply to a question about these keys tells, by key."""
    return tuple(
        (name, _value(hidden, at, name)) for name in heard if name in hidden.truth and name not in hidden.forgets
    )


def _value(hidden: Hidden, at: Asking, name: str) -> str:
    """The value that is told of a key of which the user knows one."""
    known = (key.known for key in hidden.problem.keys if key.name == name)
    before = at.told.get(name) or next(known, None)
    wavers = PERSONAS[hidden.persona].wavers and name != CONFIRM
    return _other(hidden, at, name, before) if wavers and before else hidden.truth[name]


def answer(hidden: Hidden, at: Asking, heard: tuple[str, ...]) -> str:
    """The user's reply to a question about these keys, in words."""
    if not heard:
        return _one_of(PERSONAS[hidden.persona].puzzled, "puzzled", at.scenario)
    told = dict(tells(hidden, at, heard))
    said = [_answer(hidden, at, name, told.get(name)) for name in heard]
    if len(said) > 1:
        nouns = [_noun(hidden, name) for name in heard]
        said = [f"{noun[:1].upper()}{noun[1:]}: {text}" for noun, text in zip(nouns, said, strict=True)]
    return " ".join(said)


def _answer(hidden: Hidden, at: Asking, name: str, value: str | None) -> str:
    """What is said about a key of which `value` is told."""
    persona = PERSONAS[hidden.persona]
    if name not in hidden.truth:
        return "There is nothing to confirm." if name == CONFIRM else f"I do not mind about {_noun(hidden, name)}."
    if value is None:
        return _one_of(persona.unknown, "unknown", at.scenario, name)
    text = _words(hidden, at, name, value)
    if name == CONFIRM:
        return f"{text[:1].upper()}{text[1:]}."
    if chance(persona.slips, "slips", at.scenario, name):
        text = persona.slip.format(a=_words(hidden, at, name, _other(hidden, at, name, value)), b=text)
    text = _one_of(persona.carriers, "carrier", at.scenario, name).format(text)
    return text[:1].upper() + text[1:]


def _other(hidden: Hidden, at: Asking, name: str, value: str) -> str:
    """Another value of a key."""
    others = [each for each in FAMILIES[hidden.problem.family].field(name).values if each != value]
    return _one_of(others, "other", at.scenario, name, value)


def _words(hidden: Hidden, at: Asking, name: str, value: str) -> str:
    """How the user says a value of a key; one that is not wanted, in words that belong to the split."""
    if value == hidden.truth[name]:
        return hidden.words[name]
    family = FAMILIES[hidden.problem.family]
    return _one_of(ways_of(family, family.field(name), value, at.split), "words", at.scenario, name, value)


def _one_of(options: Sequence[str], *name: str) -> str:
    return options[seed_from(*name) % len(options)]


def chance(share: float, *name: str) -> bool:
    """True for this share of all names."""
    return seed_from(*name) % 1000 < share * 1000


def _noun(hidden: Hidden, name: str) -> str:
    return FAMILIES[hidden.problem.family].field(name).noun
