"""What an evaluation of `retail` notes of an episode, and what that counts for.

Every gate is a share of episodes; `published` is the share that the published reward would pay. Episodes hang together
by the wording of their request, which the two of a pair share, so that it is the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from askfirst.counting import Counts, ratio, repeated, tally, twins
from askfirst.retail.episode import TRANSFERRED, recorded
from askfirst.retail.evidence import judge
from askfirst.retail.task import hidden_of
from askfirst.values import FrozenMap, ItemOutcome, Scenario, Tally, Trajectory

MEANS = frozenset({"turns", "tokens", "needless"})
HEADLINES = ("evidence", "published", "asked_where_due", "needless_asking", "confirmed", "pair_consistency")


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
        yield tally(item, _counts(item))
    yield from _pairs(items)
    yield from repeated(items)


def _counts(item: ItemOutcome) -> Counts:
    facts: Mapping[str, Any] = item.facts
    return {
        "evidence": ratio(item.passed),
        "published": ratio(facts["published"]),
        "published_without_evidence": ratio(facts["published"] and not item.passed, facts["published"]),
        "identified": ratio(facts["identified"]),
        "asked_where_due": ratio(facts["resolved"], facts["due"]),
        "needless_asking": ratio(item.asked, not facts["due"]),
        "needless": ratio(facts["needless"]),
        "guessed": ratio(facts["guessed"], facts["due"] > 0),
        "confirmed": ratio(facts["agreed"], facts["writes"]),
        "extra_writes": ratio(facts["extra"] > 0),
        "trespassed": ratio(facts["trespasses"] > 0),
        "transferred_rightly": ratio(facts["transferred"] and facts["beyond"], facts["transferred"]),
        "turns": ratio(facts["turns"]),
        "tokens": ratio(facts["tokens"], facts["tokens"] > 0),
    }


def _pairs(items: Sequence[ItemOutcome]) -> Iterator[Tally]:
    """A request that leaves something open and its clear twin, both there: whether both are right."""
    for one, other in twins(items):
        yield tally(one, {"pair_consistency": ratio(one.passed and other.passed)})
