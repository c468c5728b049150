"""The preregistered plan: what a person writes in TOML, validated, resolved and hashed.

A plan is frozen before the run. Nothing measured is ever written into it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from askfirst import __version__
from askfirst.errors import PlanError
from askfirst.kl import useful
from askfirst.monitors import Monitors
from askfirst.store import content_hash, plain


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
    """The reward by name, with its parameters. `report` names further rewards to report, never to train on."""

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


class MatrixSection(Section):
    """The seeds that every arm is run with."""

    seeds: tuple[int, ...] = (0,)

    @model_validator(mode="after")
    def _distinct(self) -> MatrixSection:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ValueError("seeds must be distinct and at least one")
        return self


class GateSection(Section):
    """A bound on a per-step metric after the pilot, the first `after_steps` steps."""

    metric: str
    min: float | None = None
    max: float | None = None
    after_steps: int = Field(10, ge=1)


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
    """What the verdict is about. `effect`: the gain over the threshold that the plan wants to see."""

    treatment: str
    baseline: str = "base"
    metric: str = "ambiguous_pass"
    alpha: float = Field(0.05, gt=0, lt=0.5)
    effect: float = Field(0.20, gt=0, lt=1)


class RuleSection(Section):
    """A ship rule: an absolute bound (`above`) or non-inferiority with a `margin`."""

    above: float | None = Field(None, ge=0, lt=1)
    by: Literal["clopper_pearson"] = "clopper_pearson"
    noninferior_to: str | None = None
    margin: float | None = Field(None, gt=0, lt=1)

    @model_validator(mode="after")
    def _one_kind(self) -> RuleSection:
        absolute, relative = self.above is not None, self.noninferior_to is not None
        if absolute == relative or relative != (self.margin is not None):
            raise ValueError("a rule is { above = … } or { noninferior_to = …, margin = … }")
        return self


class BudgetSection(Section):
    """What the run may cost; the feasibility gate compares its estimate with it.

    `price_per_hour` of the machine, in your currency, is what the cost on the progress lines is computed from.
    """

    wall_minutes: float = Field(60.0, gt=0)
    price_per_hour: float = Field(0.0, ge=0)


class Setup(Section):
    """What is trained and on what. `author` is who reads its rollouts unless another name is given."""

    title: str = Field(min_length=1)
    hypothesis: str = ""
    author: str = ""
    model: ModelSection
    env: EnvSection
    reward: RewardSection
    warmstart: WarmstartSection | None = None
    train: TrainSection
    arm: tuple[ArmSection, ...] = (ArmSection(name="main"),)
    matrix: MatrixSection = MatrixSection()


class Plan(Setup):
    """The whole plan: the setup, and how it is judged."""

    gate: tuple[GateSection, ...] = ()
    monitor: Monitors = Field((), validate_default=True)
    evaluation: EvaluationSection = EvaluationSection()
    selection: SelectionSection = SelectionSection()
    decision: DecisionSection
    ship: dict[str, RuleSection] = Field(min_length=1)
    budget: BudgetSection = BudgetSection()

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        names = [arm.name for arm in self.arm]
        if len(set(names)) != len(names):
            raise ValueError("two arms have the same name")
        if self.decision.treatment not in names:
            raise ValueError(f"decision.treatment {self.decision.treatment!r} is not an arm ({', '.join(names)})")
        if self.decision.baseline != "base":
            raise ValueError("decision.baseline must be 'base', the model before training")
        clear_scenarios(self)
        return self


def clear_scenarios(plan: Plan) -> int:
    """How many scenarios of a step are unambiguous. Raises ValueError where no whole number fits the plan."""
    low, high = plan.env.clear_fraction
    total = plan.train.scenarios_per_step
    fitting = [k for k in range(total + 1) if low * total <= k + 1e-9 and k <= high * total + 1e-9]
    if not fitting:
        raise ValueError(f"no whole number of {total} scenarios lies between {low:.0%} and {high:.0%}")
    return min(fitting, key=lambda k: abs(k - (low + high) / 2 * total))


def one_line(plan: Plan) -> str:
    """What a plan trains, in one line."""
    arms, seeds = len(plan.arm), len(plan.matrix.seeds)
    return f"{plan.title} · {plan.model.name} · {arms} arm{'s' * (arms > 1)} × {seeds} seed{'s' * (seeds > 1)}"


def load(path: Path, overrides: Sequence[str] = ()) -> Plan:
    """Read a TOML or JSON plan, apply `key.path=value` overrides and validate. Raises PlanError, naming the field."""
    return validate(edit(read(path), overrides), str(path))


def read(path: Path) -> dict[str, Any]:
    """The document of a plan file, unvalidated."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise PlanError(f"cannot read the plan: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise PlanError("the plan is not UTF-8 text", where=str(path)) from error
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"the plan does not parse: {error}", where=str(path)) from error
    if not isinstance(document, dict):
        raise PlanError("the plan is not a table of sections", where=str(path))
    return document.get("plan", document) if path.suffix == ".json" else document


