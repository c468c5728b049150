"""Seeded draws and template filling."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
_SLUG = re.compile(r"[^a-z0-9]+")
_HOLE = re.compile(r"\{([a-z]+\d?)(?::(\w+))?\}")


class Draw:
    """A stream of draws from one seed. Only `Random.random` is used, whose sequence Python guarantees."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, n: int) -> int:
        """A whole number in [0, n)."""
        return int(self._random.random() * n)

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self._random.random() < p

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[T], cumulative: Sequence[float]) -> T:
        """One of the options; `cumulative` are running sums of their weights, the last being the total."""
        x = self._random.random() * cumulative[-1]
        return options[next(i for i, c in enumerate(cumulative) if x < c or i == len(options) - 1)]

    def some(self, options: Sequence[T], k: int) -> list[T]:
        """k different options in random order (all of them when there are fewer)."""
        if k <= 4 and len(options) >= 16:
            found: dict[int, None] = {}
            while len(found) < k:
                found[self.below(len(options))] = None
            return [options[i] for i in found]
        return self.shuffled(options)[:k]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in random order."""
        order = list(options)
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order

    def choose(self, template: str) -> str:
        """The template with each `(one|other)` decided."""
        if "(" not in template:
            return template
        return _CHOICE.sub(lambda m: self.pick(m.group(1).split("|")), template)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with `{name}` replaced; `{name:slug}` and `{name:cap}` give file-name and label forms."""
    if "{" not in template:
        return template

    def value(match: re.Match[str]) -> str:
        text = values[match.group(1)]
        match match.group(2):
            case "slug":
                return _SLUG.sub("-", text.lower()).strip("-")
            case "cap":
                return text[:1].upper() + text[1:]
            case _:
                return text

    return _HOLE.sub(value, template)
