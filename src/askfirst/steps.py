"""One optimiser step: from rows to an update and what it measured. Pure numpy around `Policy.update`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from askfirst import kl, plugins, teaching
from askfirst.batches import bare, make_rows, moves, own, scales, with_reference
from askfirst.credit import ALTERNATIVES, TEACHER
from askfirst.errors import PlanError
from askfirst.metrics import (
    Cost,
    Learning,
    StepRecord,
    Taught,
    informative,
    masked_mean,
    question_shape,
    question_stats,
    stratum_stats,
    terms_of_rollouts,
)
from askfirst.policy import Policy, StepSettings, UpdateResult
from askfirst.rollout import Batch
from askfirst.sections import TeacherSection, TrainSection
from askfirst.values import Floats, Group, Row


@dataclass(frozen=True, slots=True)
class Method:
    """The plugins that turn scores into gradients, the settings they take, and the teacher if the rule needs one."""

    train: TrainSection
    credit: ModuleType
    loss: ModuleType
    teacher: TeacherSection | None = None

    @classmethod
    def of(cls, train: TrainSection, teacher: TeacherSection | None = None) -> Method:
        """The method that the plan names. Raises PluginError, and PlanError where its teacher is not declared."""
        credit = plugins.load("advantages", train.advantage)
        taught = TEACHER in credit.NEEDS
        if taught and teacher is None:
            raise PlanError(
                f"{train.advantage} needs a teacher", where="train.advantage", hint="add a section [teacher]"
            )
        return cls(train, credit, plugins.load("losses", train.loss), teacher if taught else None)

    @property
    def alternatives(self) -> int:
        """How many alternatives to each token the credit rule looks at."""
        wanted = ALTERNATIVES in self.credit.NEEDS
        return self.credit.alternatives(self.train.advantage_params) if wanted else 0

    def lesson(self, policy: Policy, groups: Sequence[Group]) -> teaching.Lesson | None:
        """What the teacher makes of the groups; None where the credit rule has no use for one."""
        if self.teacher is None:
            return None
        notes = teaching.notes_of(groups, self.teacher)
        return teaching.teach(policy, groups, self.teacher, notes, self.alternatives)

    def rows(self, groups: Sequence[Group], lesson: teaching.Lesson | None) -> list[Row]:
        """One row a rollout with its advantages."""
        given = (lesson.evidence, lesson.alternatives) if lesson else ()
        return make_rows(groups, self.credit, self.train.advantage_params, *given)

    def measured(self, lesson: teaching.Lesson | None, rows: Sequence[Row]) -> Taught | None:
        """What a lesson came to, given the rows that were made of it."""
        clip = {**getattr(self.credit, "DEFAULTS", {}), **self.train.advantage_params}.get("clip", 0.0)
        return teaching.measured(lesson, rows, float(clip)) if lesson else None


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
        """Row index and policy logprobs → value and d value / d logprob, both (T,), or (T, 1 + K) with alternatives."""
        train, scale = self.method.train, self.scales[index]
        row = self._corrected(self.rows[index], logprobs)
        value, slope = self._loss(row, logprobs, scale)
        if train.kl.beta > 0 and train.kl.place == "loss":
            values, slopes = kl.term(train.kl.estimator, own(logprobs), row.reference_logprobs)
            weight = scale * train.kl.beta
            value += weight * float(values[row.mask].sum())
            slope = slope.copy()
            own(slope)[:] += np.where(row.mask, weight * slopes, 0.0)
        return value, slope

    def _loss(self, row: Row, logprobs: Floats, scale: float) -> tuple[float, Floats]:
        """The loss of a row. An alternative counts as one more sampled token, whose weight is its advantage."""
        if row.alternatives is None:
            value, slope = self.method.loss.loss(row, logprobs, scale, self.method.train.loss_params)
            return value, slope
        value, slope = self.method.loss.loss(unrolled(row), logprobs.ravel(), scale, self.method.train.loss_params)
        return value, slope.reshape(logprobs.shape)

    def _corrected(self, row: Row, logprobs: Floats) -> Row:
        correction = self.method.train.sampling.correction
        if not self.first_epoch or correction == "none":
            return row
        if correction == "recompute":
            return replace(row, sampler_logprobs=logprobs)
        weight = np.minimum(np.exp(logprobs - row.sampler_logprobs), self.method.train.sampling.truncation)
        return replace(row, sampler_logprobs=logprobs, advantages=row.advantages * weight)


def unrolled(row: Row) -> Row:
    """A row with alternatives as one without, in which every alternative is a sampled token; shapes (T · (1 + K),)."""
    wide = row.advantages.shape
    mask = np.broadcast_to(row.mask[:, None], wide).ravel()
    sampler, advantages = row.sampler_logprobs.ravel(), row.advantages.ravel()
    return Row(np.zeros(mask.shape, dtype=np.int64), mask, sampler, np.zeros(0), advantages)


@dataclass(frozen=True, slots=True)
class Update:
    """What `learn` did: the measurements, and how many tokens went through the trainer, and to compare with a
    teacher."""

    learning: Learning
    trained_tokens: int
    teacher_tokens: int = 0


def learn(policy: Policy, batch: Batch, method: Method, lr: float) -> Update:
    """Lesson, advantages, rows, reference logprobs and `epochs` optimiser steps on one batch of rollouts.

    A batch without any advantage and with nothing else to learn leaves the weights alone.
    """
    train = method.train
    lesson = method.lesson(policy, batch.groups)
    everything = method.rows(batch.groups, lesson)
    taught, tokens = method.measured(lesson, everything), lesson.tokens if lesson else 0
    weights = scales(everything, train.optimiser, train.sampling.max_tokens).rows
    keep = [i for i, row in enumerate(everything) if train.optimiser.flat_rows == "keep" or moves(row)]
    dropped = len(everything) - len(keep)
    if not keep:
        flat = _kl_of_flat(policy, batch, everything, train)
        return Update(Learning(lr, 0.0, 0.0, flat, 0.0, 0.0, 0.0, dropped, taught), 0, tokens)
    rows, chosen = [everything[i] for i in keep], [weights[i] for i in keep]
    sampled = rows
    if train.kl.beta > 0:
        rows = with_reference(rows, policy.logprobs([bare(r) for r in rows], reference=True), train)
    settings = StepSettings(lr, train.optimiser.grad_clip, train.optimiser.weight_decay)
    results: list[UpdateResult] = []
    for epoch in range(train.optimiser.epochs):
        if epoch == 1 and train.sampling.correction != "none":
            rows = [replace(r, sampler_logprobs=lp) for r, lp in zip(rows, results[0].logprobs, strict=True)]
        results.append(policy.update(rows, Objective(method, rows, chosen, epoch == 0), settings))
        if method.teacher is not None:
            teaching.follow(policy, method.teacher.teacher)
    learning = Learning(
        lr=lr,
        loss=results[0].value,
        grad_norm=results[0].grad_norm,
        kl_nats=_kl_nats(rows, [own(lp) for lp in results[0].logprobs], train) if train.kl.beta > 0 else None,
        **_drift(method, (sampled, rows), results),
        rows_dropped=dropped,
        taught=taught,
    )
    return Update(learning, sum(len(r.token_ids) for r in rows) * train.optimiser.epochs, tokens)


def _drift(
    method: Method, rows: tuple[Sequence[Row], Sequence[Row]], results: Sequence[UpdateResult]
) -> dict[str, float]:
    """How far the policy is from what was sampled: clips, first ratio and gap. `rows` are those at the first epoch,
    with the sampler's logprobs, and at the last."""
    sampled, last = rows
    train, masks = method.train, [r.mask for r in sampled]
    gaps = [np.abs(own(lp) - own(r.sampler_logprobs)) for lp, r in zip(results[0].logprobs, sampled, strict=True)]
    plain = train.sampling.correction == "none"
    moved = plain or train.optimiser.epochs > 1
    return {
        "clip_fraction": _clip_fraction(method, last, results[-1].logprobs) if moved else 0.0,
        "first_ratio_error": masked_mean([np.expm1(g) for g in gaps], masks) if plain else 0.0,
        "sampler_gap_nats": masked_mean(gaps, masks),
    }


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
    ones = [bare(rows[at]) for at in np.cumsum([0, *sizes[:-1]])]
    referred = with_reference(ones, policy.logprobs(ones, reference=True), train)
    return _kl_nats(referred, [row.sampler_logprobs for row in referred], train)


def _clip_fraction(method: Method, rows: Sequence[Row], logprobs: Sequence[Floats]) -> float:
    """Share of sampled tokens whose ratio the loss clips; losses that never clip have none."""
    clipped = getattr(method.loss, "clipped", None)
    if clipped is None:
        return 0.0
    pairs = [(r if r.alternatives is None else unrolled(r), lp.ravel()) for r, lp in zip(rows, logprobs, strict=True)]
    flags = [clipped(r, lp, method.train.loss_params).astype(np.float64) for r, lp in pairs]
    return masked_mean(flags, [r.mask for r, _ in pairs])


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
        cost=Cost(tokens, update.trained_tokens, clock(), update.teacher_tokens),
    )
