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
    hits = [
        (match.start(), match.end(), cues.name)
        for cues in lexicon
        for match in cues.levels[level].finditer(text)
        if match.end() > match.start()
    ]
    taken: list[tuple[int, int, str]] = []
    for start, end, name in sorted(hits, key=lambda hit: (hit[0] - hit[1], hit[0])):
        if all(end <= low or start >= high or name == own for low, high, own in taken):
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
    names = (value.lower() for value in each.values if each is not PROCEED)
    return "|".join(re.escape(name) for name in names if len(name) > 3 and name not in _NOT_TELLING)


def _whole(cues: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{cues})(?!\w)") if cues else re.compile(r"(?!)")


def heard_of(hidden: Hidden, about: tuple[str, ...], left: int) -> tuple[str, ...]:
    """The keys of a question that the user takes notice of, with `left` questions left: all, or the first alone."""
    return about[: min(left, 1) if PERSONAS[hidden.persona].single else left]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the user says to a question, and the values that it tells, by key."""

    text: str
    told: tuple[tuple[str, str], ...] = ()


def answer(hidden: Hidden, at: Asking, heard: tuple[str, ...], more: str = "") -> Reply:
    """The user's reply to a question about these keys; `more` is added where it asked about others too."""
    persona = PERSONAS[hidden.persona]
    if not heard:
        return Reply(_one_of(persona.puzzled, "puzzled", at.scenario))
    found = [_answer(hidden, at, name) for name in heard]
    said = [text for text, _ in found]
    if len(said) > 1:
        nouns = [_noun(hidden, name) for name in heard]
        said = [f"{noun[:1].upper()}{noun[1:]}: {text}" for noun, text in zip(nouns, said, strict=True)]
    told = tuple((name, value) for name, (_, value) in zip(heard, found, strict=True) if value is not None)
    return Reply(" ".join([*said, *([more] if more else [])]), told)


@dataclass(frozen=True, slots=True)
class Asking:
    """Where in an episode a question is asked: the scenario's id and split, and what was told by then, by key."""

    scenario: str
    split: str
    told: Mapping[str, str] = field(default_factory=dict)


def _answer(hidden: Hidden, at: Asking, name: str) -> tuple[str, str | None]:
    """What is said about a key, and the value that this tells."""
    persona = PERSONAS[hidden.persona]
    if name not in hidden.truth:
        nothing = "There is nothing to confirm." if name == CONFIRM else f"I do not mind about {_noun(hidden, name)}."
        return nothing, None
    if name in hidden.forgets:
        return _one_of(persona.unknown, "unknown", at.scenario, name), None
    value, text = hidden.truth[name], hidden.words[name]
    if name == CONFIRM:
        return f"{text[:1].upper()}{text[1:]}.", value
    key = hidden.problem.key(name)
    before = at.told.get(name) or (key.known if key else None)
    if persona.wavers and before is not None:
        value, text = _other(hidden, at, name, before)
    if chance(persona.slips, "slips", at.scenario, name):
        text = persona.slip.format(a=_other(hidden, at, name, value)[1], b=text)
    text = _one_of(persona.carriers, "carrier", at.scenario, name).format(text)
    return text[:1].upper() + text[1:], value


def _other(hidden: Hidden, at: Asking, name: str, value: str) -> tuple[str, str]:
    """Another value of a key, and words for it that belong to the split."""
    family = FAMILIES[hidden.problem.family]
    one = family.field(name)
    others = [each for each in one.values if each != value]
    other = _one_of(others, "other", at.scenario, name, value)
    return other, _one_of(ways_of(family, one, other, at.split), "words", at.scenario, name, other)


def _one_of(options: Sequence[str], *name: str) -> str:
    return options[seed_from(*name) % len(options)]


def chance(share: float, *name: str) -> bool:
    """True for this share of all names."""
    return seed_from(*name) % 1000 < share * 1000


def _noun(hidden: Hidden, name: str) -> str:
    return FAMILIES[hidden.problem.family].field(name).noun
