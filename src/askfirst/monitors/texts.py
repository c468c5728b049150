"""Questions as texts: what is left of one without the names in it, and whether it reads like one at all."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from askfirst.metrics import words

NAMED = "◦"  # stands in a template for what the request or the screen holds
SALAD = 3  # so many question words make no question
UNSPOKEN = 6  # so many words without one that joins them are a list
LONG_WORD = 20  # letters
OPENERS = frozenset("who whom whose what which when where why how".split())
# Words that a question is built of: not names, even where the request holds them too.
BUILDING = OPENERS | frozenset(
    "a an the this that these those it its one ones thing things item items exactly i you me my your we us our "
    "do does did should would could can will shall may is are am be was were have has want wants need like mean "
    "to of for in on at by with from into about as and or not no yes please sorry use make put get let".split()
)


def template(question: str, shown: str) -> str:
    """The question with every run of words that are also shown as one NAMED; building words always stay."""
    known = frozenset(words(shown)) - BUILDING
    kept: list[str] = []
    for word in words(question):
        part = NAMED if word in known else word
        if part != NAMED or kept[-1:] != [NAMED]:
            kept.append(part)
    return " ".join(kept)


def generic(template: str) -> bool:
    """Whether a template names nothing that was shown."""
    return NAMED not in template.split()


def garbled(text: str, shown: str) -> bool:
    """Whether a text reads like no sentence; a crude test, without a model of the language.

    It looks for words that are not shown and have no vowel, a letter three times in a row or more than LONG_WORD
    letters; for a word or a pair of words said twice in a row, or a word four times; for SALAD question words; and
    for UNSPOKEN words or more without one that joins them.
    """
    said = words(text)
    own = set(said) - set(words(shown))
    pairs = list(pairwise(said))
    return (
        any(_malformed(word) for word in own)
        or any(a == b for a, b in pairs)
        or any(a == b for a, b in zip(pairs, pairs[2:], strict=False))
        or max(Counter(said).values(), default=0) > 3
        or sum(word in OPENERS for word in said) >= SALAD
        or (len(said) >= UNSPOKEN and not BUILDING & set(said))
    )


def _malformed(word: str) -> bool:
    letters = re.sub(r"[^a-z]", "", word)
    return len(letters) == len(word) > 3 and (
        len(word) > LONG_WORD or not re.search(r"[aeiouy]", word) or re.search(r"(.)\1\1", word) is not None
    )
