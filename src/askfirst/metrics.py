"""Pure measurements of groups, rows and evaluation records; one definition for each named metric."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean as mean
from typing import Any

import numpy as np

from askfirst.errors import InputError, SplitError
from askfirst.judgement import Judged
from askfirst.replies import SAID
from askfirst.values import Ask, EvalRecord, Floats, FrozenMap, Group, ItemOutcome, Rollout

SELECTED_ON = ("dev", "smoke")  # splits
MOVED = 0.05  # nats between teacher and policy that count as a difference
NEAR_ECHO = (0.45, 0.60)  # overlap of question and request just under the published echo limit
NEAR_PARTS = (0.45, 0.50, 0.55, 0.60)  # of it, for a histogram


@dataclass(frozen=True, slots=True)
class Taught:
    """What a teacher made of a step's rollouts; means are over all sampled tokens.

    A rollout with nothing to show counts as one on which the teacher agrees. The gap is log teacher − log policy in
    nats, before clipping; `moved_fraction` is the share of tokens where it is more than MOVED, `clip_fraction` that
    of those it was clipped on. `kl_nats` is the k3 estimate of KL(policy ‖ teacher).
    """

    taught_fraction: float
    sibling_fraction: float
    feedback_fraction: float
    too_long: int
    kl_nats: float
    mean_abs_gap_nats: float
    p99_abs_gap_nats: float
    moved_fraction: float
    clip_fraction: float
    mean_abs_advantage: float


@dataclass(frozen=True, slots=True)
class Learning:
    """What one optimiser step did. Logprob quantities are means over sampled tokens, in nats.

    `kl_nats` is of the rows that were learnt from, and where there was none, of one row a group. It is None where the
    plan has no KL term, so that the reference was not asked. `taught` is None where the advantage needs no teacher.
    """

    lr: float
    loss: float
    grad_norm: float
    kl_nats: float | None
    clip_fraction: float
    first_ratio_error: float
    sampler_gap_nats: float
    rows_dropped: int
    taught: Taught | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one step cost. `teacher_tokens` were read to compare teacher and policy."""

    sampled_tokens: int
    trained_tokens: int
    seconds: float
    teacher_tokens: int = 0


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One line of metrics.jsonl. `strata` maps a stratum to its own reward, pass, ask rate and signal.

    `terms` maps each term of the reward to its mean and to its correlation with the total and with passing.
    `questions` has the mean number of words of a question, None when none was asked, and how many questions have an
    overlap with the request within each part of NEAR_ECHO. `monitors` maps each monitor of a step to its value, None
    where it had too little to measure; `alarms` those that are out of bounds to their recent mean. `judge` is what the
    plan's judge says of the step's rollouts, None without one.
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
    terms: FrozenMap = FrozenMap()
    questions: FrozenMap = FrozenMap()
    monitors: FrozenMap = FrozenMap()
    alarms: FrozenMap = FrozenMap()
    judge: Judged | None = None


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


def question_shape(rollouts: Iterable[Rollout]) -> FrozenMap:
    """Mean words of a question, None when none was asked, and how many lie in each of NEAR_PARTS by their overlap."""
    asked = [(r.action.question, r.scenario.opening[-1].content) for r in rollouts if isinstance(r.action, Ask)]
    overlaps = [overlap(question, request) for question, request in asked]
    edges = list(pairwise(NEAR_PARTS))
    near = {f"{low:.2f}": sum(low <= o < high or o == high == NEAR_ECHO[1] for o in overlaps) for low, high in edges}
    return FrozenMap({"words": mean([len(words(q)) for q, _ in asked]) if asked else None, "near": FrozenMap(near)})


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's r of two series; None where one of them does not vary, or there is nothing."""
    if not one or min(one) == max(one) or min(other) == max(other):
        return None
    return float(np.corrcoef(one, other)[0, 1])


def terms_of_rollouts(rollouts: Sequence[Rollout]) -> FrozenMap:
    """By term of the reward: its mean, and its correlation with the total and with passing."""
    scores = [r.score for r in rollouts]
    judges = {"total": [s.total for s in scores], "pass": [float(s.passed) for s in scores]}
    return _terms([s.terms for s in scores], judges)


def terms_of_items(record: EvalRecord, oracle: str) -> FrozenMap:
    """The same of an evaluation, and the correlation with what the oracle passes, where that judged it."""
    items = record.items
    judges = {"total": [i.total for i in items], "pass": [float(i.passed) for i in items]}
    if items and all(oracle in i.verdicts for i in items):
        judges["oracle"] = [float(i.verdicts[oracle]) for i in items]
    return _terms([i.terms for i in items], judges)


def _terms(found: Sequence[Mapping[str, float]], judges: Mapping[str, Sequence[float]]) -> FrozenMap:
    stats = {}
    for name in sorted({name for terms in found for name in terms}):
        values = [terms.get(name, 0.0) for terms in found]
        with_judges = {f"with_{judge}": correlation(values, other) for judge, other in judges.items()}
        stats[name] = FrozenMap({"mean": mean(values), **with_judges})
    return FrozenMap(stats)


