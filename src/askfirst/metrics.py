"""Pure measurements of groups, rows and evaluation records; one definition for each named metric."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from askfirst.errors import InputError
from askfirst.replies import SAID
from askfirst.values import Ask, EvalRecord, Floats, FrozenMap, Group, Interval, ItemOutcome, Rollout

NEAR_ECHO = (0.45, 0.60)  # overlap of question and request just under the published echo limit


@dataclass(frozen=True, slots=True)
class Learning:
    """What one optimiser step did. Logprob quantities are means over sampled tokens, in nats.

    `kl_nats` is None where the plan has no KL term, so that the reference was not asked.
    """

    lr: float
    loss: float
    grad_norm: float
    kl_nats: float | None
    clip_fraction: float
    first_ratio_error: float
    sampler_gap_nats: float
    rows_dropped: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What one step cost."""

    sampled_tokens: int
    trained_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One line of metrics.jsonl. `strata` maps a stratum to its own reward, pass, ask rate and signal.

    `monitors` maps each monitor of a step to its value, None where it had too little to measure; `alarms` those
    that are out of bounds to their recent mean.
    """

    version: int
    step: int
    reward: float
    strict_pass: float
    informative_fraction: float
    distinct_question_ratio: float | None
    near_echo_share: float | None
    faults: int
    strata: FrozenMap
    learning: Learning
    cost: Cost
    monitors: FrozenMap = FrozenMap()
    alarms: FrozenMap = FrozenMap()


def informative(group: Group) -> bool:
    """Whether the group's rewards differ, compared exactly on the reward lattice, never by a float deviation."""
    rewards = [r.score.total for r in group.rollouts]
    return max(rewards) > min(rewards)


def stratum_stats(groups: Sequence[Group]) -> FrozenMap:
    """Per stratum, and for all ambiguous and all clear requests: n, reward, pass, ask rate, informative fraction."""
    pools: dict[str, list[Group]] = {}
    for group in groups:
        pools.setdefault(group.scenario.stratum, []).append(group)
        pools.setdefault("all_ambiguous" if group.scenario.ambiguous else "all_clear", []).append(group)
    return FrozenMap({name: _pool_stats(pools[name]) for name in sorted(pools)})


def _pool_stats(groups: Sequence[Group]) -> FrozenMap:
    rollouts = [r for g in groups for r in g.rollouts]
    return FrozenMap(
        {
            "rollouts": len(rollouts),
            "reward": float(np.mean([r.score.total for r in rollouts])),
            "strict_pass": float(np.mean([r.score.passed for r in rollouts])),
            "ask_rate": float(np.mean([isinstance(r.action, Ask) for r in rollouts])),
            "informative_fraction": float(np.mean([informative(g) for g in groups])),
        }
    )


def question_stats(rollouts: Iterable[Rollout]) -> tuple[float | None, float | None]:
    """Distinct questions per question asked, and the share that nearly echoes the request; None when none was asked."""
    asked = [(r.action.question, r.scenario.opening[-1].content) for r in rollouts if isinstance(r.action, Ask)]
    if not asked:
        return None, None
    distinct = len({" ".join(words(q)) for q, _ in asked}) / len(asked)
    low, high = NEAR_ECHO
    near = sum(low <= overlap(q, request) <= high for q, request in asked) / len(asked)
    return distinct, near


def words(text: str) -> list[str]:
    """Lower-case runs of letters, digits and apostrophes."""
    return re.findall(r"[a-z0-9']+", text.lower())


def overlap(question: str, request: str) -> float:
    """Jaccard of the two token sets, in [0, 1]; what the user said is the part after SAID."""
    left, right = set(words(question)), set(words(request.rpartition(SAID)[2]))
    return len(left & right) / len(left | right) if left | right else 0.0


def masked_mean(values: Sequence[Floats], masks: Sequence[np.ndarray[Any, Any]]) -> float:
    """Mean over the masked tokens of all rows; 0 for no tokens at all is refused."""
    tokens = sum(int(m.sum()) for m in masks)
    if tokens == 0:
        raise ValueError("no sampled token to average over")
    return float(sum(v[m].sum() for v, m in zip(values, masks, strict=True)) / tokens)


