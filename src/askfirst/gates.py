"""Gates before a run: each measures something and compares it with what the plan or the contract allows."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np

from askfirst import judging, plugins
from askfirst.audit import audit as contamination_audit
from askfirst.batches import draw_scenarios, drawable, probe_rows
from askfirst.contracts.judges import check_plugin
from askfirst.contracts.policies import best_habit, earnings
from askfirst.contracts.reported import Reward, modules, selectable
from askfirst.contracts.rewards import self_test
from askfirst.contracts.selftest import SelfTestReport
from askfirst.decide import POWER_WANTED, power, sealed_counts
from askfirst.errors import GateFailed, InputError
from askfirst.generated.check import check as check_generated
from askfirst.judging.audit import audit
from askfirst.metrics import share
from askfirst.plan import Plan, judges_of, resolved
from askfirst.policy import Policy, StepSettings, UpdateResult
from askfirst.rollout import Batch, Draw, Scorer, Stage, rollouts
from askfirst.sections import JudgeModel, JudgeSection, KlSection
from askfirst.stats import clopper_pearson, paired_hoeffding, tango
from askfirst.steps import Method, Objective
from askfirst.store import content_hash
from askfirst.values import FrozenMap, GateResult, GateStatus, Row, Scenario

AUDITED_TRAIN = 4000
HABITS_SEEN = 60  # scenarios
CHANGING = (0.1, 0.3, 0.6, 1.0)  # shares of items that pass before or after, but not both
NOTES = 2.0  # times as long as a prompt of its own: an opening with notes, in the estimate of time
GIB = 2**30


def check(results: Sequence[GateResult]) -> None:
    """Raise GateFailed when a gate failed or could not be verified."""
    bad = [r for r in results if r.status in (GateStatus.FAILED, GateStatus.UNVERIFIED)]
    if bad:
        raise GateFailed("; ".join(f"gate {r.name} {r.status}: {r.reason}" for r in bad))


def _result(name: str, holds: bool, measured: float | str, bound: float | str, reason: str) -> GateResult:
    return GateResult(name, GateStatus.PASSED if holds else GateStatus.FAILED, measured, bound, reason)


def reward_self_test(rewards: Sequence[Reward]) -> tuple[GateResult, list[SelfTestReport]]:
    """Every reward, and what it builds on, holds against its own attacks and passes its honest cases."""
    reports = [self_test(module, params) for module, params in modules(rewards)]
    attacks, honest = sum(r.attacks for r in reports), sum(r.honest for r in reports)
    broken = [b for r in reports for b in r.broken]
    reason = (
        f"{attacks} attacks held, {honest} honest passed" if not broken else f"{len(broken)} broken, first: {broken[0]}"
    )
    return _result("self-test", not broken, len(broken), 0, reason), reports


def contamination(env: ModuleType, plan: Plan, dev: Sequence[Scenario]) -> GateResult:
    """No dev item shares its text, template or slot values with what training will draw.

    What is only alike is counted for a person to look at; what cannot be compared is said, and not called clean.
    The sealed split is not opened for this; its disjointness is a contract of the environment.
    """
    steps = min(plan.train.steps, max(1, AUDITED_TRAIN // (plan.train.scenarios_per_step * len(plan.matrix.seeds))))
    widest = {own.curriculum.mode: own.curriculum for own in resolved(plan).values()}
    own = plan.model_copy(update={"curriculum": widest.get("informative", plan.curriculum)})
    train = [s for seed in plan.matrix.seeds for step in range(steps) for s in drawable(env, own, seed, step)]
    found = contamination_audit(train, dev)
    words = f"none of {found.items} dev items in {found.train} training draws"
    if found.unauditable:
        words += f" ({found.unauditable} too short to compare by tokens)"
    if alike := len({o.item for o in found.review}):
        words += f"; {alike} alike, to be read"
    if "embedding" in {m.name for m in found.methods if m.status == "unauditable"}:
        words += "; not compared by meaning"
    if found.blocking:
        first = found.blocking[0]
        words = f"{len(found.blocking)} overlaps, first: {first.method} {first.detail!r} of {first.item}"
    return _result("contamination", not found.blocking, len(found.blocking), 0, words)


def judges(plan: Plan) -> list[GateResult]:
    """The plan's judges keep their contract and the bounds of their audit; nothing for a plan without one."""
    if plan.judge is None:
        return []
    named = zip(("judge", "held-out judge"), judges_of(plan), strict=False)
    return [_audited(name, plan.judge, own) for name, own in named]


