"""How a plan is judged, and what may be tried before it is frozen: a class for each of these sections."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from askfirst.sections import Section
from askfirst.values import Target


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


class GenerationSection(Section):
    """What generated training data may be wrong in: of `sample` requests, so many with a wrong label; and, of all,
    so many overlaps with what is evaluated on. It is audited exactly where env.generated names data."""

    sample: int = Field(100, ge=100)
    max_label_errors: int = Field(0, ge=0)
    max_overlaps: int = Field(0, ge=0)


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
    """What the verdict is about.

    `baseline`: base, the model before training, or an arm, whose checkpoint is selected as that of the treatment; rules
    name what they compare with. `effect`: the gain over the threshold that the plan wants to see. `target`: what the
    rules are to speak of; a plan whose methods cannot is refused.
    """

    treatment: str
    baseline: str = "base"
    metric: str = "ambiguous_pass"
    alpha: float = Field(0.05, gt=0, lt=0.5)
    effect: float = Field(0.20, gt=0, lt=1)
    target: Target = "new_items"


class RuleSection(Section):
    """A ship rule: an absolute bound (`above`), more passes than another model has by more than the margin
    (`superior_to`), or no regression against it (`noninferior_to`): against `base`, the model before training, or the
    arm that is the plan's baseline.

    `mode` says in which sense there is none: the rate falls by less than the margin (by the bound `paired`), fewer
    items than the margin flip from pass to fail, or, without a margin, none of these very items does.
    """

    above: float | None = Field(None, ge=0, lt=1)
    by: Literal["clopper_pearson"] = "clopper_pearson"
    noninferior_to: str | None = None
    superior_to: str | None = None
    margin: float | None = Field(None, ge=0, lt=1)
    mode: Literal["rate_noninferiority", "regression_rate_upper", "no_item_regression"] = "rate_noninferiority"
    paired: Literal["tango", "paired_hoeffding"] = "tango"

    @model_validator(mode="after")
    def _one_kind(self) -> RuleSection:
        kinds = (self.above is not None, self.noninferior_to is not None, self.superior_to is not None)
        plain = self.mode == "rate_noninferiority"
        bounded = self.superior_to is not None or (self.noninferior_to is not None and plain)
        needs = self.noninferior_to is not None and self.mode != "no_item_regression"
        if sum(kinds) != 1 or (needs and not self.margin) or (self.margin is not None and not (bounded or needs)):
            raise ValueError(
                "a rule is { above = … }, { superior_to = …, margin = … }, { noninferior_to = …, margin = … } "
                "or { noninferior_to = …, mode = 'no_item_regression' }"
            )
        if (self.noninferior_to is None and not plain) or (self.paired != "tango" and not bounded):
            raise ValueError(
                "mode is for rules with noninferior_to; paired for those, of mode rate_noninferiority, and superior_to"
            )
        return self

    @property
    def against(self) -> str | None:
        """The model that the rule compares with; None for an absolute bound."""
        return self.noninferior_to or self.superior_to

    @property
    def least(self) -> float:
        """What the lower bound of a paired difference has to be above."""
        margin = self.margin or 0.0
        return margin if self.superior_to else -margin


class BudgetSection(Section):
    """What the run may cost; the feasibility gate compares its estimate with it.

    `price_per_hour` of the machine, in your currency, is what the cost on the progress lines is computed from.
    """

    wall_minutes: float = Field(60.0, gt=0)
    price_per_hour: float = Field(0.0, ge=0)
