"""Plan and evidence in, verdict out: a pure function of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from askfirst.criteria import RuleSection
from askfirst.errors import InputError, PlanError
from askfirst.inference import noninferiority
from askfirst.metrics import counted
from askfirst.plan import Plan
from askfirst.stats import clopper_pearson, paired_hoeffding, tango
from askfirst.values import EvalRecord, RuleResult, Target, Verdict

POWER_WANTED = 0.8
MOST_ITEMS = 1_000_000
REUSED = "reused_holdout"
# What the rules of a plan can speak of, by method; they take items one by one, without clusters.
TARGETS: Mapping[str, tuple[Target, ...]] = {
    "clopper_pearson": clopper_pearson.TARGETS,
    "tango": tango.TARGETS,
    "paired_hoeffding": tuple(target for target in paired_hoeffding.TARGETS if target != "new_clusters"),
}


def verdict(plan: Plan, treated: EvalRecord, others: Mapping[str, EvalRecord], openings: int) -> Verdict:
    """SHIP when every rule holds; DISCARD when one is refuted; INCONCLUSIVE when one is left open.

    `treated` is the selected checkpoint on the sealed items, and `others` what rules compare with on the same ones:
    `base`, the model before training, and the baseline by its arm where the plan has another.
    """
    order = [i.scenario_id for i in treated.items]
    if any([i.scenario_id for i in other.items] != order for other in others.values()):
        raise InputError("the sealed records are not of the same items in the same order")
    applied = [_apply(metric, rule, plan.decision.alpha, treated, others) for metric, rule in plan.ship.items()]
    results, refuted = tuple(result for result, _ in applied), [no for _, no in applied]
    if all(r.holds for r in results):
        decision, reason = "SHIP", "; ".join(r.reason for r in results)
    else:
        decision = "DISCARD" if any(refuted) else "INCONCLUSIVE"
        reason = "; ".join(r.reason for r in results if not r.holds)
    limits = "one selected checkpoint on these sealed items; says nothing about other training runs"
    holdout = "opened_once" if openings == 1 else REUSED
    if holdout == REUSED:
        limits = f"{REUSED}: the sealed split was opened {openings} times; " + limits
    return Verdict(1, decision, results, reason, limits, holdout)


def _apply(
    metric: str, rule: RuleSection, alpha: float, treated: EvalRecord, others: Mapping[str, EvalRecord]
) -> tuple[RuleResult, bool]:
    """The rule's result, and whether the data refute it (as against leaving it open)."""
    after = counted(treated, metric)
    if rule.above is not None:
        return _above(metric, rule.above, after, alpha)
    other = others.get(str(rule.against))
    if other is None:
        raise InputError(f"there is no sealed record of {rule.against!r}, with which ship.{metric} compares")
    before = counted(other, metric)
    better = sum(new and not old for new, old in zip(after, before, strict=True))
    worse = sum(old and not new for new, old in zip(after, before, strict=True))
    compared = superiority if rule.superior_to else no_regression
    return compared(metric, rule, (better, worse, len(after)), alpha)


def _above(metric: str, threshold: float, outcomes: list[bool], alpha: float) -> tuple[RuleResult, bool]:
    bounds = clopper_pearson.interval(sum(outcomes), len(outcomes), alpha=alpha)
    holds = bounds.lower > threshold
    word = "above" if holds else "not shown above"
    reason = (
        f"{metric} {sum(outcomes)}/{len(outcomes)} = {bounds.estimate:.0%} [{bounds.lower:.0%}, {bounds.upper:.0%}] "
        f"{word} {threshold:.0%} by exact bound"
    )
    return RuleResult(metric, holds, bounds.estimate, bounds.lower, bounds.upper, reason), bounds.upper < threshold


def superiority(metric: str, rule: RuleSection, counts: tuple[int, int, int], alpha: float) -> tuple[RuleResult, bool]:
    """Whether the difference to another model is above the margin, from how many items got better, got worse, and were
    compared. Returns what `_apply` does."""
    better, worse, n = counts
    found = noninferiority.difference(better, worse, n, alpha, by=rule.paired)
    holds = found.lower > rule.least
    word = "more than" if holds else "not shown to be more than"
    size = f"{found.estimate * 100:+.1f} points [{found.lower * 100:+.1f}, {found.upper * 100:+.1f}]"
    told = f"{n} items, {better} better, {worse} worse"
    reason = f"{metric} {size} on {told}: {word} {rule.least * 100:g} above {rule.against}"
    return RuleResult(metric, holds, found.estimate, found.lower, found.upper, reason), found.upper < rule.least


