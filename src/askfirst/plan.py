"""The preregistered plan: what a person writes in TOML, validated, resolved and hashed.

A plan is frozen before the run. Nothing measured is ever written into it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, model_validator

from askfirst import __version__, planfile
from askfirst.criteria import (
    BudgetSection,
    CalibrationSection,
    CorrectnessSection,
    DecisionSection,
    EvaluationSection,
    GateSection,
    GenerationSection,
    RuleSection,
    SearchSection,
    SelectionSection,
)
from askfirst.errors import PlanError
from askfirst.metrics import METRICS, SELECTABLE
from askfirst.monitors import Monitors
from askfirst.sections import (
    AXES,
    ArmSection,
    CurriculumSection,
    EnvSection,
    JudgeModel,
    JudgeSection,
    MatrixSection,
    ModelSection,
    RewardSection,
    Section,
    TeacherSection,
    TrainSection,
    WarmstartSection,
)
from askfirst.slugs import Cell
from askfirst.store import content_hash, plain


class Setup(Section):
    """What is trained and on what. `author` is who reads its rollouts unless another name is given."""

    title: str = Field(min_length=1)
    hypothesis: str = ""
    author: str = ""
    model: ModelSection
    env: EnvSection
    reward: RewardSection
    judge: JudgeSection | None = None
    warmstart: WarmstartSection | None = None
    train: TrainSection
    teacher: TeacherSection | None = None
    curriculum: CurriculumSection = CurriculumSection()
    arm: tuple[ArmSection, ...] = (ArmSection(name="main"),)
    matrix: MatrixSection = MatrixSection()


class Plan(Setup):
    """The whole plan: the setup, and how it is judged."""

    gate: tuple[GateSection, ...] = ()
    calibration: CalibrationSection | None = None
    monitor: Monitors = Field((), validate_default=True)
    correctness: CorrectnessSection = CorrectnessSection()
    evaluation: EvaluationSection = EvaluationSection()
    generation: GenerationSection = GenerationSection()
    selection: SelectionSection = SelectionSection()
    decision: DecisionSection
    ship: dict[str, RuleSection] = Field(min_length=1)
    budget: BudgetSection = BudgetSection()
    search: SearchSection | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        names = [arm.name for arm in self.arm]
        if len(set(names)) != len(names):
            raise ValueError("two arms have the same name")
        # A point of the matrix is looked for in `validate`, where there are any.
        if self.decision.treatment not in names and not any(self.matrix.axes.values()):
            raise ValueError(f"decision.treatment {self.decision.treatment!r} is not an arm ({', '.join(names)})")
        _baseline(self)
        if self.model.sampler != "own" and any(rule.mode == "no_item_regression" for rule in self.ship.values()):
            raise ValueError("mode no_item_regression needs decoding that repeats itself to the bit: model.sampler own")
        clear_scenarios(self)
        _known(self.selection.metric, "selection.metric", SELECTABLE)
        for metric, where in ((self.decision.metric, "decision.metric"), *((m, "ship") for m in self.ship)):
            _known(metric, where, METRICS)
        return self


def _baseline(plan: Plan) -> None:
    """Raise ValueError for a baseline, or a model in a rule, that the run will not have."""
    against = ["base", plan.decision.baseline]
    names = ["base", *(arm.name for arm in plan.arm if arm.name != plan.decision.treatment)]
    if plan.decision.baseline not in names or (plan.decision.baseline != "base" and any(plan.matrix.axes.values())):
        raise ValueError(
            f"decision.baseline {plan.decision.baseline!r} is not 'base', the model before training, "
            "nor another arm of a plan without axes"
        )
    for metric, rule in plan.ship.items():
        if rule.against is not None and rule.against not in against:
            raise ValueError(f"ship.{metric} compares with {rule.against!r}, and decision.baseline is {against[1]!r}")


def _known(metric: str, where: str, metrics: Sequence[str]) -> None:
    if metric not in metrics:
        raise ValueError(f"{where}: no metric is called {metric!r}; one of: {', '.join(metrics)}")


def clear_scenarios(plan: Plan) -> int:
    """How many scenarios of a step are unambiguous. Raises ValueError where no whole number fits the plan."""
    low, high = plan.env.clear_fraction
    total = plan.train.scenarios_per_step
    fitting = [k for k in range(total + 1) if low * total <= k + 1e-9 and k <= high * total + 1e-9]
    if not fitting:
        raise ValueError(f"no whole number of {total} scenarios lies between {low:.0%} and {high:.0%}")
    return min(fitting, key=lambda k: abs(k - (low + high) / 2 * total))


def judges_of(plan: Plan) -> tuple[JudgeModel, ...]:
    """The judges that a plan names, the held-out one last."""
    if plan.judge is None:
        return ()
    return (plan.judge, plan.judge.held_out) if plan.judge.held_out else (plan.judge,)


def one_line(plan: Plan) -> str:
    """What a plan trains, in one line."""
    crossed = {axis.replace("_", " "): len(values) for axis, values in plan.matrix.axes.items() if values}
    arms, seeds = len(plan.arm), len(plan.matrix.seeds)
    parts = [plan.title, plan.model.name, f"{arms} arm{'s' * (arms > 1)}"]
    parts[-1] += "".join(f" × {count} {axis}" for axis, count in crossed.items())
    parts[-1] += f" × {seeds} seed{'s' * (seeds > 1)}"
    return " · ".join(parts) + (f" = {seeds * len(points(plan))} variants" if crossed else "")


def load(path: Path, overrides: Sequence[str] = ()) -> Plan:
    """Read a TOML or JSON plan, apply `key.path=value` overrides and validate.

    Raises PlanError, naming the field, and for a frozen plan (`askfirst freeze`) that is not what it was.
    """
    document, frozen = planfile.opened(path)
    plan = validate(planfile.edit(document, overrides), str(path))
    require_frozen(plan_hash(plan), frozen, str(path))
    return plan


def require_frozen(found: str, frozen: str, where: str) -> None:
    """Raise PlanError unless a plan's hash is the one it was frozen with, if it was."""
    if frozen and found != frozen:
        raise PlanError(
            "the plan was frozen and is not the same any more: a field, --set or another version changed it",
            where=where,
            hint="freeze the plan that you mean: askfirst freeze PLAN",
        )


