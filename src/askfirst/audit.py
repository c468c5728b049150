"""Contamination between splits: what a training run sees against what it is evaluated on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from askfirst.metrics import words
from askfirst.values import Scenario

NEAR = 0.8  # Jaccard of token sets from which two requests are near-duplicates
SHORT = 3  # requests of fewer distinct tokens are compared exactly only


@dataclass(frozen=True, slots=True)
class Overlap:
    """An evaluation item that training saw, and how: exact, near, template or value."""

    item: str
    method: str
    detail: str


@dataclass(frozen=True, slots=True)
class Audit:
    """`unauditable` items are too short to compare by tokens; they are not called clean."""

    items: int
    train: int
    overlaps: tuple[Overlap, ...]
    unauditable: int


def audit(train: Iterable[Scenario], evaluation: Iterable[Scenario]) -> Audit:
    """Compare evaluation items with training scenarios: the same or nearly the same text, template or value."""
    train, evaluation = list(train), list(evaluation)
    seen = {request(s) for s in train}
    templates = {s.template for s in train} - {""}
    values = {v for s in train for v in s.values}
    index = _index(train)
    overlaps: list[Overlap] = []
    short = 0
    for item in evaluation:
        text = request(item)
        tokens = frozenset(words(text))
        short += len(tokens) < SHORT
        if text in seen and item.opening in {s.opening for s in train if request(s) == text}:
            overlaps.append(Overlap(item.id, "exact", text))
        elif len(tokens) >= SHORT and (near := _near(tokens, index)):
            overlaps.append(Overlap(item.id, "near", near))
        if item.template in templates:
            overlaps.append(Overlap(item.id, "template", item.template))
        overlaps += [Overlap(item.id, "value", v) for v in item.values if v in values]
    return Audit(len(evaluation), len(train), tuple(overlaps), short)


@dataclass(frozen=True, slots=True)
class Shared:
    """How many different ids, openings, templates and values of each kind two splits have, and have in common."""

    splits: tuple[str, str]
    kind: str
    counts: tuple[int, int]
    common: tuple[str, ...]


def overlaps(one: Sequence[Scenario], other: Sequence[Scenario]) -> list[Shared]:
    """What two splits share, kind by kind. Values of a kind of their own, such as prices and personas, are written
    `kind: value`; the others, and those of a `family.key`, count as words. Raises ValueError for an empty split."""
    if not one or not other:
        raise ValueError("a split without scenarios shares nothing and shows nothing")
    left, right = _kinds(one), _kinds(other)
    pair = (one[0].split, other[0].split)
    return [
        Shared(pair, kind, (len(left.get(kind, ())), len(right.get(kind, ()))), tuple(sorted(both)))
        for kind in sorted({*left, *right})
        for both in [left.get(kind, set()) & right.get(kind, set())]
    ]


def _kinds(scenarios: Sequence[Scenario]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for scenario in scenarios:
        parts = [("id", scenario.id), ("template", scenario.template), ("family", scenario.family.partition(".")[0])]
        parts += [("opening", message.content) for message in scenario.opening]
        for value in scenario.values:
            kind, mark, _ = value.partition(": ")
            parts.append((kind if mark and "." not in kind else "words", value))
        for kind, part in parts:
            found.setdefault(kind, set()).add(part)
    return found


def request(scenario: Scenario) -> str:
    """What the user said, lower-cased, without the screen."""
    return scenario.opening[-1].content.rsplit("user said:", 1)[-1].strip().lower()


def _index(train: Iterable[Scenario]) -> dict[str, set[frozenset[str]]]:
    index: dict[str, set[frozenset[str]]] = {}
    for scenario in train:
        tokens = frozenset(words(request(scenario)))
        for token in tokens:
            index.setdefault(token, set()).add(tokens)
    return index


def _near(tokens: frozenset[str], index: dict[str, set[frozenset[str]]]) -> str:
    """A training request near enough to a token set, or empty text.

    A set within Jaccard s shares at least the share s of the item's tokens, so one of the rarest 1 − s of them
    (plus one) leads to it.
    """
    rare = sorted(tokens, key=lambda t: (len(index.get(t, ())), t))[: len(tokens) - int(NEAR * len(tokens)) + 1]
    for candidate in set().union(*(index.get(t, set()) for t in rare)):
        if len(tokens & candidate) / len(tokens | candidate) >= NEAR:
            return " ".join(sorted(candidate))
    return ""