def no_regression(
    metric: str, rule: RuleSection, counts: tuple[int, int, int], alpha: float
) -> tuple[RuleResult, bool]:
    """A rule against the model before training, from how many items got better, got worse, and were compared.

    All bounds are two-sided at `alpha`. Returns what `_apply` does. Where no item may flip, the bounds are the share of
    these items that did.
    """
    better, worse, n = counts
    told, margin = f"{n} items, {better} better, {worse} worse", rule.margin
    if margin is None:
        kept, share = noninferiority.no_item_regression(worse, n, pinned=True), worse / n
        words = "no item got worse" if kept else "items got worse"
        reason = f"{metric} on {told}: {words}, of these very items"
        return RuleResult(metric, kept, share, share, share, reason), not kept
    if rule.mode == "regression_rate_upper":
        found = clopper_pearson.interval(worse, n, alpha=alpha)
        refuted, named = found.lower > margin, "items that got worse"
    else:
        found = noninferiority.difference(better, worse, n, alpha, by=rule.paired)
        refuted, named = found.upper < -margin, "points"
    holds = noninferiority.holds(rule.mode, found, margin)
    word = "no regression" if holds else "regression not excluded"
    sign = "+" if named == "points" else ""
    size = ", ".join(f"{each * 100:{sign}.1f}" for each in (found.lower, found.upper))
    unit = named if named == "points" else f"% {named}"
    reason = f"{metric} {found.estimate * 100:{sign}.1f} {unit} [{size}] on {told}: {word} beyond {margin * 100:.0f}"
    reason += " points" if named == "points" else " %"
    return RuleResult(metric, holds, found.estimate, found.lower, found.upper, reason), refuted


def check_target(plan: Plan) -> None:
    """Raise PlanError unless the method of every rule can speak of the plan's inference target."""
    for metric, rule in plan.ship.items():
        if rule.mode == "no_item_regression":
            continue  # it counts, and says so
        name = "clopper_pearson" if rule.above is not None or rule.mode == "regression_rate_upper" else rule.paired
        targets = TARGETS[name]
        if plan.decision.target not in targets:
            raise PlanError(
                f"{name} cannot speak of {plan.decision.target}, only of {', '.join(targets)}",
                where=f"ship.{metric}",
                hint=f"decision.target = {targets[0]!r} says what this rule shows",
            )


def sealed_counts(plan: Plan) -> dict[str, int]:
    """How many sealed items each metric of a rule is counted on."""
    clear = round(plan.evaluation.sealed_items * plan.evaluation.clear_fraction)
    items = {"ambiguous_pass": plan.evaluation.sealed_items - clear}
    return {metric: items.get(metric, plan.evaluation.sealed_items) for metric in plan.ship}


def power(plan: Plan, counts: Mapping[str, int]) -> dict[str, float]:
    """For each absolute rule: the probability that it holds when the true rate is the threshold plus the plan's effect.

    `counts` maps a metric to its number of sealed items.
    """
    return {p.metric: p.power for p in prospects(plan, counts)}


@dataclass(frozen=True, slots=True)
class Prospect:
    """What an absolute rule can show with its items, before anything is spent.

    `needed` passes of `items` are the least whose lower bound is above the threshold; `least_effect` is the smallest
    gain over it with power 0.8; about `wanted_items` give that power at the plan's effect. None: no number is enough.
    """

    metric: str
    items: int
    threshold: float
    needed: int | None
    power: float
    least_effect: float | None
    wanted_items: int | None


def prospects(plan: Plan, counts: Mapping[str, int]) -> list[Prospect]:
    """The prospects of every absolute rule, with `counts` as for `power`."""
    found: list[Prospect] = []
    for metric, rule in plan.ship.items():
        if rule.above is None:
            continue
        n, threshold, alpha = counts[metric], rule.above, plan.decision.alpha
        rate = min(1.0, threshold + plan.decision.effect)
        least = clopper_pearson.minimum_effect(n, threshold, alpha, "two", POWER_WANTED)
        found.append(
            Prospect(
                metric=metric,
                items=n,
                threshold=threshold,
                needed=clopper_pearson.needed(n, threshold, alpha, "two"),
                power=clopper_pearson.power(n, rate, threshold, alpha, "two"),
                least_effect=None if least is None else least - threshold,
                wanted_items=_wanted_items(rate, threshold, alpha),
            )
        )
    return found


def _wanted_items(rate: float, threshold: float, alpha: float) -> int | None:
    """About the least number of items with the wanted power; power is not quite monotone in it."""
    low, high = 0, 8
    while clopper_pearson.power(high, rate, threshold, alpha, "two") < POWER_WANTED:
        low, high = high, 2 * high
        if high > MOST_ITEMS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = clopper_pearson.power(middle, rate, threshold, alpha, "two") >= POWER_WANTED
        low, high = (low, middle) if enough else (middle, high)
    return high
