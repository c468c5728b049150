"""What splits share, kind by kind: ids, openings, templates, and the values that their scenarios were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askfirst.values import Scenario


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
