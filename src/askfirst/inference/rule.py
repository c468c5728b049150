"""The three-way rule on a mean difference: validated above the margin, failed below it, otherwise inconclusive.

Whether a verdict is valid comes first. What is missing makes it uncertain and never a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType

import numpy as np

from askfirst.errors import PlanError
from askfirst.stats import betting, clustered, empirical_bernstein, paired_bootstrap, paired_hoeffding, tango
from askfirst.stats._bounded import Support, checked, item_means, span
from askfirst.store import content_hash, seed_from
from askfirst.values import Floats, Interval, Target


class Validity(StrEnum):
    """The first stage: whether there is anything to decide with."""

    COMPUTED = "computed"
    UNCERTAIN = "uncertain"


class Status(StrEnum):
    """The second stage: what the data say."""

    VALIDATED = "validated"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule on Σ w·x: the method, its error α, the margin, what it is about, and the support of a value.

    `salt` is the hash of the plan; it fixes the order of items and the draws of a bootstrap.
    """

    method: str
    alpha: float
    margin: float
    target: Target
    within: Support
    salt: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A difference for each item, shape (items,) or (items, trials), and the cluster of each where they are units."""

    items: tuple[str, ...]
    values: Floats
    clusters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A rule, applied: all that the status follows from."""

    status: Status
    estimate: float
    interval: tuple[float, float]
    method: str
    target: Target
    span: float  # R
    n: int
    trials: int
    alpha: float
    margin: float
    inputs_sha256: str


Method = Callable[[Rule, Evidence], Interval]


def serves(method: str, target: Target) -> None:
    """Raise PlanError unless the method is known here and can speak of the target."""
    if method not in METHODS:
        raise PlanError(f"no decision method is called {method!r}", hint=f"choose one of: {', '.join(sorted(METHODS))}")
    module = METHODS[method][0]
    if target not in module.TARGETS:
        able = sorted(name for name, (other, _) in METHODS.items() if target in other.TARGETS)
        raise PlanError(
            f"{method} cannot speak of {target}, only of {', '.join(module.TARGETS)}",
            hint=f"for {target}: {', '.join(able) or 'none of the methods for a paired difference'}",
        )


def apply(rule: Rule, evidence: Evidence) -> Outcome:
    """What the evidence says under the rule.

    Raises PlanError for a method that cannot serve the target, ValueError for evidence that is missing, outside the
    support or that the method cannot take.
    """
    serves(rule.method, rule.target)
    values = checked(evidence.values, rule.within)
    if len(evidence.items) != len(values) or len(set(evidence.items)) != len(values):
        raise ValueError(f"{len(values)} values need as many different items, found {len(set(evidence.items))}")
    if rule.target == "new_clusters" and len(evidence.clusters) != len(values):
        raise ValueError(f"{len(values)} items need a cluster each, found {len(evidence.clusters)}")
    found = METHODS[rule.method][1](rule, evidence)
    if found.lower > rule.margin:
        status = Status.VALIDATED
    else:
        status = Status.FAILED if found.upper < rule.margin else Status.INCONCLUSIVE
    inputs = {"items": evidence.items, "values": values, "clusters": evidence.clusters}
    return Outcome(
        status=status,
        estimate=found.estimate,
        interval=(found.lower, found.upper),
        method=found.method,
        target=rule.target,
        span=span(rule.within),
        n=len(values),
        trials=values.shape[1] if values.ndim == 2 else 1,
        alpha=rule.alpha,
        margin=rule.margin,
        inputs_sha256=content_hash(inputs),
    )


def together(statuses: Sequence[Status]) -> Status:
    """Several criteria, all required: validated when all are, failed when one is. Raises ValueError for none.

    Each at level α is enough for "all hold" (intersection-union).
    """
    if not statuses:
        raise ValueError("a verdict of no criteria has no meaning")
    if all(s is Status.VALIDATED for s in statuses):
        return Status.VALIDATED
    return Status.FAILED if Status.FAILED in statuses else Status.INCONCLUSIVE


def _clusters(rule: Rule, evidence: Evidence) -> tuple[str, ...]:
    return evidence.clusters if rule.target == "new_clusters" else ()


def _hoeffding(rule: Rule, evidence: Evidence) -> Interval:
    return paired_hoeffding.interval(
        evidence.values, rule.within, rule.alpha, target=rule.target, clusters=_clusters(rule, evidence)
    )


def _bernstein(rule: Rule, evidence: Evidence) -> Interval:
    return empirical_bernstein.interval(evidence.values, rule.within, rule.alpha, target=rule.target)


def _betting(rule: Rule, evidence: Evidence) -> Interval:
    return betting.interval(evidence.values, rule.within, rule.alpha, items=evidence.items, salt=rule.salt)


def _bootstrap(rule: Rule, evidence: Evidence) -> Interval:
    seed = seed_from("paired_bootstrap", rule.salt)
    return paired_bootstrap.interval(evidence.values, rule.alpha, seed=seed, clusters=_clusters(rule, evidence))


def _clustered(rule: Rule, evidence: Evidence) -> Interval:
    return clustered.interval(evidence.values, rule.alpha, clusters=_clusters(rule, evidence))


def _tango(rule: Rule, evidence: Evidence) -> Interval:
    values = item_means(np.asarray(evidence.values, dtype=np.float64))
    if not np.isin(values, (-1.0, 0.0, 1.0)).all():
        raise ValueError("tango compares passes: each item is a win (1), a loss (−1) or a tie (0)")
    return tango.interval(int((values > 0).sum()), int((values < 0).sum()), len(values), rule.alpha)


# Name → the module, which says what it can serve, and how it takes a rule and its evidence.
METHODS: Mapping[str, tuple[ModuleType, Method]] = {
    "paired_hoeffding": (paired_hoeffding, _hoeffding),
    "empirical_bernstein": (empirical_bernstein, _bernstein),
    "betting": (betting, _betting),
    "paired_bootstrap": (paired_bootstrap, _bootstrap),
    "clustered": (clustered, _clustered),
    "tango": (tango, _tango),
}
