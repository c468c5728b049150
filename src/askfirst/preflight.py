"""Gates on the model before a run, on one small batch: that a step does what it says, and can be taken back.

Each has a known failure behind it: trainers without a gradient, samplers with old weights, losses that saw tokens they
should not, normalisers of a micro-batch.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from askfirst.batches import probe_rows, scales
from askfirst.contracts.backends import row
from askfirst.metrics import masked_mean
from askfirst.plan import Plan
from askfirst.policy import Policy, SampleRequest, Sampling, StepSettings, UpdateResult
from askfirst.rollout import Batch, Draw, Scorer, Stage, rollouts
from askfirst.sections import KlSection
from askfirst.steps import Method, Objective
from askfirst.values import Floats, GateResult, GateStatus, Group, Row, Scenario

GROUPS, SIZE = 2, 2
TOKENS = 32  # of a reply, at most: the gates are about the step, not about the replies
DRAW = Draw(0, -4, SIZE)
PROBE_LR, PROBE_DECAY = 1e-3, 0.01
FURTHER = (3e-3, 1e-2, 3e-2, 1e-1)  # learning rates of the steps after that
CLEAR = 4.0  # times the tolerance of logprobs
RATIO = 1e-6  # largest |ratio − 1| of a first step
# Largest relative difference that the order or the cutting of a batch may make, where sums are in float32; where they
# are in fewer bits, the same part of the tolerance of logprobs as it is there.
SPLIT, SPLIT_OF_TOLERANCE = 1e-5, 0.1


@dataclass(frozen=True, slots=True)
class Bench:
    """What the gates are measured on: a small batch, its rows with made-up advantages, and the plan's loss on them."""

    policy: Policy
    batch: Batch
    rows: tuple[Row, ...]
    objective: Objective
    before: tuple[Floats, ...]  # the policy's logprobs of the rows
    still: UpdateResult  # a step at learning rate 0

    def step(self, rows: Sequence[Row], weights: Sequence[float]) -> UpdateResult:
        """A step on other rows at learning rate 0."""
        return self.policy.update(rows, replace(self.objective, rows=rows, scales=weights), StepSettings(0.0))


def bench(policy: Policy, stage: Stage, plan: Plan, scenarios: Sequence[Scenario]) -> Bench:
    """Sample a few groups and make rows of them. Raises EnvironmentFault where no group came to an end."""
    batch = rollouts(stage, policy, Scorer.named(plan.reward.name, plan.reward.params), scenarios[:GROUPS], DRAW)
    if not batch.groups:
        raise batch.faults[0]
    method = Method.of(plan.train.model_copy(update={"kl": KlSection()}), plan.teacher)
    rows = tuple(probe_rows(batch.groups))
    weights = scales(rows, plan.train.optimiser, plan.train.sampling.max_tokens).rows
    objective = Objective(method, rows, weights, True)
    before = tuple(policy.logprobs(rows))
    return Bench(policy, batch, rows, objective, before, policy.update(rows, objective, StepSettings(0.0)))


def preflight(policy: Policy, stage: Stage, plan: Plan, scenarios: Sequence[Scenario]) -> list[GateResult]:
    """Every gate of this module, cheapest first. Weights are left as they were; the optimiser has seen steps.

    None for a policy that cannot learn.
    """
    if not policy.trainable_parameters:
        return []
    stage = replace(stage, sampling=Sampling(min(TOKENS, stage.sampling.max_tokens)))
    found = bench(policy, stage, plan, scenarios)
    results = [group_identity(found.batch.groups, found.rows)]
    results += [first_ratio(found), masked_tokens(found), micro_batches(found)]
    return [*results, *steps_and_back(found, stage.sampling)]


def group_identity(groups: Sequence[Group], rows: Sequence[Row]) -> GateResult:
    """All rollouts of a group have one scenario and one prompt, token by token, and rows are what was sampled."""
    broken = 0
    flat = iter(rows)
    for group in groups:
        prompts = {r.trajectory.segments[0].token_ids for r in group.rollouts}
        scenarios = {r.scenario.id for r in group.rollouts}
        broken += len(prompts) + len(scenarios) - 2
        for rollout in group.rollouts:
            own = next(flat)
            sampled = [t for part in rollout.trajectory.segments if part.sampled for t in part.token_ids]
            broken += own.token_ids[own.mask].tolist() != sampled
    reason = f"{len(groups)} groups of one prompt each, trained ids are sampled ids"
    return _result("group identity", broken == 0, broken, 0, reason if not broken else "a group mixes prompts or ids")


def first_ratio(found: Bench) -> GateResult:
    """The logprobs at which a step takes its gradient are those of the policy before it."""
    gap = _largest(found.before, found.still.logprobs)
    ratio = float(np.expm1(gap))
    return _result("first ratio", ratio <= RATIO, ratio, RATIO, f"1 within {ratio:.1e}")


def masked_tokens(found: Bench) -> GateResult:
    """What stands off the mask changes neither value nor gradient, to the bit."""
    plain = found.still
    noisy = [
        replace(
            each,
            advantages=np.where(each.mask, each.advantages, 7.0),
            sampler_logprobs=np.where(each.mask, each.sampler_logprobs, -3.0),
        )
        for each in found.rows
    ]
    dirty = found.step(noisy, found.objective.scales)
    gap = max(abs(plain.value - dirty.value), abs(plain.grad_norm - dirty.grad_norm))
    reason = "have no gradient" if gap == 0.0 else f"move the step by {gap:.1e}"
    return _result("masked tokens", gap == 0.0, gap, 0.0, reason)


