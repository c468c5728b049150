"""Plan and evidence in, verdict out: a pure function of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from askfirst.errors import InputError, PlanError
from askfirst.metrics import counted
from askfirst.plan import Plan
from askfirst.sections import RuleSection
from askfirst.stats import clopper_pearson, tango
from askfirst.values import EvalRecord, RuleResult, Verdict

POWER_WANTED = 0.8
MOST_ITEMS = 1_000_000
REUSED = "reused_holdout"


def verdict(plan: Plan, treated: EvalRecord, base: EvalRecord, openings: int) -> Verdict:
    """SHIP when every rule holds; DISCARD when one is refuted; INCONCLUSIVE when one is left open.

    `treated` and `base` are the selected checkpoint and the model before training on the same sealed items.
    """
    if [i.scenario_id for i in treated.items] != [i.scenario_id for i in base.items]:
        raise InputError("the two sealed records are not of the same items in the same order")
    results = tuple(_apply(metric, rule, plan, treated, base)[0] for metric, rule in plan.ship.items())
    refuted = [_apply(metric, rule, plan, treated, base)[1] for metric, rule in plan.ship.items()]
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
    metric: str, rule: RuleSection, plan: Plan, treated: EvalRecord, base: EvalRecord
) -> tuple[RuleResult, bool]:
    """The rule's result, and whether the data refute it (as against leaving it open)."""
    after, before = counted(treated, metric), counted(base, metric)
    if rule.above is not None:
        return _above(metric, rule.above, after, plan.decision.alpha)
    assert rule.margin is not None
    return _noninferior(metric, rule.margin, list(zip(after, before, strict=True)), plan.decision.alpha)


def _above(metric: str, threshold: float, outcomes: list[bool], alpha: float) -> tuple[RuleResult, bool]:
    bounds = clopper_pearson.interval(sum(outcomes), len(outcomes), alpha=alpha)
    holds = bounds.lower > threshold
    word = "above" if holds else "not shown above"
    reason = (
        f"{metric} {sum(outcomes)}/{len(outcomes)} = {bounds.estimate:.0%} [{bounds.lower:.0%}, {bounds.upper:.0%}] "
        f"{word} {threshold:.0%} by exact bound"
    )
    return RuleResult(metric, holds, bounds.estimate, bounds.lower, bounds.upper, reason), bounds.upper < threshold


def _noninferior(metric: str, margin: float, pairs: list[tuple[bool, bool]], alpha: float) -> tuple[RuleResult, bool]:
    better = sum(after and not before for after, before in pairs)
    worse = sum(before and not after for after, before in pairs)
    bounds = tango.interval(better, worse, len(pairs), alpha=alpha)
    holds = bounds.lower > -margin
    word = "no regression" if holds else "regression not excluded"
    reason = (
        f"{metric} {bounds.estimate * 100:+.1f} points [{bounds.lower * 100:+.1f}, {bounds.upper * 100:+.1f}] on "
        f"{len(pairs)} items, {better} better, {worse} worse: {word} beyond {margin * 100:.0f} points"
    )
    return RuleResult(metric, holds, bounds.estimate, bounds.lower, bounds.upper, reason), bounds.upper < -margin


def check_target(plan: Plan) -> None:
    """Raise PlanError unless the method of every rule can speak of the plan's inference target."""
    for metric, rule in plan.ship.items():
        method = clopper_pearson if rule.above is not None else tango
        if plan.decision.target not in method.TARGETS:
            name = method.__name__.rpartition(".")[2]
            raise PlanError(
                f"{name} cannot speak of {plan.decision.target}, only of {', '.join(method.TARGETS)}",
                where=f"ship.{metric}",
                hint=f"decision.target = {method.TARGETS[0]!r} says what this rule shows",
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
