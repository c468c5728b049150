"""One optimiser step: from rows to an update and what it measured. Pure numpy around `Policy.update`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from askfirst import kl, plugins
from askfirst.batches import make_rows, moves, scales, with_reference
from askfirst.metrics import (
    Cost,
    Learning,
    StepRecord,
    informative,
    masked_mean,
    question_shape,
    question_stats,
    stratum_stats,
    terms_of_rollouts,
)
from askfirst.policy import Policy, StepSettings
from askfirst.rollout import Batch
from askfirst.sections import TrainSection
from askfirst.values import Floats, Row


@dataclass(frozen=True, slots=True)
class Method:
    """The plugins that turn scores into gradients, and the settings they take."""

    train: TrainSection
    credit: ModuleType
    loss: ModuleType

    @classmethod
    def of(cls, train: TrainSection) -> Method:
        """The method that the plan names. Raises PluginError."""
        return cls(train, plugins.load("advantages", train.advantage), plugins.load("losses", train.loss))


def learning_rate(peak: float, step: int, steps: int, schedule: str, warmup: int) -> float:
    """Linear warm-up to `peak`, then constant, linear or cosine decay to 0 after the last step."""
    if step < warmup:
        return peak * (step + 1) / warmup
    share = (step - warmup) / max(1, steps - warmup)
    match schedule:
        case "constant":
            return peak
        case "linear":
            return peak * (1.0 - share)
        case "cosine":
            return peak * 0.5 * (1.0 + math.cos(math.pi * share))
    raise ValueError(f"no schedule is called {schedule!r}")


@dataclass(frozen=True, slots=True)
class Objective:
    """Loss plus KL term of each row, as a function of the policy's logprobs.

    In the first epoch the step's own logprobs stand for those of the sampler (`recompute`), or
    weight the advantages by min(π_trainer/π_sampler, C) (`truncated_is`, rl-math section 6).
    """

    method: Method
    rows: Sequence[Row]
    scales: Sequence[float]
    first_epoch: bool

    def __call__(self, index: int, logprobs: Floats) -> tuple[float, Floats]:
        """Row index and policy logprobs (T,) → value and d value / d logprob (T,)."""
        train, scale = self.method.train, self.scales[index]
        row = self._corrected(self.rows[index], logprobs)
        value, slope = self.method.loss.loss(row, logprobs, scale, train.loss_params)
        if train.kl.beta > 0 and train.kl.place == "loss":
            values, slopes = kl.term(train.kl.estimator, logprobs, row.reference_logprobs)
            weight = scale * train.kl.beta
            value += weight * float(values[row.mask].sum())
            slope = slope + np.where(row.mask, weight * slopes, 0.0)
        return value, slope

    def _corrected(self, row: Row, logprobs: Floats) -> Row:
        correction = self.method.train.sampling.correction
        if not self.first_epoch or correction == "none":
            return row
        if correction == "recompute":
            return replace(row, sampler_logprobs=logprobs)
        weight = np.minimum(np.exp(logprobs - row.sampler_logprobs), self.method.train.sampling.truncation)
        return replace(row, sampler_logprobs=logprobs, advantages=np.where(row.mask, row.advantages * weight, 0.0))


@dataclass(frozen=True, slots=True)
class Update:
    """What `learn` did: the measurements, and how many tokens went through the trainer."""

    learning: Learning
    trained_tokens: int


def learn(policy: Policy, batch: Batch, method: Method, lr: float) -> Update:
    """Advantages, rows, reference logprobs and `epochs` optimiser steps on one batch of rollouts.

    A batch without any advantage and with nothing else to learn leaves the weights alone.
    """
    train = method.train
    everything = make_rows(batch.groups, method.credit, train.advantage_params)
    weights = scales(everything, train.optimiser, train.sampling.max_tokens).rows
    keep = [i for i, row in enumerate(everything) if train.optimiser.flat_rows == "keep" or moves(row)]
    dropped = len(everything) - len(keep)
    if not keep:
        return Update(Learning(lr, 0.0, 0.0, _kl_of_flat(policy, batch, everything, train), 0.0, 0.0, 0.0, dropped), 0)
    rows, chosen = [everything[i] for i in keep], [weights[i] for i in keep]
    sampled = rows
    if train.kl.beta > 0:
        rows = with_reference(rows, policy.logprobs(rows, reference=True), train)
    settings = StepSettings(lr, train.optimiser.grad_clip, train.optimiser.weight_decay)
    first = result = policy.update(rows, Objective(method, rows, chosen, True), settings)
    for _ in range(1, train.optimiser.epochs):
        if train.sampling.correction != "none":
            rows = [replace(r, sampler_logprobs=lp) for r, lp in zip(rows, first.logprobs, strict=True)]
        result = policy.update(rows, Objective(method, rows, chosen, False), settings)
    masks = [r.mask for r in rows]
    gaps = [np.abs(lp - r.sampler_logprobs) for lp, r in zip(first.logprobs, sampled, strict=True)]
    old = rows if train.optimiser.epochs > 1 or train.sampling.correction == "none" else None
    learning = Learning(
        lr=lr,
        loss=first.value,
        grad_norm=first.grad_norm,
        kl_nats=_kl_nats(rows, first.logprobs, train) if train.kl.beta > 0 else None,
        clip_fraction=_clip_fraction(method, old, result.logprobs) if old is not None else 0.0,
        first_ratio_error=masked_mean([np.expm1(g) for g in gaps], masks)
        if train.sampling.correction == "none"
        else 0.0,
        sampler_gap_nats=masked_mean(gaps, masks),
        rows_dropped=dropped,
    )
    return Update(learning, sum(len(r.token_ids) for r in rows) * train.optimiser.epochs)


def _kl_nats(rows: Sequence[Row], logprobs: Sequence[Floats], train: TrainSection) -> float:
    """Mean k3 estimate of KL(π‖π_ref) over sampled tokens; k3 is unbiased and never negative."""
    values = [kl.term("k3", lp, r.reference_logprobs)[0] for lp, r in zip(logprobs, rows, strict=True)]
    return masked_mean(values, [r.mask for r in rows])


def _kl_of_flat(policy: Policy, batch: Batch, rows: Sequence[Row], train: TrainSection) -> float | None:
    """The same of a batch that teaches nothing, by the sampler's logprobs of one row a group.

    A policy that says one thing to everything makes such batches, and is far from the reference.
    """
    if train.kl.beta == 0:
        return None
    sizes = [len(group.rollouts) for group in batch.groups]
    ones = [rows[at] for at in np.cumsum([0, *sizes[:-1]])]
    referred = with_reference(ones, policy.logprobs(ones, reference=True), train)
    return _kl_nats(referred, [row.sampler_logprobs for row in referred], train)


def _clip_fraction(method: Method, rows: Sequence[Row], logprobs: Sequence[Floats]) -> float:
    """Share of sampled tokens whose ratio the loss clips; losses that never clip have none."""
    clipped = getattr(method.loss, "clipped", None)
    if clipped is None:
        return 0.0
    flags = [clipped(r, lp, method.train.loss_params).astype(np.float64) for r, lp in zip(rows, logprobs, strict=True)]
    return masked_mean(flags, [r.mask for r in rows])


def step_record(step: int, batch: Batch, update: Update, clock: Callable[[], float]) -> StepRecord:
    """The line of metrics.jsonl for a step; `clock` gives the seconds since its start."""
    rollouts = [r for g in batch.groups for r in g.rollouts]
    distinct, near = question_stats(rollouts)
    tokens = sum(len(s.token_ids) for r in rollouts for s in r.trajectory.segments if s.sampled)
    return StepRecord(
        version=1,
        step=step,
        reward=float(np.mean([r.score.total for r in rollouts])),
        strict_pass=float(np.mean([r.score.passed for r in rollouts])),
        informative_fraction=float(np.mean([informative(g) for g in batch.groups])),
        distinct_question_ratio=distinct,
        near_echo_share=near,
        faults=len(batch.faults),
        strata=stratum_stats(batch.groups),
        terms=terms_of_rollouts(rollouts),
        questions=question_shape(rollouts),
        learning=update.learning,
        cost=Cost(tokens, update.trained_tokens, clock()),
    )