def _audited(name: str, bounds: JudgeSection, own: JudgeModel) -> GateResult:
    check_plugin(plugins.load("judges", own.name))
    try:
        found = audit(judging.opened(own, None))
    except InputError as error:
        return GateResult(name, GateStatus.UNVERIFIED, "", bounds.min_agreement, error.message)
    faults = found.faults(bounds.min_agreement, bounds.max_fooled)
    lowest, fooled = found.lowest, found.fooled
    reason = "; ".join(faults) or (
        f"agrees with labels in at least {lowest.bound.lower:.0%} ({lowest.name}), "
        f"fooled by {fooled.count} of {fooled.n} attacks"
    )
    return _result(name, not faults, round(lowest.bound.lower, 4), bounds.min_agreement, reason)


def generation_audit(plan: Plan, dev: Sequence[Scenario]) -> GateResult:
    """Generated training data is labelled right, on a sample, and overlaps with nothing that is evaluated on.

    Raises ValueError for a plan without such data: the gate is for exactly those that have it.
    """
    if plan.env.generated is None:
        raise ValueError("the plan uses no generated data")
    bounds = plan.generation
    found = check_generated(Path(plan.env.generated), dev, bounds.sample)
    wrong, shared = len(found.errors), len(found.overlaps)
    measured = f"{wrong} label errors, {shared} overlaps"
    bound = f"{bounds.max_label_errors}, {bounds.max_overlaps}"
    if found.sampled < bounds.sample:
        reason = f"{found.total} generated requests, {bounds.sample} are to be audited"
        return GateResult("generation audit", GateStatus.UNVERIFIED, measured, bound, reason)
    reason = f"{measured} in {found.sampled} of {found.total} generated requests"
    reason += f" ({found.read} read by a person)" + (f"; {found.alike} alike, to be read" if found.alike else "")
    if found.errors:
        reason += f"; first: line {found.errors[0].line}: {found.errors[0].why}"
    if found.overlaps:
        reason += f"; first: {found.overlaps[0].method} {found.overlaps[0].detail!r} of {found.overlaps[0].item}"
    holds = wrong <= bounds.max_label_errors and shared <= bounds.max_overlaps
    return _result("generation audit", holds, measured, bound, reason)


def habits(env: ModuleType, plan: Plan) -> GateResult:
    """On the requests that the plan practises, every reward that may be selected pays honesty more than any habit.

    What is measured is by how much, in units of the reward's range; arms that are compared with may pay habits.
    """
    plans, names = resolved(plan), selectable(plan)
    if not names:
        return _result("habits", False, "", "above 0", "nothing may be selected: every reward is a control")
    distinct = {content_hash(plans[name].reward.model_dump()): plans[name] for name in names}
    gap, reason = min(_habits(env, own) for own in distinct.values())
    return _result("habits", gap > 0, round(gap, 4), "above 0", reason)