def edit(document: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the document with `train.lr=1e-5`-style overrides; the value is TOML, or text where it is not."""
    edited: dict[str, Any] = json.loads(json.dumps(document, default=str))
    for override in overrides:
        key, separator, value = override.partition("=")
        if not separator or not key:
            raise PlanError(f"--set wants key=value, found {override!r}")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value
        put(edited, key, parsed)
    return edited


def put(document: dict[str, Any], dotted: str, value: Any) -> None:
    """Set `a.b.c` in nested tables, making tables on the way. Raises PlanError where a part is not a table."""
    *parents, last = dotted.split(".")
    table = document
    for name in parents:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise PlanError(f"{dotted!r} cannot be set: {name!r} is not a section")
    table[last] = value


def validate(document: Mapping[str, Any], where: str) -> Plan:
    """The plan of a document. Every arm's own settings are validated too."""
    plan = _validated(document, where)
    for arm in plan.arm:
        arm_plan(plan, arm.name)
    return plan


def arm_plan(plan: Plan, arm: str) -> Plan:
    """The plan with the arm's declared keys set."""
    document = plain(plan.model_dump(mode="json"))
    for key, value in next(a for a in plan.arm if a.name == arm).set.items():
        if key.split(".")[0] not in {"reward", "train", "warmstart", "model"}:
            raise PlanError(
                f"an arm may set keys of reward, train, warmstart and model, not {key!r}", where=f"arm {arm!r}"
            )
        put(document, key, value)
    return _validated(document, f"arm {arm!r}")


def plan_hash(plan: Plan) -> str:
    """sha256 of the resolved plan."""
    return content_hash(plan.model_dump(mode="json"))


def lock(plan: Plan, sources: Mapping[str, str], overrides: Sequence[str]) -> dict[str, Any]:
    """The frozen plan: resolved, hashed, with the source hash of every plugin it uses."""
    return {
        "version": 1,
        "askfirst": __version__,
        "plan_sha256": plan_hash(plan),
        "sources": dict(sources),
        "overrides": list(overrides),
        "plan": plan.model_dump(mode="json"),
    }


def _validated(document: Mapping[str, Any], where: str) -> Plan:
    try:
        return Plan.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "plan"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        known = _known_fields(first["loc"][:-1]) if first["type"] == "extra_forbidden" else ""
        message = "unknown field" if known else first["msg"].removeprefix("Value error, ")
        raise PlanError(f"{field}: {message}{more}", where=where, hint=known and f"fields here: {known}") from error


def _known_fields(location: tuple[int | str, ...]) -> str:
    """The fields of the section at a location, for the hint beside an unknown one."""
    section: Any = Plan
    for part in location:
        if isinstance(part, int) or not hasattr(section, "model_fields"):
            continue
        annotation = section.model_fields[part].annotation if part in section.model_fields else None
        choices = [annotation, *getattr(annotation, "__args__", ())]
        section = next((c for c in choices if isinstance(c, type) and issubclass(c, BaseModel)), None)
    return ", ".join(sorted(section.model_fields)) if section is not None else ""
