"""Which requests are worth practising, by what the policy's own rollouts have shown so far.

A group of rollouts teaches only where some of them pass and some do not. For a kind of request (stratum and family)
with an unknown pass rate p ~ Beta(a, b), the chance of that in a group of G is 1 − E[p^G] − E[(1−p)^G], and
E[p^G] = Π (a+i)/(a+b+i) over i < G (moments of the Beta distribution). a and b are a prior plus the passes and failures
seen, which fade with age: the policy changes, and a kind that was hopeless is tried again.

Everything is a function of records and seeds, so a run that goes on from a checkpoint chooses what it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askfirst.sections import CurriculumSection
from askfirst.store import as_record, read_json
from askfirst.values import FrozenMap, Group, Scenario

SEEN = "curriculum.json"  # in a checkpoint


@dataclass(frozen=True, slots=True)
class Seen:
    """What rollouts have shown: kind of request → passes and failures, aged to the last step."""

    version: int = 1
    counts: FrozenMap = FrozenMap()

    def after(self, groups: Sequence[Group], section: CurriculumSection) -> Seen:
        """What is known after one more step. A static curriculum remembers nothing."""
        if section.mode == "static":
            return self
        keep = 0.5 ** (1.0 / section.half_life)
        counts = {kind: (passes * keep, failures * keep) for kind, (passes, failures) in self.counts.items()}
        for group in groups:
            passed = sum(rollout.score.passed for rollout in group.rollouts)
            passes, failures = counts.get(kind_of(group.scenario), (0.0, 0.0))
            counts[kind_of(group.scenario)] = (passes + passed, failures + len(group.rollouts) - passed)
        return Seen(1, FrozenMap({kind: counts[kind] for kind in sorted(counts)}))

    def worth(self, scenario: Scenario, section: CurriculumSection, group_size: int) -> float:
        """The chance that a group of this kind of request tells its rollouts apart, in (0, 1)."""
        passes, failures = self.counts.get(kind_of(scenario), (0.0, 0.0))
        return chance_of_signal(section.prior[0] + passes, section.prior[1] + failures, group_size)


def kind_of(scenario: Scenario) -> str:
    """What rollouts are counted by."""
    return f"{scenario.stratum}/{scenario.family}"


def chance_of_signal(passes: float, failures: float, group_size: int) -> float:
    """1 − E[p^G] − E[(1−p)^G] for p ~ Beta(passes, failures); both are above 0."""
    steps, total = np.arange(group_size), passes + failures
    every, none = (float(np.prod((each + steps) / (total + steps))) for each in (passes, failures))
    return max(1.0 - every - none, 1e-12)  # rounding may take it below 0


def choose(pool: Sequence[Scenario], count: int, weights: Sequence[float], random: np.random.Generator) -> list[int]:
    """Places of `count` different members of a pool, drawn with chances in proportion to positive weights.

    The smallest of exponential waiting times with those rates (Efraimidis and Spirakis 2006), in the pool's order. A
    scenario that the pool holds twice is taken once. Raises ValueError where there are too few.
    """
    waits = random.standard_exponential(len(pool)) / np.asarray(weights)
    first = {pool[at].id: at for at in range(len(pool) - 1, -1, -1)}
    places = sorted(sorted(first.values()), key=lambda at: (waits[at], at))[:count]
    if len(places) < count:
        raise ValueError(f"{count} different scenarios are wanted and the pool has {len(first)}")
    return sorted(places)


def read_seen(folder: Path) -> Seen:
    """What a checkpoint of an informative curriculum remembers. Raises InputError for a checkpoint without it."""
    path = folder / SEEN
    found = as_record(_File, read_json(path), str(path))
    return Seen(found.version, FrozenMap(found.counts))


@dataclass(frozen=True, slots=True)
class _File:
    """curriculum.json."""

    version: int
    counts: dict[str, tuple[float, float]]