def _habits(env: ModuleType, own: Plan) -> tuple[float, str]:
    reward, steps = plugins.load("rewards", own.reward.name), -(-HABITS_SEEN // own.train.scenarios_per_step)
    drawn = [s for step in range(steps) for s in draw_scenarios(env, own, own.matrix.seeds[0], step)]
    found = earnings(reward, env, drawn, FrozenMap(own.reward.params))
    best, (low, high) = best_habit(found), reward.BOUNDS
    reason = f"honesty earns {found[0].mean:.2f}, the best other habit {best.mean:.2f} ({best.policy})"
    return (found[0].mean - best.mean) / (high - low), reason


def decidability(plan: Plan) -> GateResult:
    """The rule that decides can say yes to the effect that the plan wants to see."""
    powers = power(plan, sealed_counts(plan))
    if not powers:
        return GateResult("decidability", GateStatus.NOT_APPLICABLE, "", POWER_WANTED, "no absolute rule in the plan")
    lowest = min(powers.values())
    reason = f"power {lowest:.2f} for +{plan.decision.effect * 100:.0f} points"
    if lowest < POWER_WANTED:
        reason += f", wanted {POWER_WANTED}: more sealed items or a larger effect"
    return _result("decidability", lowest >= POWER_WANTED, round(lowest, 4), POWER_WANTED, reason)


def false_positives(plan: Plan, dev: Sequence[Scenario]) -> GateResult:
    """An experiment in which nothing is better or worse than it may be ships with a probability of at most α (A/A).

    Exact, for every rule at the edge of what it must not show: the true rate is the bound; or the true difference is
    minus the margin (of a rule of superiority, the margin), for several shares of items that change at all. Items are
    counted as the dev split has them.
    """
    alpha, errors = plan.decision.alpha, dict[str, float]()
    for metric, rule in plan.ship.items():
        items = round(share(metric, [s.stratum for s in dev]) * plan.evaluation.sealed_items)
        if not items:
            continue
        if rule.above is not None:
            errors[metric] = clopper_pearson.power(items, rule.above, rule.above, alpha=alpha, sided="two")
        elif rule.margin is not None and rule.mode == "regression_rate_upper":
            # Fewer flips than the margin is more items kept than the rest.
            kept = 1.0 - rule.margin
            errors[metric] = clopper_pearson.power(items, kept, kept, alpha=alpha, sided="two")
        elif rule.mode == "rate_noninferiority":
            least, method = rule.least, tango if rule.paired == "tango" else paired_hoeffding
            designs = [((c + least) / 2, (c - least) / 2) for c in CHANGING if c >= abs(least)]
            errors[metric] = max(method.power(items, win, loss, least, alpha) for win, loss in designs)
    if not errors:
        return GateResult("A/A", GateStatus.UNVERIFIED, "", alpha, "no rule of the plan has items on this environment")
    worst = max(errors, key=lambda metric: errors[metric])
    reason = f"wrongly yes with at most {errors[worst]:.3f} ({worst}), α is {alpha}"
    return _result("A/A", errors[worst] <= alpha, round(errors[worst], 6), alpha, reason)


@dataclass(frozen=True, slots=True)
class MicroRun:
    """What one small step showed: how sampler and trainer agree, that gradients flow, and what it cost."""

    gap_nats: float
    grad_norm: float
    moved: bool
    sample_seconds: float  # a rollout whose prompt is shared by its group
    update_seconds: float  # such a row
    alone_sample_seconds: float  # a rollout with a prompt of its own, as in an evaluation
    alone_update_seconds: float  # a row with a prompt of its own, as in a warm start

    def longer(self, turns: float, growth: float) -> MicroRun:
        """The same for episodes of more turns, whose rows have `growth` times as many tokens."""
        return replace(
            self,
            sample_seconds=self.sample_seconds * turns,
            update_seconds=self.update_seconds * growth,
            alone_sample_seconds=self.alone_sample_seconds * turns,
            alone_update_seconds=self.alone_update_seconds * growth,
        )


def micro_run(policy: Policy, stage: Stage, plan: Plan, scenarios: Sequence[Scenario]) -> MicroRun:
    """Sample a few groups and take a step at learning rate 0 with made-up advantages: nothing may change.

    Of `scenarios` the first `scenarios_per_step` make the groups; all are sampled once, alone.
    """
    before = policy.fingerprint()
    train = plan.train
    scorer = Scorer.named(plan.reward.name, plan.reward.params)
    rollouts(stage, policy, scorer, scenarios[:1], Draw(0, -2, 1))  # what is made once is not timed
    began = time.perf_counter()
    batch = rollouts(stage, policy, scorer, scenarios[: train.scenarios_per_step], Draw(0, -1, train.group_size))
    sampled = time.perf_counter()
    alone = rollouts(stage, policy, scorer, scenarios, Draw(0, -3, 1))
    sampled_alone = time.perf_counter()
    if not (batch.groups and alone.groups):
        raise (*batch.faults, *alone.faults)[0]
    rows, result = _made_up_step(policy, plan, batch)
    updated = time.perf_counter()
    gaps = [np.abs(lp - r.sampler_logprobs)[r.mask] for lp, r in zip(result.logprobs, rows, strict=True)]
    per_row = per_row_alone = (updated - sampled_alone) / len(rows)
    if plan.warmstart is not None:
        few = replace(alone, groups=alone.groups[: plan.warmstart.batch])
        _made_up_step(policy, plan, few)
        per_row_alone = (time.perf_counter() - updated) / len(few.groups)
    return MicroRun(
        gap_nats=float(np.mean(np.concatenate(gaps))),
        grad_norm=result.grad_norm,
        moved=policy.fingerprint() != before,
        sample_seconds=(sampled - began) / len(rows),
        update_seconds=per_row,
        alone_sample_seconds=(sampled_alone - sampled) / len(scenarios),
        alone_update_seconds=per_row_alone,
    )


def _made_up_step(policy: Policy, plan: Plan, batch: Batch) -> tuple[list[Row], UpdateResult]:
    """An update at learning rate 0 with made-up advantages."""
    method = Method.of(plan.train.model_copy(update={"kl": KlSection()}), plan.teacher)
    rows = probe_rows(batch.groups)
    objective = Objective(method, rows, [1.0 / len(rows)] * len(rows), True)
    return rows, policy.update(rows, objective, StepSettings(0.0))


def correctness(micro: MicroRun, policy: Policy, plan: Plan) -> GateResult:
    """Sampled and recomputed logprobs agree, the adapter gets a gradient, and learning rate 0 changes nothing."""
    tolerance = plan.train.sampling.tolerance_nats or policy.logprob_tolerance
    ratio = float(np.exp(micro.gap_nats)) if plan.train.sampling.correction == "none" else 1.0
    problems = [
        f"sampler and trainer differ by {micro.gap_nats:.4f} nats a token" if micro.gap_nats > tolerance else "",
        "no gradient reaches the adapter" if not micro.grad_norm > 0 else "",
        "a step at learning rate 0 changed the weights" if micro.moved else "",
    ]
    found = [p for p in problems if p]
    reason = "; ".join(found) or f"first ratio {ratio:.3f}, sampler within {micro.gap_nats:.1e} nats"
    return _result("correctness", not found, micro.gap_nats, tolerance, reason)


def memory(policy: Policy, stage: Stage, plan: Plan, scenarios: Sequence[Scenario], jobs: int = 1) -> GateResult:
    """The memory that the longest prompts among `scenarios` will take, in `jobs` processes, against what there is.

    `stage.sampling` says how many tokens an episode may have behind its prompt.
    """
    prompts = sorted((policy.encode(stage.prompt(s)) for s in scenarios), key=len)
    train, new = plan.train, stage.sampling.max_tokens
    largest = max(own.train.group_size for own in resolved(plan).values())
    parts = [
        policy.footprint(prompts[-train.scenarios_per_step :], largest, new),
        policy.footprint(prompts, 1, new),
    ]
    found = [part for part in parts if part is not None]
    if not found:
        return GateResult("memory", GateStatus.NOT_APPLICABLE, "", "", "a backend that needs next to none")
    needed = max(part.peak for part in found) * jobs
    available = max(part.available for part in found)
    reason = f"about {needed / GIB:.1f} GiB of {available / GIB:.1f} GiB"
    if needed > available:
        reason += ": fewer --jobs, dtype bf16, a smaller group_size or max_tokens, or a shorter prompt take less"
    return _result("memory", needed <= available, needed, available, reason)


def feasibility(micro: MicroRun, plan: Plan, jobs: int = 1) -> GateResult:
    """The time the plan will take here, by the micro-run, against its budget."""
    minutes = estimate_minutes(micro, plan, jobs)
    budget = plan.budget.wall_minutes
    return _result(
        "feasibility", minutes <= budget, round(minutes, 1), budget, f"about {minutes:.0f} min of {budget:.0f}"
    )


def estimate_minutes(micro: MicroRun, plan: Plan, jobs: int = 1) -> float:
    """Wall minutes of every arm and seed, `jobs` of them side by side where there are as many cores: training,
    dev evaluations, warm start and the sealed evaluation."""
    training = 0.0
    plans = resolved(plan).values()
    for own in plans:
        train = own.train
        rollout = micro.sample_seconds + micro.update_seconds * train.optimiser.epochs
        if Method.of(train, own.teacher).teacher is not None:
            # A forward pass of the policy, and one of the teacher, behind an opening of each rollout's own.
            rollout += (micro.update_seconds + NOTES * micro.alone_update_seconds) / 3
        evaluated = -(-train.steps // own.evaluation.every) * own.evaluation.dev_items
        work = train.steps * train.scenarios_per_step * train.group_size * rollout
        training += len(plan.matrix.seeds) * (work + evaluated * micro.alone_sample_seconds)
    variants = len(plans) * len(plan.matrix.seeds)
    rounds = -(-variants // max(1, min(jobs, os.cpu_count() or 1)))
    seconds = training / variants * rounds + 2 * plan.evaluation.sealed_items * micro.alone_sample_seconds
    if plan.warmstart:
        demonstrations = plan.warmstart.steps * plan.warmstart.batch
        once = demonstrations * micro.alone_update_seconds + plan.evaluation.dev_items * micro.alone_sample_seconds
        seconds += len(plan.matrix.seeds) * once
    return seconds / 60
