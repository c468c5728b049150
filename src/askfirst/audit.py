"""Contamination between splits: what a training run sees against what it is evaluated on."""

from __future__ import annotations

from collections.abc import Iterable
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
