"""Whether a question asks for more than one thing, or for things that are not there."""

from __future__ import annotations

import re

from askfirst.replies import Truth
from askfirst.rewards.slots import _lexicon as lex
from askfirst.rewards.slots._naming import Sought
from askfirst.rewards.slots._text import Line, joined, normalise, words

_QUOTED = re.compile(r'"([^"]+)"')


def compound(question: Line, sought: Sought) -> bool:
    """Whether more than one thing is asked; an offer of candidates ("…, is it a or b") is part of the question."""
    found, covered = question.words, sought.covered
    asked = [i for i, word in enumerate(found) if word in lex.WH and word not in sought.heard and i not in covered]
    if len(asked) > 1:
        return True
    own = {"which", "what", *(way[0] for way in sought.ways)}
    if covered and any(found[i] not in own for i in asked):
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
    if not question.words:
        return []
    starts = [i for i in range(len(question.words)) if question.starts_clause(i) or _second(question, i)]
    return list(zip(starts, [*starts[1:], len(question.words)], strict=True))


def _second(question: Line, i: int) -> bool:
    found = question.words
    if found[i - 1] not in lex.AND and found[i] != "&":
        return False
    inner = i + 1 if found[i] in lex.PREPOSITIONS and i + 1 < len(found) else i
    return found[inner] in lex.WH or _inverted(found, i)


def _inverted(found: tuple[str, ...], i: int) -> bool:
    return found[i] in lex.AUX and i + 1 < len(found) and found[i + 1] in lex.SUBJECTS


def _asking(question: Line, i: int) -> bool:
    """Whether a question word at i asks: it opens a clause, or follows a preposition, a cue or a conjunction."""
    if question.starts_clause(i):
        return True
    before = question.words[i - 1]
    if before in lex.PREPOSITIONS or before in lex.CUES or before in lex.AND:
        return True
    while i > 0 and not question.starts_clause(i):
        i -= 1
        if question.words[i] not in lex.LEADS:
            return False
    return True


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
    k = i
    while k > 0 and question.words[k - 1] in lex.ARTICLES | {"which", "what"} and not question.starts_clause(k):
        k -= 1
    if k == 0 or question.starts_clause(k) or question.words[k - 1] in lex.AND:
        return k > 0 or k == i
    return k < i and i + 1 < len(question.words) and question.words[i + 1] in {"or", "and"}


def unknown_options(question: Line, truth: Truth, sought: Sought, said: str) -> bool:
    """Whether the question lists options although none of them is one of the candidates."""
    return not sought.covered and _strangers(question, truth, sought) and _lists_options(question, said)


def _strangers(question: Line, truth: Truth, sought: Sought) -> bool:
    """Whether there are candidates and no word of the question comes from one of them."""
    known = {word for each in truth.candidates for way in each for word in words(normalise(way))}
    known -= {word for way in sought.ways for word in way} | lex.FILLERS
    return bool(truth.candidates) and not known & set(question.words)


def _lists_options(question: Line, said: str) -> bool:
    heard = joined(said)
    if any(f" {' '.join(words(quoted))} " not in heard for quoted in _QUOTED.findall(question.text)):
        return True
    found = question.words
    return any(word == "or" and found[i + 1 : i + 2] not in (("so",), ("not",)) for i, word in enumerate(found))
