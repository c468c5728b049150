"""Whether a question asks for more than one thing, or for things that are not there."""

from __future__ import annotations

import re
from itertools import pairwise

from askfirst.replies import Truth
from askfirst.rewards.slots import _lexicon as lex
from askfirst.rewards.slots._naming import Sought
from askfirst.rewards.slots._text import Line, joined, normalise, stem, words

_QUOTED = re.compile(r'"([^"]+)"')


def compound(question: Line, sought: Sought) -> bool:
    """Whether more than one thing is asked; an offer of candidates ("…, is it a or b") is part of the question."""
    found, covered = question.words, sought.covered
    asked = [i for i, word in enumerate(found) if word in lex.WH and word not in sought.heard and i not in covered]
    if len(asked) > 1:
        return True
    own = {"which", "what", *(way[0] for way in sought.ways)}
    if covered and any(
        found[i] not in own or ({*found[:i]} - lex.LEADS - {"then"} and found[i - 1] in {"and", "then"}) for i in asked
    ):
        return True
    count = 0
    for start, end in _segments(question):
        lead = next((k for k in range(start, end) if found[k] not in lex.LEADS | lex.AND), start)
        here = [i for i in asked if start <= i < end]
        inverted = _inverted(found, lead) and not covered & set(range(start, end))
        # "could you give me the app who is coming": the question word belongs to a second question.
        count += (inverted or bool(here)) + (inverted and any(not _asking(question, i) for i in here))
    return count > 1


def _segments(question: Line) -> list[tuple[int, int]]:
    """The parts that could each ask on their own, as word ranges."""
    starts = [i for i in range(len(question.words)) if question.starts_clause(i) or _second(question, i)]
    return list(pairwise([*starts, len(question.words)]))


def _second(question: Line, i: int) -> bool:
    found = question.words
    asked = found[i + (found[i] in lex.PREPOSITIONS) :][:1]
    return found[i - 1] in lex.AND and (bool(lex.WH & {*asked}) or _inverted(found, i))


def _inverted(found: tuple[str, ...], i: int) -> bool:
    return found[i] in lex.AUX - lex.ALSO_NOUNS or (
        found[i] in lex.AUX and bool(lex.SUBJECTS & {*found[i + 1 : i + 2]})
    )


def _asking(question: Line, i: int) -> bool:
    """Whether a question word inside a question at i is what that asks: it follows a preposition or a cue."""
    return question.words[i - 1] in lex.PREPOSITIONS | lex.CUES


def stuffing(question: Line, sought: Sought) -> bool:
    """Whether nouns of other slots are strung together ("the time, the app or the words")."""
    own = {word for way in sought.ways for word in way} | sought.heard
    listed = {
        lex.NOUNS[word]
        for i, word in enumerate(question.words)
        if word in lex.NOUNS and word not in own and i not in sought.covered and _listed(question, i)
    }
    return bool(listed - {sought.slot})


def _listed(question: Line, i: int) -> bool:
    """Whether the noun at i, with what stands before it, follows a comma or a conjunction, or leads up to one; a stroke
    between words is one.

    Without an article it may be a verb: "who should i message or call?".
    """
    if any("/" in gap for gap in question.gaps[i : i + 2]):
        return True
    k = i
    while question.words[k - 1] in lex.ARTICLES | {"which", "what"} and not question.starts_clause(k):
        k -= 1
    if {*question.words[:k]} - lex.LEADS and (question.starts_clause(k) or question.words[k - 1] in lex.AND):
        return True
    return k < i and question.words[i + 1 : i + 2] in (("or",), ("and",))


def unknown_options(question: Line, truth: Truth, sought: Sought, said: str) -> bool:
    """Whether the question offers options of which none is a candidate, or one that is none among those that are."""
    if sought.covered:
        return any(_invented(question, sought, *option) for option in _options(question))
    return _strangers(question, truth, sought) and _lists_options(question, said)


def _options(question: Line) -> list[tuple[int, int]]:
    """The parts between commas and conjunctions, as word ranges."""
    starts = [i for i in range(len(question.words)) if question.starts_clause(i) or question.words[i - 1] in lex.EITHER]
    return list(pairwise([*starts, len(question.words)]))


def _invented(question: Line, sought: Sought, start: int, end: int) -> bool:
    """Whether the part names something, although neither a candidate nor the question itself.

    Grammar, courtesy, the words of the request and those of the slot name nothing new. What an auxiliary opens ("do
    you mean …, a or b") does so in its last word, where a thing would stand.
    """
    part = question.words[start:end]
    if sought.covered & {*range(start, end)} or lex.WH & {*part}:
        return False
    known = {stem(word) for word in (*sought.heard, *(word for way in sought.ways for word in way))}
    new = [word for word in part if word not in lex.PLAIN and stem(word) not in known]
    if lex.AUX & {*part[:1]}:
        named = [word for word in part if word not in lex.FILLERS]
        return named[-1:] == new[-1:] != []
    return bool(new)


def _strangers(question: Line, truth: Truth, sought: Sought) -> bool:
    """Whether there are candidates and no word of the question comes from one of them."""
    known = {word for each in truth.candidates for way in each for word in words(normalise(way))}
    known -= {word for way in sought.ways for word in way} | lex.FILLERS | lex.PREPOSITIONS
    return bool(truth.candidates) and not known & set(question.words)


def _lists_options(question: Line, said: str) -> bool:
    heard = joined(said)
    if any(f" {' '.join(words(quoted))} " not in heard for quoted in _QUOTED.findall(question.text)):
        return True
    return "or" in question.words