EVERYTHING, CLEAR = "*", "!ambiguous"
# Metric of an evaluation → (the stratum that counts, what is counted). Clear is every stratum but the ambiguous one.
_METRICS: Mapping[str, tuple[str, str]] = {
    "strict_pass": (EVERYTHING, "passed"),
    "intent_accuracy": (EVERYTHING, "right_intent"),
    "ambiguous_pass": ("ambiguous", "passed"),
    "ambiguous_ask": ("ambiguous", "asked"),
    "clear_pass": (CLEAR, "passed"),
    "false_ask": (CLEAR, "asked"),
    "twin_pass": ("clear_twin", "passed"),
    "twin_false_ask": ("clear_twin", "asked"),
    "out_of_scope_pass": ("out_of_scope", "passed"),
    "destructive_pass": ("destructive", "passed"),
}
METRICS = tuple(_METRICS)


def counted(record: EvalRecord, metric: str) -> list[bool]:
    """The outcomes that a metric is the mean of, in item order. Raises InputError for an unknown metric or no items."""
    if metric not in _METRICS:
        raise InputError(f"no metric is called {metric!r}", hint=f"choose one of: {', '.join(METRICS)}")
    stratum, field = _METRICS[metric]
    chosen = [item for item in record.items if _belongs(item, stratum)]
    if not chosen:
        raise InputError(f"{metric} has no items on split {record.split!r}")
    return [bool(getattr(item, field)) for item in chosen]


def _belongs(item: ItemOutcome, stratum: str) -> bool:
    return stratum == EVERYTHING or (item.stratum != "ambiguous" if stratum == CLEAR else item.stratum == stratum)


def rate(record: EvalRecord, metric: str) -> float:
    """The metric as a share in [0, 1]."""
    outcomes = counted(record, metric)
    return sum(outcomes) / len(outcomes)


def halves(record: EvalRecord, metric: str) -> tuple[float, float] | None:
    """The metric on either half of the items, parted by a hash of their ids; None where a half has none of them."""
    parts: tuple[list[ItemOutcome], list[ItemOutcome]] = [], []
    for item in record.items:
        parts[hashlib.sha256(item.scenario_id.encode()).digest()[0] & 1].append(item)
    if not all(any(_belongs(item, _METRICS[metric][0]) for item in part) for part in parts):
        return None
    one, other = (rate(replace(record, items=tuple(part)), metric) for part in parts)
    return one, other


def summary(record: EvalRecord) -> dict[str, float]:
    """Every metric that has items on this record; of each measure its mean, and with `_low` and `_high` its bounds."""
    found = {
        m: rate(record, m) for m, (stratum, _) in _METRICS.items() if any(_belongs(i, stratum) for i in record.items)
    }
    for name, _ in record.items[0].measures:
        mean = mean_measure(record, name)
        found |= {name: mean.estimate, f"{name}_low": mean.lower, f"{name}_high": mean.upper}
    return found


def mean_measure(record: EvalRecord, name: str, alpha: float = 0.05) -> Interval:
    """The mean of a measure over the items, with normal bounds; items count as independent.

    Raises InputError where an item lacks the measure, ValueError for fewer than two items.
    """
    values = [dict(item.measures).get(name) for item in record.items]
    if None in values:
        raise InputError(f"not every item of split {record.split!r} has the measure {name!r}")
    if len(values) < 2:
        raise ValueError("bounds of a mean need at least two items")
    found = np.array(values, dtype=np.float64)
    half = NormalDist().inv_cdf(1 - alpha / 2) * float(found.std(ddof=1)) / len(found) ** 0.5
    mean = float(found.mean())
    return Interval(mean, mean - half, mean + half, alpha, "normal")


def failure_counts(record: EvalRecord) -> dict[str, int]:
    """How often each failure code occurs, most frequent first."""
    counts: dict[str, int] = {}
    for item in record.items:
        for failure in item.failures:
            counts[failure] = counts.get(failure, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
