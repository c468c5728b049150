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
from dataclasses import dataclass
from functools import lru_cache

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CARRIERS, CONFIRM, PROCEED, Family, Field
from askfirst.clarify.problem import Hidden
from askfirst.store import seed_from

PUZZLED = ("Sorry, I do not follow.", "I am not sure what you mean.", "Hm, what do you want to know?")
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


def answer(hidden: Hidden, scenario_id: str, about: tuple[str, ...], more: bool) -> str:
    """What the user says to a question about these keys; `more`: it asked about more than the budget holds."""
    if not about:
        return PUZZLED[seed_from("puzzled", scenario_id) % len(PUZZLED)]
    said = [_answer(hidden, scenario_id, name) for name in about]
    if len(said) > 1:
        nouns = [_noun(hidden, name) for name in about]
        said = [f"{noun[:1].upper()}{noun[1:]}: {text}" for noun, text in zip(nouns, said, strict=True)]
    return " ".join([*said, *(["That is enough of questions."] if more else [])])


def _answer(hidden: Hidden, scenario_id: str, name: str) -> str:
    if name not in hidden.truth:
        return "There is nothing to confirm." if name == CONFIRM else f"I do not mind about {_noun(hidden, name)}."
    if name in hidden.forgets:
        return "I do not know."
    text = hidden.words[name]
    if name != CONFIRM:
        text = CARRIERS[seed_from("carrier", scenario_id, name) % len(CARRIERS)].format(text)
        return text[:1].upper() + text[1:]
    return f"{text[:1].upper()}{text[1:]}."


def _noun(hidden: Hidden, name: str) -> str:
    return FAMILIES[hidden.problem.family].field(name).noun