def agreements(record: EvalRecord, oracle: str) -> list[dict[str, Any]]:
    """A two by two table for each reward that judged beside the one of the evaluation: how many items both pass, only
    one, or neither. The oracle's comes first, then that of the reward that passes fewest.
    """
    names = record.items[0].verdicts if record.items else ()
    tables = [_agreement(record, name, oracle) for name in names]
    return sorted(tables, key=lambda t: (not t["oracle"], t["both"] + t["only_other"], t["by"]))


def _agreement(record: EvalRecord, name: str, oracle: str) -> dict[str, Any]:
    pairs = [(item.passed, bool(item.verdicts[name])) for item in record.items]
    cells = {"both": (True, True), "only_reward": (True, False), "only_other": (False, True), "neither": (False, False)}
    return {"by": name, "oracle": name == oracle, **{cell: pairs.count(kind) for cell, kind in cells.items()}}


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
MEAN_SCORE = "mean_score"  # of all items, by the reward; a share of nothing, so that no verdict is about it
SELECTABLE = (*METRICS, MEAN_SCORE)


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
    return not item.trial and _counts(item.stratum, stratum)


def _counts(own: str, wanted: str) -> bool:
    return wanted == EVERYTHING or (own != "ambiguous" if wanted == CLEAR else own == wanted)


def share(metric: str, strata: Sequence[str]) -> float:
    """The share of items, given by their strata, that a metric is the mean of. Raises InputError for an unknown one."""
    if metric not in _METRICS or not strata:
        raise InputError(f"no metric is called {metric!r}, or there are no items", hint=f"one of: {', '.join(METRICS)}")
    return sum(_counts(own, _METRICS[metric][0]) for own in strata) / len(strata)


def rate(record: EvalRecord, metric: str) -> float:
    """The metric as a share in [0, 1]."""
    outcomes = counted(record, metric)
    return sum(outcomes) / len(outcomes)


def halves(record: EvalRecord, metric: str) -> tuple[float, float] | None:
    """The metric, one of SELECTABLE, on either half of the items, parted by a hash of their ids; None where a half has
    none of them."""
    parts: tuple[list[ItemOutcome], list[ItemOutcome]] = [], []
    for item in record.items:
        parts[hashlib.sha256(item.scenario_id.encode()).digest()[0] & 1].append(item)
    one, other = (selectable(replace(record, items=tuple(part))).get(metric) for part in parts)
    return None if one is None or other is None else (one, other)


def summary(record: EvalRecord) -> dict[str, float]:
    """Every metric that has items on this record."""
    return {
        m: rate(record, m) for m, (stratum, _) in _METRICS.items() if any(_belongs(i, stratum) for i in record.items)
    }


def selectable(record: EvalRecord) -> dict[str, float]:
    """Those of SELECTABLE that have items on this record."""
    scores = [item.total for item in record.items if not item.trial]
    return {**summary(record), **({MEAN_SCORE: mean(scores)} if scores else {})}


class DevMetrics(FrozenMap):
    """Metrics of an evaluation that selection may see: those SELECTABLE of a dev or smoke record, and nothing else."""

    __slots__ = ()

    @classmethod
    def of(cls, record: EvalRecord) -> DevMetrics:
        """Raises SplitError for a record of any other split."""
        if record.split not in SELECTED_ON:
            raise SplitError(
                f"selection sees {' and '.join(SELECTED_ON)} metrics only, not those of split {record.split!r}",
                where=record.checkpoint,
            )
        return cls(selectable(record))

    def __reduce__(self) -> tuple[type[DevMetrics], tuple[dict[str, Any]]]:
        return (DevMetrics, (dict(self._items),))


def failure_counts(record: EvalRecord) -> dict[str, int]:
    """How often each failure code occurs in the first trials, most frequent first."""
    counts: dict[str, int] = {}
    for item in (item for item in record.items if not item.trial):
        for failure in item.failures:
            counts[failure] = counts.get(failure, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True, slots=True)
class Pattern:
    """Items that fail alike: their failure codes together, how many they are, and the first of them."""

    codes: tuple[str, ...]
    items: int
    examples: tuple[str, ...]


def failure_patterns(record: EvalRecord, examples: int = 3) -> list[Pattern]:
    """The failing episodes grouped by all of their failure codes, largest group first. Passed ones are in no group."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for item in record.items:
        if not item.passed:
            groups.setdefault(tuple(sorted(item.failures)), []).append(item.scenario_id)
    found = [Pattern(codes, len(ids), tuple(dict.fromkeys(ids))[:examples]) for codes, ids in groups.items()]
    return sorted(found, key=lambda p: (-p.items, p.codes))
