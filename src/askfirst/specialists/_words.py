"""Words that mean nothing where they stand: for names of keys and values, and for what is said around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import ways_of
from askfirst.nano_build import made_up, odd

SEEN = tuple(family for family in FAMILIES.values() if not family.unseen)
AROUND = (  # a made-up value
    *("{}", "{}", "the {}", "a {}", "with {}", "{} it is", "for {}", "in the {}", "out of a {}", "for my {}"),
    *("over the {}", "{} of ours", "by {} only", "just {}", "at the {} please", "for one {}", "{} in all"),
)
SHARED = 0.4  # share of the keys whose values begin or end with the same word: `one day`, `one week`
UNREAD = 0.25  # share of the made-up keys whose values are said in words that tell nothing of them
RECAST = 0.2  # share of the words of made-up names and values that are known for something else
FILLED = 0.3  # share of the made-up values that stand between words that mean nothing
# Words of values and of the ways to say them, and of keys, in the families that are trained on; as they are written.
KNOWN: list[str] = sorted(
    {
        word
        for family in SEEN
        for one in family.fields
        for text in (one.name, one.noun, *(way for v in one.values for way in (v, *ways_of(family, one, v, "train"))))
        for word in re.findall(r"[A-Za-z]{2,}", text)
    }
)
ELSEWHERE = sorted({each.lower() for each in KNOWN})
COMMON: list[str] = [
    word
    for line in resources.files(__package__).joinpath("words.txt").read_text("utf-8").split("\n")
    if not line.startswith("#")
    for word in line.split()
]


def common(random: np.random.Generator) -> str:
    """A common word."""
    return COMMON[int(random.integers(len(COMMON)))]


def word(random: np.random.Generator) -> str:
    """A common word; or, one in eight, letters that are none, which only looking again helps to write."""
    if random.random() < 0.875:
        return common(random)
    return odd(random) if random.random() < 0.5 else made_up(random)


def naming(random: np.random.Generator) -> str:
    """A word of a made-up name or value: any, or one that stands elsewhere in the families that are trained on."""
    return ELSEWHERE[int(random.integers(len(ELSEWHERE)))] if random.random() < RECAST else word(random)


def words(count: int, random: np.random.Generator) -> str:
    """So many of them."""
    return " ".join(word(random) for _ in range(count))


def name(random: np.random.Generator) -> list[str]:
    """The words of a key's made-up name."""
    return [naming(random) for _ in range(int(random.integers(1, 3)))]


@dataclass(frozen=True, slots=True)
class Shared:
    """Words that all values of a key have before or after their own."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def around(self, own: Sequence[str]) -> tuple[str, ...]:
        """The words of a value."""
        return (*self.before, *own, *self.after)


def shared(random: np.random.Generator) -> Shared:
    """The word with which all values of a key begin or end, or none."""
    if random.random() >= SHARED:
        return Shared()
    own = (naming(random),)
    return Shared(before=own) if random.random() < 0.5 else Shared(after=own)


def value(shared: Shared, random: np.random.Generator) -> list[str]:
    """The words of a made-up value that are its own; the shared ones stand around them."""
    return [naming(random) for _ in range(int(random.integers(1, 4 - len(shared.around(())))))]


def told(own: Sequence[str], shared: Shared, random: np.random.Generator) -> str:
    """How a value of these words is said: by some of them that stand together, one of which is its own."""
    every, at = shared.around(own), len(shared.before) + int(random.integers(len(own)))
    first, last = random.integers(at + 1), random.integers(at, len(every))
    part = " ".join(every[int(first) : int(last) + 1])
    if random.random() < FILLED:
        before, after = words(int(random.integers(3)), random), words(int(random.integers(3)), random)
        return f"{before} {part} {after}".strip()
    return AROUND[int(random.integers(len(AROUND)))].format(part)


def unread(random: np.random.Generator) -> str:
    """What is said of a value and tells nothing of it."""
    return words(int(random.integers(1, 4)), random)
