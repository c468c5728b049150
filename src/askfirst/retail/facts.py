"""What an evaluation of `retail` notes of an episode, and what that counts for.

Every gate is a share of episodes; `published` is the share that the published reward would pay. Episodes hang together
by the wording of their request, which the two of a pair share, so that it is the cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import comb
from typing import Any

from askfirst.retail.episode import TRANSFERRED, recorded
from askfirst.retail.evidence import judge
from askfirst.retail.task import hidden_of
from askfirst.values import FrozenMap, ItemOutcome, Scenario, Tally, Trajectory

MEANS = frozenset({"turns", "tokens", "needless"})
HEADLINES = ("evidence", "published", "asked_where_due", "needless_asking", "confirmed", "pair_consistency")
Counts = dict[str, tuple[tuple[float, float], ...]]


def facts(scenario: Scenario, trajectory: Trajectory) -> FrozenMap:
    """The facts of an episode, as JSON types. Raises TypeError for a scenario of another environment."""
    hidden, record = hidden_of(scenario), recorded(scenario, trajectory)
    found = judge(hidden, record)
    return FrozenMap(
        {
            "family": hidden.family,
            "state": hidden.state,
            "template": scenario.template,
            "pair": scenario.twin,
            "ending": record.ending,
            "turns": len(record.turns),
            "tokens": sum(len(segment.token_ids) for segment in trajectory.segments if segment.sampled),
            "published": record.paid,
            "identified": found.identified,
            "due": len(hidden.open),
            "resolved": found.resolved * len(hidden.open),
            "needless": found.needless,
            "writes": sum(turn.wrote for turn in record.turns),
            "agreed": found.agreed,
            "extra": found.extra,
            "trespasses": found.trespasses,
            "guessed": found.guessed,
            "transferred": record.ending == TRANSFERRED,
            "beyond": hidden.beyond,
        }
    )


def tallies(items: Sequence[ItemOutcome]) -> Iterator[Tally]:
    """What the items of an evaluation count for: item by item, pair by pair, and scenario by scenario."""
    for item in items:
        yield _tally(item, _counts(item))
    yield from _pairs(items)
    yield from _repeated(items)


def _tally(item: ItemOutcome, counts: Counts) -> Tally:
    facts = item.facts
    groups = (f"family={facts['family']}", f"state={facts['state']}")
    return Tally(facts["template"] or item.scenario_id, groups, FrozenMap(counts))


def _of(numerator: float, denominator: float = 1.0) -> tuple[tuple[float, float], ...]:
    return ((float(numerator), float(denominator)),)


def _counts(item: ItemOutcome) -> Counts:
    facts: Mapping[str, Any] = item.facts
    return {
        "evidence": _of(item.passed),
        "published": _of(facts["published"]),
        "published_without_evidence": _of(facts["published"] and not item.passed, facts["published"]),
        "identified": _of(facts["identified"]),
        "asked_where_due": _of(facts["resolved"], facts["due"]),
        "needless_asking": _of(item.asked, not facts["due"]),
        "needless": _of(facts["needless"]),
        "guessed": _of(facts["guessed"], facts["due"] > 0),
        "confirmed": _of(facts["agreed"], facts["writes"]),
        "extra_writes": _of(facts["extra"] > 0),
        "trespassed": _of(facts["trespasses"] > 0),
        "transferred_rightly": _of(facts["transferred"] and facts["beyond"], facts["transferred"]),
        "turns": _of(facts["turns"]),
        "tokens": _of(facts["tokens"], facts["tokens"] > 0),
    }


def _pairs(items: Sequence[ItemOutcome]) -> Iterator[Tally]:
    """A request that leaves something open and its clear twin, both there: whether both are right."""
    members: dict[tuple[str, int], dict[str, ItemOutcome]] = defaultdict(dict)
    for item in items:
        if item.facts["pair"]:
            members[item.facts["pair"], item.trial][item.stratum] = item
    for both in members.values():
        if {"ambiguous", "clear_twin"} <= set(both):
            one, other = both["ambiguous"], both["clear_twin"]
            yield _tally(one, {"pair_consistency": _of(one.passed and other.passed)})


def _repeated(items: Sequence[ItemOutcome]) -> Iterator[Tally]:
    """pass^k: the chance that k episodes of a scenario all pass, without bias from the n that were played.

    C(passes, k) / C(n, k), by Yao et al. 2024 (tau-bench).
    """
    tried: dict[str, list[ItemOutcome]] = defaultdict(list)
    for item in items:
        tried[item.scenario_id].append(item)
    for own in tried.values():
        passes = sum(item.passed for item in own)
        counts = {f"pass^{k}": _of(comb(passes, k) / comb(len(own), k)) for k in range(1, len(own) + 1)}
        yield _tally(own[0], counts)