def validate(document: Mapping[str, Any], where: str) -> Plan:
    """The plan of a document. Every arm's own settings are validated too, and that arms differ as they declare."""
    plan = _validated(document, where)
    try:
        contrast(plan)
        plan_hash(plan)
        resolved(plan)
        treated(plan)
        require_calibratable(plan)
    except PlanError:
        raise
    except ValueError as error:  # what canonical JSON cannot hold
        raise PlanError(str(error), where=where) from error
    return plan


def calibrated(plan: Plan) -> Plan:
    """The plan after its calibration: the key changed as declared, all else as it was.

    Raises PlanError for a plan without one, for a key that is no number, and for a value beyond the declared caps.
    """
    section = plan.calibration
    if section is None:
        raise PlanError("has no calibration", where="calibration")
    document = plain(plan.model_dump(mode="json"))
    found = at(document, section.key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise PlanError(f"{section.key} is no number of the plan", where="calibration.key")
    value = found * section.factor if section.factor is not None else section.to
    if value is None or not section.min <= value <= section.max or value == found:
        raise PlanError(
            f"{section.key} would go from {found} to {value}, which must be another value "
            f"within {section.min} and {section.max}",
            where="calibration",
        )
    planfile.put(document, section.key, value)
    return _validated(document, "calibration")


def require_calibratable(plan: Plan) -> None:
    """Raise PlanError for a calibration that would not act on every variant alike, or that is not possible."""
    if plan.calibration is None:
        return
    key = plan.calibration.key
    if not plan.gate:
        raise PlanError("there is no [[gate]] whose failure could ask for it", where="calibration")
    setters = [point.name for point in points(plan) for name in point.set if f"{key}.".startswith(f"{name}.")]
    if setters:
        raise PlanError(f"{key} is set by {setters[0]} itself; what is calibrated is alike in all", where="calibration")
    calibrated(plan)


def contrast(plan: Plan) -> tuple[str, ...]:
    """The declared keys in which the arms differ, sorted; none where there is one arm.

    Raises PlanError for two arms that are the same, and for a declared key that tells no arms apart.
    """
    documents = {arm.name: arm_plan(plan, arm.name).model_dump(mode="json") for arm in plan.arm}
    keys = sorted({key for arm in plan.arm for key in arm.set})
    seen: dict[str, str] = {}
    for name, document in documents.items():
        twin = seen.setdefault(content_hash(document), name)
        if twin != name:
            raise PlanError("is the same as arm " + repr(twin), where=f"arm {name!r}", hint="set a key in one of them")
    for key in keys if len(plan.arm) > 1 else ():
        if len({content_hash(at(document, key)) for document in documents.values()}) == 1:
            raise PlanError(f"{key} is declared, and alike in every arm", where="arm", hint="set it in the plan itself")
    return tuple(keys) if len(plan.arm) > 1 else ()


def at(document: Mapping[str, Any], dotted: str) -> Any:
    """The value of `a.b.c` in nested tables; None where there is none."""
    value: Any = document
    for name in dotted.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


@dataclass(frozen=True, slots=True)
class Point:
    """What is trained with every seed: a declared arm, or, where the matrix has axes, an arm at one point of them."""

    name: str
    arm: str
    set: Mapping[str, Any]
    cell: Cell | None = None


def points(plan: Plan) -> tuple[Point, ...]:
    """Everything that is trained with every seed, in the order of arms, rewards, curricula, group sizes and betas.

    Raises PlanError for an arm that sets what an axis sets.
    """
    if not any(plan.matrix.axes.values()):
        return tuple(Point(arm.name, arm.name, arm.set) for arm in plan.arm)
    return tuple(point for arm in plan.arm for point in _crossed(plan, arm))


def _crossed(plan: Plan, arm: ArmSection) -> Iterator[Point]:
    own, axes = _with(plan, arm.name, arm.set), plan.matrix.axes
    for axis, key in AXES.items():
        clash = [mine for mine in arm.set if f"{key}.".startswith(f"{mine}.") and axes[axis]]
        if clash:
            raise PlanError(f"{clash[0]} is set here and by matrix.{axis}", where=f"arm {arm.name!r}")
    document = own.model_dump(mode="json")
    for values in itertools.product(*(axes[axis] or (at(document, key),) for axis, key in AXES.items())):
        chosen = dict(zip(AXES.values(), values, strict=True))
        if chosen["reward.name"] != own.reward.name:
            chosen["reward.params"] = {}
        reward, mode, size, beta = values
        cell = Cell(reward, mode, size, beta, arm.name)
        yield Point(cell.name, arm.name, {**arm.set, **chosen}, cell)


def resolved(plan: Plan) -> dict[str, Plan]:
    """The plan of every point, by its name."""
    return {point.name: _with(plan, point.name, point.set) for point in points(plan)}


def treated(plan: Plan) -> tuple[str, ...]:
    """The names of what the decision is about: the treatment arm, at every point of the matrix, or one such point.

    Raises PlanError where there is none.
    """
    names = tuple(p.name for p in points(plan) if plan.decision.treatment in (p.name, p.arm))
    if not names:
        known = ", ".join(arm.name for arm in plan.arm)
        raise PlanError(
            f"decision.treatment {plan.decision.treatment!r} is neither an arm ({known}) nor a point of the matrix"
        )
    return names


def arm_plan(plan: Plan, arm: str) -> Plan:
    """The plan with the keys set that an arm, or a point of the matrix, declares."""
    declared = next((each for each in plan.arm if each.name == arm), None)
    settings = declared.set if declared else next(p for p in points(plan) if p.name == arm).set
    return _with(plan, arm, settings)


def _with(plan: Plan, name: str, settings: Mapping[str, Any]) -> Plan:
    document = plain(plan.model_dump(mode="json"))
    for key, value in settings.items():
        if key.split(".")[0] not in {"reward", "train", "teacher", "warmstart", "model", "curriculum"}:
            raise PlanError(
                f"an arm may set keys of reward, train, teacher, warmstart, model and curriculum, not {key!r}",
                where=f"arm {name!r}",
            )
        planfile.put(document, key, value)
    return _validated(document, f"arm {name!r}")


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