def micro_batches(found: Bench) -> GateResult:
    """The value of a step is the sum of its parts, and its gradient does not depend on the order of rows."""
    rows, weights, middle = found.rows, found.objective.scales, len(found.rows) // 2
    whole, backwards = found.still, found.step(rows[::-1], weights[::-1])
    parts = [found.step(rows[part], weights[part]) for part in (slice(middle), slice(middle, None))]
    size = max(abs(p.value) for p in parts) + 1e-12
    gap = max(
        abs(whole.value - sum(p.value for p in parts)) / size,
        abs(whole.value - backwards.value) / size,
        abs(whole.grad_norm - backwards.grad_norm) / max(whole.grad_norm, 1e-12),
        # The gradient of the whole lies within the triangle of those of its parts.
        max(0.0, whole.grad_norm - sum(p.grad_norm for p in parts)) / max(whole.grad_norm, 1e-12),
    )
    bound = max(SPLIT, SPLIT_OF_TOLERANCE * found.policy.logprob_tolerance)
    return _result("micro-batches", gap <= bound, gap, bound, f"same step within {gap:.1e}")


def steps_and_back(found: Bench, sampling: Sampling) -> list[GateResult]:
    """Real steps, then back: a gradient must reach the adapter, the optimiser must have been set as asked, the sampler
    must follow the weights, and a saved policy must come back to the bit."""
    policy, rows = found.policy, found.rows
    fingerprint = policy.fingerprint()
    with tempfile.TemporaryDirectory() as name:
        policy.save(Path(name))
        first = policy.update(rows, found.objective, StepSettings(PROBE_LR, 1.0, PROBE_DECAY))
        set_as: tuple[float, float] | None = getattr(policy, "optimiser_settings", None)
        drawn, gap = _walk(found, sampling)
        policy.load(Path(name))
    same = policy.fingerprint() == fingerprint and _largest(found.before, policy.logprobs(rows)) == 0.0
    gradient = f"norm {first.grad_norm:.2g}" if first.grad_norm > 0 else "no gradient reaches the adapter"
    return [
        _result("adapter gradient", first.grad_norm > 0, first.grad_norm, "above 0", gradient),
        _follows(policy, drawn, gap),
        _restored(same, set_as),
    ]


def _restored(same: bool, set_as: tuple[float, float] | None) -> GateResult:
    """The policy as it was, and an optimiser that was set as a step asked."""
    asked = (PROBE_LR, PROBE_DECAY)
    if not same:
        reason = "a policy that is saved and loaded is another one"
    elif set_as not in (None, asked):
        reason = f"a step that asked for lr and weight decay {asked} had {set_as}"
    else:
        reason = "saved and loaded to the bit" + (", optimiser not read back" if set_as is None else "")
    return _result("restoration", same and set_as in (None, asked), "same" if same else "another", "same", reason)


def _walk(found: Bench, sampling: Sampling) -> tuple[list[Row], float]:
    """Step until the policy is clearly another one; returns what it then samples, and how far that is from the
    trainer's logprobs of it."""
    policy = found.policy
    for lr in FURTHER:
        policy.update(found.rows, found.objective, StepSettings(lr))
        if _mean(found.before, policy.logprobs(found.rows), found.rows) > CLEAR * policy.logprob_tolerance:
            break
    requests = [
        SampleRequest(g.rollouts[0].trajectory.segments[0].token_ids, tuple(range(SIZE))) for g in found.batch.groups
    ]
    groups = policy.sample(requests, sampling)
    drawn = [row(r.prompt_ids, c, 1.0) for r, group in zip(requests, groups, strict=True) for c in group]
    return drawn, _mean([r.sampler_logprobs for r in drawn], policy.logprobs(drawn), drawn)


def _follows(policy: Policy, drawn: Sequence[Row], gap: float) -> GateResult:
    """What was sampled after the steps has the logprobs of the weights of then, not of those before, which the policy
    has again."""
    stale = _mean([r.sampler_logprobs for r in drawn], policy.logprobs(drawn), drawn)
    tolerance = policy.logprob_tolerance
    if max(stale, gap) <= 2 * tolerance:
        reason = "no step moved the policy far enough to tell"
        return GateResult("sampler follows", GateStatus.UNVERIFIED, gap, tolerance, reason)
    holds = gap <= tolerance and gap < stale
    reason = f"within {gap:.1e} nats of the weights of now, {stale:.1e} of those before"
    return _result("sampler follows", holds, gap, tolerance, reason)


def _mean(left: Sequence[Floats], right: Sequence[Floats], rows: Sequence[Row]) -> float:
    return masked_mean([np.abs(a - b) for a, b in zip(left, right, strict=True)], [r.mask for r in rows])


def _largest(left: Sequence[Floats], right: Sequence[Floats]) -> float:
    return max((float(np.abs(a - b).max(initial=0.0)) for a, b in zip(left, right, strict=True)), default=0.0)


def _result(name: str, holds: bool, measured: float | str, bound: float | str, reason: str) -> GateResult:
    return GateResult(name, GateStatus.PASSED if holds else GateStatus.FAILED, measured, bound, reason)
