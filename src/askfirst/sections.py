"""What a plan says is to be done: a class for each of these sections, with bounds and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from askfirst.kl import useful
from askfirst.policy import Teacher, TeacherKind


class Section(BaseModel):
    """Every section of a plan: unknown fields are refused and nothing changes after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelSection(Section):
    """What is trained. `name`: nano, smollm2-135m, tabular, a folder or a hub id."""

    name: str
    backend: str = "hf"
    lora_rank: int = Field(16, ge=1, le=512)
    lora_alpha: float = Field(32.0, gt=0)
    dtype: Literal["fp32", "bf16"] = "fp32"
    sampler: Literal["own", "vllm"] = "own"  # vllm: on CUDA, where it is installed


class EnvSection(Section):
    """Where scenarios come from. `sealed` commits to the secret seed of the sealed split.

    Of the clear scenarios in a batch, `twin_fraction` are clear twins; without it the environment's own share. `kinds`
    and `twin_kinds` are weights by kind of ambiguity for the ambiguous requests and for the twins of a batch, keys as
    in the environment's PAIR_MIX; without them its own. `families` are the only ones that scenarios of any split are
    drawn from, where the environment lets choose. `generated` is a file of `askfirst generate` that the train
    split is drawn from.
    """

    name: str
    data: str = ""  # a folder whose tasks are played instead of generated ones, where the environment can
    system_prompt: str = "compact"
    clear_fraction: tuple[float, float] = (0.30, 0.40)
    twin_fraction: float | None = Field(None, ge=0.0, le=1.0)
    kinds: dict[str, float] | None = None
    twin_kinds: dict[str, float] | None = None
    families: tuple[str, ...] = ()
    sealed: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    generated: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _ordered(self) -> EnvSection:
        if self.generated is not None and (self.kinds is not None or self.twin_kinds is not None):
            raise ValueError("kinds and twin_kinds choose among templates; generated data holds what it holds")
        low, high = self.clear_fraction
        if not 0.0 <= low <= high <= 1.0:
            raise ValueError(f"clear_fraction must be two numbers 0 ≤ low ≤ high ≤ 1, found {low}, {high}")
        return self


class RewardSection(Section):
    """The reward by name, with its parameters. `report` names further rewards that judge evaluations beside it."""

    name: str
    params: dict[str, Any] = {}
    report: tuple[str, ...] = ()


class JudgeModel(Section):
    """A judge plugin by its name and, where a model speaks for it, which: a name, folder or hub id of a backend."""

    name: str = "rules"
    model: str = ""
    backend: str = "hf"
    max_tokens: int = Field(200, ge=1, le=4096)


class JudgeSection(JudgeModel):
    """Who reads episodes beside the reward and says in words what went wrong.

    `held_out` is another judge, for reporting only: it reads evaluations, and nobody learns from it. The audit before a
    run (`askfirst check judges`) must bound the judge's agreement with labels from below, in every dimension, by
    `min_agreement`, and the share of attacks that raise its scores from above by `max_fooled`.
    """

    held_out: JudgeModel | None = None
    min_agreement: float = Field(0.8, ge=0, lt=1)
    max_fooled: float = Field(0.1, gt=0, le=1)

    @model_validator(mode="after")
    def _held_out_differs(self) -> JudgeSection:
        other = self.held_out
        if other is not None and (other.model, other.name if not other.model else "") == (
            self.model,
            self.name if not self.model else "",
        ):
            raise ValueError("held_out is the judge itself: another model, or another judge without one")
        return self


class WarmstartSection(Section):
    """Supervised steps on demonstrations, for a model that does not speak the protocol yet.

    Of the demonstrations on ambiguous requests, `guessing_share` guess instead of asking, but none in the first
    `guesses_after` of the steps: a model that has first learnt what needs a question can be taught to ask again.
    `noted_share` of all show, beside the request, notes as a teacher is shown them, of a sibling that passed and of
    what was wrong in an episode that failed, and do what is right: who never read notes makes no teacher.
    """

    steps: int = Field(ge=1)
    batch: int = Field(16, ge=1)
    lr: float = Field(2e-4, gt=0)
    guessing_share: float = Field(0.75, ge=0, le=1)
    guesses_after: float = Field(0.0, ge=0, lt=1)
    noted_share: float = Field(0.0, ge=0, le=1)


class KlSection(Section):
    """Anchor to the reference: β, which estimator (k1, k2, k3) and where it acts."""

    beta: float = Field(0.0, ge=0)
    estimator: Literal["k1", "k2", "k3"] = "k3"
    place: Literal["loss", "reward"] = "loss"

    @model_validator(mode="after")
    def _acts(self) -> KlSection:
        reason = useful(self.estimator, self.place) if self.beta > 0 else None
        if reason:
            raise ValueError(reason)
        return self


