"""Runs side by side: the selected checkpoint of each against that of the first, by the rules of their plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askfirst import ledger
from askfirst import plan as plans
from askfirst.decide import no_regression, superiority
from askfirst.errors import InputError
from askfirst.paired import Paired, aligned, compare
from askfirst.plan import Plan
from askfirst.reading import require_run
from askfirst.runfolder import RunFolder
from askfirst.selection import Selected
from askfirst.store import plain, read_as
from askfirst.values import EvalRecord, Interval

# What two plans must have in common for their verdicts to be of the same thing, by split.
SHARED = (
    *("env.name", "env.data", "env.families", "evaluation.clear_fraction"),
    *("decision.alpha", "decision.metric", "decision.target", "ship"),
)
OF_SPLIT = {"sealed": ("env.sealed", "evaluation.sealed_items"), "dev": ("evaluation.dev_items",)}
TOO_KIND = "dev: checkpoints were selected on these items, each side on its own luck"
USED_UP = "who chooses a run by its sealed items has used them up"
ONE_SEED = "one selected checkpoint a run; says nothing about other training runs"


@dataclass(frozen=True, slots=True)
class Compared:
    """A rule of the plan, applied to another run against the first.

    A rule of non-inferiority keeps its margin, None where no item may get worse. An absolute one asks here that more
    pass than in the first run, so its margin is None. `reason` says what was found.
    """

    run: str
    metric: str
    margin: float | None
    holds: bool
    pairs: Paired
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every rule for every run but the first; `alpha` is the error of each rule, shared out over the runs."""

    first: str
    split: str
    alpha: float
    found: tuple[Compared, ...]
    limits: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every rule holds."""
        return all(each.holds for each in self.found)


def compare_runs(runs: Sequence[RunFolder], split: str = "sealed") -> Comparison:
    """Hold the selected checkpoints of runs against that of the first.

    Raises InputError for fewer than two runs, for runs that are not finished or were changed since, and for records
    that do not pair.
    """
    if split not in OF_SPLIT:
        raise InputError(f"no split is called {split!r} here", hint=f"choose one of: {', '.join(OF_SPLIT)}")
    if len({run.root.resolve() for run in runs}) < max(2, len(runs)):
        raise InputError("a comparison takes two runs or more, each once")
    plan, *others = (_plan(run) for run in runs)
    for run, other in zip(runs[1:], others, strict=True):
        _require_alike(plan, other, split, str(run.root))
    first, *records = (_record(run, split) for run in runs)
    alpha = plan.decision.alpha / len(records)
    found = []
    for run, record in zip(runs[1:], records, strict=True):
        before = aligned(first, record)
        found += [_compared(metric, plan, (before, record), alpha, str(run.root)) for metric in plan.ship]
    opened = sum(len(ledger.events(run, "sealed_opened")) for run in runs)
    limits = [TOO_KIND if split == "dev" else f"{USED_UP}; these runs opened them {opened} times"]
    if len(records) > 1:
        limits.append(f"{len(records)} runs against the first: α is {alpha:g} each, {plan.decision.alpha:g} for all")
    return Comparison(str(runs[0].root), split, alpha, tuple(found), (*limits, ONE_SEED))


def _plan(run: RunFolder) -> Plan:
    lock = require_run(run)
    ledger.require_intact(run)
    return plans.validate(lock["plan"], str(run.lock))


def _require_alike(plan: Plan, other: Plan, split: str, where: str) -> None:
    ours, theirs = plan.model_dump(mode="json"), other.model_dump(mode="json")
    differ = [key for key in (*SHARED, *OF_SPLIT[split]) if plans.at(ours, key) != plans.at(theirs, key)]
    if differ:
        raise InputError(
            f"the runs do not pair: their plans differ in {', '.join(differ)}",
            where=where,
            hint="compare runs that are judged alike, on the same items",
        )


def _record(run: RunFolder, split: str) -> EvalRecord:
    if not run.selected.is_file():
        raise InputError("no checkpoint is selected in this run", where=str(run.root))
    chosen = read_as(Selected, run.selected)
    path = run.selected_evaluation("sealed")
    if split == "dev":
        path = run.variant(chosen.arm, chosen.seed).evaluation("dev", chosen.step)
    if not path.is_file():
        raise InputError(f"the selected checkpoint has no evaluation on {split}", where=str(path))
    return read_as(EvalRecord, path)


def _compared(metric: str, plan: Plan, records: tuple[EvalRecord, EvalRecord], alpha: float, run: str) -> Compared:
    pairs, rule = compare(metric, *records, alpha=alpha), plan.ship[metric]
    counts = (pairs.wins, pairs.losses, pairs.n)
    if rule.superior_to or (rule.noninferior_to and (rule.mode, rule.paired) != ("rate_noninferiority", "tango")):
        found, _ = (superiority if rule.superior_to else no_regression)(metric, rule, counts, alpha)
        return Compared(run, metric, rule.margin, found.holds, pairs, found.reason)
    holds, words = conclusion(pairs.difference, rule.margin)
    reason = (
        f"{metric} {pairs.before.estimate:.0%} → {pairs.after.estimate:.0%}, {points(pairs.difference)} (Tango) on "
        f"{pairs.n} items: {pairs.wins} better, {pairs.losses} worse, {pairs.ties} same · McNemar p = {pairs.p:.2g}: "
        f"{words}"
    )
    return Compared(run, metric, rule.margin, holds, pairs, reason)


def conclusion(change: Interval, margin: float | None) -> tuple[bool, str]:
    """Whether a rule holds by the interval of a change, and in words: that more pass or, with a margin, that no fewer
    do beyond it."""
    holds = change.lower > (0.0 if margin is None else -margin)
    words: dict[tuple[bool, bool], str] = {
        (True, True): "more pass",
        (True, False): "not shown to pass more",
        (False, True): f"no regression beyond {(margin or 0.0) * 100:g} points",
        (False, False): f"regression not excluded beyond {(margin or 0.0) * 100:g} points",
    }
    return holds, words[margin is None, holds]


def points(change: Interval) -> str:
    """A change of a share and its interval, in points."""
    return f"{change.estimate * 100:+.1f} points [{change.lower * 100:+.1f}, {change.upper * 100:+.1f}]"


def record(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON types."""
    body: dict[str, Any] = plain(found)
    return {**body, "holds": found.holds}
