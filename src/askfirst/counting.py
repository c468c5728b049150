"""What environments count with: tallies of items, of an ambiguous request and its clear twin, and of repeated episodes.

Items whose facts have `family`, `state`, `template` and `pair` can be counted so; the template of a request, which the
two of a pair share, is the cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import comb

from askfirst.values import FrozenMap, ItemOutcome, Tally

Counts = dict[str, tuple[tuple[float, float], ...]]


def tally(item: ItemOutcome, counts: Counts) -> Tally:
    """What an item counts for, in its cluster and its groups."""
    facts = item.facts
    groups = (f"family={facts['family']}", f"state={facts['state']}")
    return Tally(facts["template"] or item.scenario_id, groups, FrozenMap(counts))


def ratio(numerator: float, denominator: float = 1.0) -> tuple[tuple[float, float], ...]:
    """A measure that is one ratio."""
    return ((float(numerator), float(denominator)),)


def twins(items: Sequence[ItemOutcome]) -> Iterator[tuple[ItemOutcome, ItemOutcome]]:
    """Each ambiguous request and its clear twin, where both were played in the same trial."""
    members: dict[tuple[str, int], dict[str, ItemOutcome]] = defaultdict(dict)
    for item in items:
        if item.facts["pair"]:
            members[item.facts["pair"], item.trial][item.stratum] = item
    for both in members.values():
        if {"ambiguous", "clear_twin"} <= set(both):
            yield both["ambiguous"], both["clear_twin"]


def repeated(items: Sequence[ItemOutcome]) -> Iterator[Tally]:
    """pass^k: the chance that k episodes of a scenario all pass, without bias from the n that were played.

    C(passes, k) / C(n, k), by Yao et al. 2024 (tau-bench).
    """
    tried: dict[str, list[ItemOutcome]] = defaultdict(list)
    for item in items:
        tried[item.scenario_id].append(item)
    for own in tried.values():
        passes = sum(item.passed for item in own)
        counts = {f"pass^{k}": ratio(comb(passes, k) / comb(len(own), k)) for k in range(1, len(own) + 1)}
        yield tally(own[0], counts)
