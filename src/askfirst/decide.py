"""Plan and evidence in, verdict out: a pure function of both."""

from __future__ import annotations

from collections.abc import Mapping

from askfirst.errors import InputError
from askfirst.metrics import counted
from askfirst.plan import Plan
from askfirst.sections import RuleSection
from askfirst.stats import clopper_pearson, tango
from askfirst.values import EvalRecord, RuleResult, Verdict

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


def power(plan: Plan, counts: Mapping[str, int]) -> dict[str, float]:
    """For each absolute rule: the probability that it holds when the true rate is the threshold plus the plan's effect.

    `counts` maps a metric to its number of sealed items.
    """
    found: dict[str, float] = {}
    for metric, rule in plan.ship.items():
        if rule.above is not None:
            rate = min(1.0, rule.above + plan.decision.effect)
            found[metric] = clopper_pearson.power(
                counts[metric], rate, rule.above, alpha=plan.decision.alpha, sided="two"
            )
    return found
