"""The published format of a registered experiment, key by key. Unknown keys are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from askfirst.errors import PlanError
from askfirst.inference import rule
from askfirst.sections import Section
from askfirst.stats._bounded import support
from askfirst.store import content_hash
from askfirst.values import Target

# The format's units of inference, and what a statement about each is about.
UNITS: Mapping[str, Target] = {
    "fixed_checkpoint_items": "fixed_items",
    "new_items": "new_items",
    "new_clusters": "new_clusters",
    "new_seeds": "new_seeds",
}
ROLES = ("treatment", "baseline")
LOSS_CHECKS = ("baseline_loss", "baseline_gradient", "reference_loss", "reference_gradient")


class Arm(Section):
    """One of the compared policies: its advantage estimator in words, its learning rate and training seed."""

    name: str = Field(min_length=1)
    advantage: str
    lr: float = Field(gt=0)
    seed: int


class Optimizer(Section):
    """The optimiser by name, with its learning rate."""

    name: str
    lr: float = Field(gt=0)


class Dataset(Section):
    """What is trained on. `n_examples` is how many the plan says there are."""

    name: str
    hf_path: str | None
    split: str
    n_examples: int = Field(ge=1)


class Eval(Section):
    """What is measured, and on how many items."""

    benchmark: str
    metric: str
    n_examples: int = Field(ge=1)
    aggregation: str | None


class Criterion(Section):
    """Σ weights·metric over arms must lie above the margin; each measurement lies in `bounds`."""

    id: str
    metric: str
    bounds: tuple[float, float]
    margin: float
    weights: dict[str, float] = Field(min_length=1)

    @model_validator(mode="after")
    def _roles(self) -> Criterion:
        if strange := sorted(set(self.weights) - set(ROLES)):
            raise ValueError(f"weights are of {' and '.join(ROLES)}, found {strange[0]!r}")
        support(self.weights, self.bounds)
        return self


class DecisionRule(Section):
    """The rule in machine form. `trials` on each item, 1 where it is not said; `clusters` are the sizes of
    those that are units.
    `discordance` is the share of items on which the arms are expected to differ."""

    version: Literal[1]
    method: str
    unit: str
    alpha: float = Field(gt=0, lt=0.5)
    seeds: tuple[int, ...] = Field(min_length=1)
    estimand: str
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    trials: int = Field(1, ge=1)
    clusters: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> DecisionRule:
        if self.unit not in UNITS:
            raise ValueError(f"unit must be one of {', '.join(UNITS)}, found {self.unit!r}")
        return self


class Check(Section):
    """A bound on a value that the pilot executes."""

    metric: str
    measures: str
    min: float | None = None
    max: float | None = None
    one_of: tuple[str, ...] | None = None


class ActivationGate(Section):
    """What a pilot must show before the full run."""

    applicable: bool
    reason: str
    checks: tuple[Check, ...]


class Tolerance(Section):
    """How far a measured value may be from its reference: |a − b| ≤ atol + rtol·|b|, and the least cosine."""

    atol: float = Field(ge=0)
    rtol: float = Field(ge=0)
    min_cosine: float | None = None


class Tolerances(Section):
    """A tolerance for each of the four checks of a loss path."""

    baseline_loss: Tolerance
    baseline_gradient: Tolerance
    reference_loss: Tolerance
    reference_gradient: Tolerance


class LossPath(Section):
    """A custom loss and the revisions that it is held against."""

    id: str = Field(min_length=1)
    kind: Literal["loss", "optimizer"]
    baseline_revision: str
    reference_revision: str
    tolerances: Tolerances


class CorrectnessPreflight(Section):
    """Loss paths to be checked on a fixed batch."""

    required: bool
    status: str
    paths: tuple[LossPath, ...]


class RestoredArm(Section):
    """The optimiser that an arm must report after its creation."""

    name: str
    optimizer: str
    optimizer_config: dict[str, float | int | str]


class RestoredGroup(Section):
    """Arms that start from one state."""

    arms: tuple[RestoredArm, ...] = Field(min_length=1)


class RestorationPreflight(Section):
    """Which arms must be shown to start alike."""

    applicable: bool
    fixed_batch_required: bool
    reason: str
    groups: tuple[RestoredGroup, ...]


class GenerationAudit(Section):
    """The audit of generated training data."""

    required: bool
    answer_comparison: str
    min_sample_size: int = Field(ge=1)
    max_label_errors: int = Field(ge=0)
    max_eval_overlaps: int = Field(ge=0)


class Features(Section):
    """What the registrant says that the experiment does."""

    adaptive_selection: bool
    checkpoint_restore: bool
    custom_loss: bool
    custom_optimizer: bool
    generated_training_data: bool
    heldout_loss: bool
    learned_generator: bool
    paired_comparison: bool
    paired_training_arms: bool
    warmup_adaptation: bool


class Budget(Section):
    """What the experiment may cost."""

    gpu_hours: float = Field(gt=0)
    max_wall_minutes: float = Field(gt=0)


class Prose(Section):
    """What the registrant says in words."""

    title: str = Field(min_length=1)
    hypothesis: str
    method: str
    baseline: str
    success_criterion: str
    command: str
    preflight: dict[str, str]
    spec_preflight: dict[str, Any]


class Training(Prose):
    """What is trained, and how."""

    arms: tuple[Arm, ...] = Field(min_length=1)
    base_model: str
    training_type: str
    lora_rank: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    max_seq_len: int = Field(ge=1)
    steps: int = Field(ge=1)
    optimizer: Optimizer
    dataset: Dataset


class Experiment(Training):
    """The whole registered document."""

    eval: Eval
    primary_endpoint: str
    decision_rule: DecisionRule
    activation_gate: ActivationGate
    correctness_preflight: CorrectnessPreflight
    restoration_preflight: RestorationPreflight
    generation_audit: GenerationAudit
    experiment_features: Features
    budget: Budget
    feasibility: dict[str, Any] | None
    feasibility_required: bool
    feasibility_check: dict[str, Any]

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise ValueError("two arms have the same name")
        if self.primary_endpoint not in {c.metric for c in self.decision_rule.criteria}:
            raise ValueError(f"primary_endpoint {self.primary_endpoint!r} is not the metric of a decision criterion")
        return self


def recognised(document: Mapping[str, Any]) -> bool:
    """Whether a document is in this format: it has a machine rule and names its endpoint."""
    return "decision_rule" in document and "primary_endpoint" in document


def validate(document: Mapping[str, Any], where: str) -> Experiment:
    """The experiment of a document.

    Raises PlanError, naming the field, and for a method that cannot speak of the rule's unit.
    """
    try:
        found = Experiment.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "document"
        message = "unknown field" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise PlanError(f"{field}: {message}{more}", where=where) from error
    try:
        rule.serves(found.decision_rule.method, UNITS[found.decision_rule.unit])
    except PlanError as error:
        raise PlanError(f"decision_rule: {error.message}", where=where, hint=error.hint) from None
    return found


def fingerprint(experiment: Experiment) -> str:
    """sha256 of the resolved experiment as canonical JSON."""
    return content_hash(experiment.model_dump(mode="json"))