class OptimiserSection(Section):
    """`flat_rows`: rows whose advantages are all zero are dropped (their tokens still count in the
    normaliser, the KL term does not act on them) or kept."""

    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: int = Field(0, ge=0)
    grad_clip: float = Field(1.0, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    normaliser: Literal["token_mean", "sequence_mean", "fixed", "sum"] = "token_mean"
    epochs: int = Field(1, ge=1, le=16)
    flat_rows: Literal["drop", "keep"] = "drop"


class SamplingSection(Section):
    """Rollouts are drawn at temperature 1, where sampler and trainer mean the same distribution.

    `correction`: `recompute` takes the trainer's logprobs as those of the sampler; `truncated_is`
    weights each token by min(π_trainer/π_sampler, `truncation`); `none` trusts the sampler's.
    `tolerance_nats`: largest mean |sampler − trainer| allowed; by default the backend's for its dtype.
    """

    max_tokens: int = Field(64, ge=1, le=4096)
    correction: Literal["recompute", "truncated_is", "none"] = "recompute"
    truncation: float = Field(2.0, ge=1)
    tolerance_nats: float | None = Field(None, gt=0)


class TrainSection(Section):
    """One GRPO-family run: `steps` optimiser steps of `scenarios_per_step` × `group_size` rollouts."""

    steps: int = Field(ge=1)
    scenarios_per_step: int = Field(8, ge=1)
    group_size: int = Field(8, ge=2)
    lr: float = Field(ge=0)
    advantage: str = "grpo"
    advantage_params: dict[str, Any] = {}
    loss: str = "ppo_clip"
    loss_params: dict[str, Any] = {}
    kl: KlSection = KlSection()
    optimiser: OptimiserSection = OptimiserSection()
    sampling: SamplingSection = SamplingSection()
    max_fault_fraction: float = Field(0.05, ge=0, le=1)


class TeacherSection(Section):
    """The teacher of self-distillation, for advantages that need one, and what it is shown beside the question.

    A rollout's teacher sees a sibling that succeeded (whose total is at least `threshold`; by default one that passes),
    feedback on the rollout (the judge's where the plan has one, else the reward's failures), or both; never the rollout
    itself. One for which there is nothing is not taught. `place` says whether that stands before or after the request
    in the last message of the opening, with `closing` behind it. An opening of more than `max_tokens` is not shown.
    """

    kind: TeacherKind = "frozen"
    rate: float = Field(0.01, gt=0, le=1)  # of ema and trust_region
    threshold: float | None = None
    context: Literal["sibling_else_feedback", "both", "sibling", "feedback"] = "sibling_else_feedback"
    place: Literal["before", "after"] = "after"
    closing: str = "Now reply to the request correctly."
    max_tokens: int = Field(8192, ge=1)

    @property
    def teacher(self) -> Teacher:
        """Who scores."""
        return Teacher(self.kind, self.rate)


class ArmSection(Section):
    """An arm: its name and the declared keys in which it differs from the plan."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    set: dict[str, Any] = {}


class CurriculumSection(Section):
    """Which requests a step practises: those that the environment draws (`static`), or, out of `pool` times as many,
    those likely to tell the policy's rollouts apart (`informative`).

    `prior`: passes and failures that every kind of request starts with. `half_life`: the steps after which what was
    seen counts half.
    """

    mode: Literal["static", "informative"] = "static"
    pool: int = Field(4, ge=2, le=64)
    prior: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]] = (1.0, 1.0)
    half_life: float = Field(20.0, gt=0)


class MatrixSection(Section):
    """What every arm is run with: all combinations of seeds, group sizes, KL betas, rewards and curricula.

    An axis that is left out is as the plan or the arm says elsewhere. `rewards` are what is trained on: plugin names,
    the plan's own with its params, others with their defaults; all of them are judged by the plan's own.
    """

    seeds: tuple[int, ...] = (0,)
    group_sizes: tuple[Annotated[int, Field(ge=2)], ...] = ()
    betas: tuple[Annotated[float, Field(ge=0)], ...] = ()
    rewards: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    curricula: tuple[Literal["static", "informative"], ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> MatrixSection:
        for name, values in (("seeds", self.seeds), *self.axes.items()):
            if len(set(values)) != len(values) or (name == "seeds" and not values):
                raise ValueError(f"{name} must be distinct{' and at least one' * (name == 'seeds')}")
        return self

    @property
    def axes(self) -> Mapping[str, tuple[Any, ...]]:
        """The axes beside seeds, by name; an empty one is not crossed."""
        return {name: getattr(self, name) for name in AXES}


# Axis of the matrix → the key of the plan that it sets.
AXES: Mapping[str, str] = {
    "rewards": "reward.name",
    "curricula": "curriculum.mode",
    "group_sizes": "train.group_size",
    "betas": "train.kl.beta",
}
