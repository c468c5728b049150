"""The sections of a plan, one class each: what a person may write, with its bounds and its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from askfirst.kl import useful
from askfirst.values import Target


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
    in the environment's PAIR_MIX; without them its own.
    """

    name: str
    system_prompt: str = "compact"
    clear_fraction: tuple[float, float] = (0.30, 0.40)
    twin_fraction: float | None = Field(None, ge=0.0, le=1.0)
    kinds: dict[str, float] | None = None
    twin_kinds: dict[str, float] | None = None
    sealed: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")

    @model_validator(mode="after")
    def _ordered(self) -> EnvSection:
        low, high = self.clear_fraction
        if not 0.0 <= low <= high <= 1.0:
            raise ValueError(f"clear_fraction must be two numbers 0 ≤ low ≤ high ≤ 1, found {low}, {high}")
        return self


class RewardSection(Section):
    """The reward by name, with its parameters. `report` names further rewards that judge evaluations beside it."""

    name: str
    params: dict[str, Any] = {}
    report: tuple[str, ...] = ()


class WarmstartSection(Section):
    """Supervised steps on demonstrations, for a model that does not speak the protocol yet.

    Of the demonstrations on ambiguous requests, `guessing_share` guess instead of asking, but none in the first
    `guesses_after` of the steps: a model that has first learnt what needs a question can be taught to ask again.
    """

    steps: int = Field(ge=1)
    batch: int = Field(16, ge=1)
    lr: float = Field(2e-4, gt=0)
    guessing_share: float = Field(0.75, ge=0, le=1)
    guesses_after: float = Field(0.0, ge=0, lt=1)


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


class RangeSection(Section):
    """What a search may set `key` to: one of `choices`, or a number from `low` to `high`, on a log scale where said.

    Whole numbers where both ends are.
    """

    key: str = Field(pattern=r"^(train|warmstart|curriculum)\.[a-z_.]+$|^model\.lora_(rank|alpha)$")
    choices: tuple[bool | int | float | str, ...] = ()
    low: int | float | None = None
    high: int | float | None = None
    log: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> RangeSection:
        if (self.low is None) != (self.high is None) or bool(self.choices) == (self.low is not None):
            raise ValueError("a range has choices, or low and high")
        ordered = self.low is None or self.high is None or self.low < self.high
        if not ordered or (self.log and (self.low is None or self.low <= 0)):
            raise ValueError(f"low {self.low} is below high {self.high}, and above 0 on a log scale")
        return self


class FoundSection(Section):
    """The search that a plan comes from: its record by hash, how many settings were tried, and what the one of this
    plan came to on dev."""

    record_sha256: str
    trials: int = Field(ge=1)
    trial: int = Field(ge=0)
    metric: str
    value: float


class SearchSection(Section):
    """The ranges that `askfirst search` tries, and, in the plan that it writes, what was found."""

    range: tuple[RangeSection, ...] = Field(min_length=1)
    found: FoundSection | None = None

    @model_validator(mode="after")
    def _distinct(self) -> SearchSection:
        keys = [each.key for each in self.range]
        if len(set(keys)) != len(keys):
            raise ValueError("two ranges are of the same key")
        return self


class GateSection(Section):
    """A bound on a per-step metric after the pilot, the first `after_steps` steps: on its mean (`min`, `max`) or on
    every value of it (`one_of`)."""

    metric: str
    min: float | None = None
    max: float | None = None
    one_of: tuple[float, ...] = ()
    after_steps: int = Field(10, ge=1)


class CalibrationSection(Section):
    """The one change that a failed gate on the pilot allows: `key` is multiplied by `factor` or set `to` a value, and
    stays within `min` and `max`."""

    key: str = Field(pattern=r"^train\.[a-z_.]+$")
    factor: float | None = Field(None, gt=0)
    to: float | None = None
    min: float
    max: float

    @model_validator(mode="after")
    def _one_way(self) -> CalibrationSection:
        if (self.factor is None) == (self.to is None):
            raise ValueError("a calibration has a factor, or a value to set the key to")
        return self


class CorrectnessSection(Section):
    """Whether the plan's loss is held against TRL's own before training, and how near value and gradient must be."""

    trl: Literal["off", "installed", "required"] = "off"
    atol: float = Field(1e-9, ge=0)
    rtol: float = Field(1e-9, ge=0)
    cosine: float = Field(1 - 1e-12, gt=0, le=1)


class EvaluationSection(Section):
    """Greedy evaluation: how often on dev, and how many items a split has."""

    every: int = Field(20, ge=1)
    dev_items: int = Field(120, ge=8)
    sealed_items: int = Field(400, ge=8)
    clear_fraction: float = Field(0.5, gt=0, lt=1)


class SelectionSection(Section):
    """Which checkpoint goes on, from dev records alone.

    Checkpoints whose training steps since the last evaluation had a lower informative fraction than
    `min_informative_fraction` are passed over, and so are those that ask on more than
    `max_false_ask` of the clear requests.
    """

    metric: str = "ambiguous_pass"
    min_informative_fraction: float = Field(0.25, ge=0, le=1)
    max_false_ask: float = Field(0.05, ge=0, le=1)


class DecisionSection(Section):
    """What the verdict is about. `effect`: the gain over the threshold that the plan wants to see. `target`: what the
    rules are to speak of; a plan whose methods cannot is refused."""

    treatment: str
    baseline: str = "base"
    metric: str = "ambiguous_pass"
    alpha: float = Field(0.05, gt=0, lt=0.5)
    effect: float = Field(0.20, gt=0, lt=1)
    target: Target = "new_items"


class RuleSection(Section):
    """A ship rule: an absolute bound (`above`) or no regression against the model before training.

    `mode` says in which sense: the rate falls by less than the margin (by the bound `paired`), fewer items than the
    margin flip from pass to fail, or, without a margin, none of these very items does.
    """

    above: float | None = Field(None, ge=0, lt=1)
    by: Literal["clopper_pearson"] = "clopper_pearson"
    noninferior_to: str | None = None
    margin: float | None = Field(None, gt=0, lt=1)
    mode: Literal["rate_noninferiority", "regression_rate_upper", "no_item_regression"] = "rate_noninferiority"
    paired: Literal["tango", "paired_hoeffding"] = "tango"

    @model_validator(mode="after")
    def _one_kind(self) -> RuleSection:
        absolute, relative = self.above is not None, self.noninferior_to is not None
        wanted = relative and self.mode != "no_item_regression"
        if absolute == relative or wanted != (self.margin is not None):
            raise ValueError(
                "a rule is { above = … }, { noninferior_to = …, margin = … } "
                "or { noninferior_to = …, mode = 'no_item_regression' }"
            )
        plain = self.mode == "rate_noninferiority"
        if (absolute and not plain) or (self.paired != "tango" and not (relative and plain)):
            raise ValueError("mode is for rules with noninferior_to, and paired for those of mode rate_noninferiority")
        return self


class BudgetSection(Section):
    """What the run may cost; the feasibility gate compares its estimate with it.

    `price_per_hour` of the machine, in your currency, is what the cost on the progress lines is computed from.
    """

    wall_minutes: float = Field(60.0, gt=0)
    price_per_hour: float = Field(0.0, ge=0)
