"""Measures that an environment has of its own: what it counts in episodes, as ratios with bounds by cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from askfirst.errors import EnvironmentFault
from askfirst.stats import ratios
from askfirst.values import FrozenMap, ItemOutcome, Measure, Scenario, Tally, Trajectory

WHOLE = ""  # the group of all


@dataclass(slots=True)
class _Sums:
    """A measure as it is counted: cluster → numerators and denominators in turn."""

    clusters: dict[str, list[float]] = field(default_factory=dict)
    items: int = 0


def noted(env: ModuleType, scenario: Scenario, trajectory: Trajectory) -> FrozenMap:
    """What an environment notes of an episode by its `facts(scenario, trajectory)`, nothing where it has none."""
    note = getattr(env, "facts", None)
    return FrozenMap() if note is None else FrozenMap(note(scenario, trajectory))


def measures(env: ModuleType, items: Sequence[ItemOutcome]) -> tuple[Measure, ...]:
    """The measures of an environment that has `tallies(items)`, none for another.

    `MEANS` of the environment names those that are no shares of a whole, `SPREADS` those of which the standard
    deviation between clusters is given too. A measure without a denominator is left out: it was not measured. Raises
    EnvironmentFault for a tally that is not of finite numbers with denominators of 0 or more.
    """
    count = getattr(env, "tallies", None)
    if count is None:
        return ()
    return measured(count(items), frozenset(getattr(env, "MEANS", ())), frozenset(getattr(env, "SPREADS", ())))


def measured(
    tallies: Iterable[Tally], means: frozenset[str] = frozenset(), spreads: frozenset[str] = frozenset()
) -> tuple[Measure, ...]:
    """Every measure over all tallies and over each of their groups; by group, in the order in which they came up."""
    found: dict[tuple[str, str], _Sums] = {}
    for tally in tallies:
        for name, pairs in tally.counts.items():
            numbers = [float(number) for pair in pairs for number in pair]
            if not all(map(math.isfinite, numbers)) or min(numbers[1::2], default=-1.0) < 0:
                raise EnvironmentFault(f"measure {name!r} of cluster {tally.cluster!r} counts {pairs}")
            if any(numbers[1::2]):
                for group in (WHOLE, *tally.groups):
                    _add(found.setdefault((group, name), _Sums()), tally.cluster, numbers)
    every: list[Measure] = []
    for (group, name), sums in found.items():
        every += _measure(name, group, sums, name not in means)
        every += _spread(name, sums) if name in spreads and group == WHOLE else ()
    return tuple(sorted(every, key=lambda each: each.group))


def _add(sums: _Sums, cluster: str, numbers: list[float]) -> None:
    before = sums.clusters.get(cluster)
    sums.clusters[cluster] = [a + b for a, b in zip(before, numbers, strict=True)] if before else numbers
    sums.items += 1


def _measure(name: str, group: str, sums: _Sums, share: bool) -> list[Measure]:
    table = np.array(list(sums.clusters.values()), dtype=np.float64)
    numerators, denominators = table[:, 0::2], table[:, 1::2]
    if np.any(denominators.sum(axis=0) <= 0):
        return []
    value, clusters = ratios.estimate(numerators, denominators), len(table)
    if clusters < 2 or (not share and ratios.alike(numerators, denominators)):
        return [Measure(name, group, value, None, None, sums.items, clusters)]
    bounds = ratios.interval(numerators, denominators, sums.items, share)
    return [Measure(name, group, value, bounds.lower, bounds.upper, sums.items, clusters)]


def _spread(name: str, sums: _Sums) -> list[Measure]:
    """The standard deviation between the clusters' own ratios, which is that of chance too."""
    own = [row[0] / row[1] for row in sums.clusters.values()]
    if len(own) < 2:
        return []
    return [Measure(f"{name}_spread", WHOLE, float(np.std(own, ddof=1)), None, None, sums.items, len(own))]


def of_group(found: Iterable[Measure], group: str = WHOLE) -> Mapping[str, Measure]:
    """Name → measure of one group."""
    return {each.name: each for each in found if each.group == group}
