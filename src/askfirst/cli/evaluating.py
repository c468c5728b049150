"""`askfirst eval`: a model or checkpoint on fixture folders or a generated split."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from pydantic import Field, ValidationError
from rich.console import Console

from askfirst import gates, plugins
from askfirst import plan as plans
from askfirst.cli import sealing
from askfirst.cli.checking import require_green
from askfirst.errors import InputError, ModelError, SplitError
from askfirst.evaluate import Label
from askfirst.evaluate import evaluate as run_evaluation
from askfirst.measures import of_group
from askfirst.metrics import counted, failure_counts, failure_patterns, summary
from askfirst.plan import Plan
from askfirst.planfile import edit
from askfirst.policy import ModelSpec, Policy, Sampling
from askfirst.rollout import EMPTY, Scorer, Stage
from askfirst.runfolder import RunFolder, variant_name
from askfirst.sections import Section
from askfirst.selection import Selected
from askfirst.stats import clopper_pearson, pass_k
from askfirst.store import plain, read_as, read_json
from askfirst.values import EvalRecord, Interval, Measure, Scenario
from askfirst.variants import DEV_SEED

SHOWN = ("intent_accuracy", "strict_pass", "ambiguous_pass", "false_ask")
DEPTH = 5  # folders between a run and its checkpoints, at most
LABELS = {
    "intent_accuracy": "right intent",
    "strict_pass": "pass",
    "ambiguous_pass": "ambiguous pass",
    "false_ask": "asks when clear",
}


class EndpointSettings(Section):
    """How a server is asked. `key_from` names the variable of the environment that holds its key.

    `thinking_tokens` are for what a model says to itself, beside the `max_tokens` of its reply. `out` is the folder of
    records and answers.
    """

    key_from: str = Field("", pattern=r"^[A-Za-z_0-9]*$")
    thinking_tokens: int = Field(0, ge=0, le=1_000_000)
    concurrency: int = Field(8, ge=1, le=256)
    timeout_seconds: float = Field(120.0, gt=0, le=3600)
    tries: int = Field(5, ge=1, le=20)
    out: str = ""


class Settings(Section):
    """How to evaluate; `--set key=value` on the command line."""

    reward: str = "slots"
    env: str = "judgment"
    data: str = ""
    families: tuple[str, ...] = ()
    system_prompt: str = "compact"
    items: int = Field(200, ge=2)
    max_tokens: int = Field(96, ge=1, le=4096)
    dtype: Literal["fp32", "bf16"] = "fp32"
    trials: int = Field(1, ge=1, le=64)  # one is greedy; of more, all are sampled at the temperature
    temperature: float = Field(1.0, ge=0, le=2)
    endpoint: EndpointSettings = EndpointSettings()


@dataclass(frozen=True, slots=True)
class Where:
    """What to evaluate on: fixture folders, or a generated split."""

    suites: tuple[Path, ...]
    split: str | None


def plan_around(checkpoint: Path | None) -> Plan | None:
    """The plan, as its arm has it, of the run that a checkpoint is or lies in; None where there is none."""
    if checkpoint is None:
        return None
    at = checkpoint.absolute()
    run = next((f for f in map(RunFolder, (at, *at.parents[:DEPTH])) if f.lock.is_file()), None)
    if run is None:
        return None
    lock = read_json(run.lock)
    document = lock.get("plan") if isinstance(lock, dict) else None
    plan = plans.validate(document if isinstance(document, dict) else {}, str(run.lock))
    if run.root == at:
        arm = read_as(Selected, run.selected).arm if run.selected.is_file() else ""
        arm = arm if arm in {p.name for p in plans.points(plan)} else ""
    else:
        first = at.relative_to(run.root).parts[0]  # an arm's folder, or that of a variant of a matrix
        arm = next((p.name for p in plans.points(plan) if first in (p.name, *_slugs(p.name, plan))), "")
    return plans.arm_plan(plan, arm) if arm else plan


def _slugs(point: str, plan: Plan) -> list[str]:
    return [variant_name(point, seed) for seed in plan.matrix.seeds]


def settings(overrides: Sequence[str], plan: Plan | None = None) -> Settings:
    """The settings of a run's plan, or the defaults, with `key=value` edits. Raises InputError, naming the field."""
    start: dict[str, Any] = {}
    if plan is not None:
        start = {
            "env": plan.env.name,
            "data": plan.env.data,
            "families": plan.env.families,
            "system_prompt": plan.env.system_prompt,
            "dtype": plan.model.dtype,
        }
        start["max_tokens"] = plan.train.sampling.max_tokens
    try:
        return Settings.model_validate(edit(start, overrides))
    except ValidationError as error:
        first = error.errors()[0]
        known = ", ".join(Settings.model_fields)
        raise InputError(
            f"--set {'.'.join(map(str, first['loc']))}: {first['msg']}", hint=f"settings: {known}"
        ) from error


def evaluate(model: str, checkpoint: Path | None, where: Where, settings: Settings, *, as_json: bool) -> None:
    """Evaluate and print a table, or JSON, with exact bounds and the commonest failures."""
    env = plugins.environment(settings.env, settings.data, settings.families)
    if sealed := [suite for suite in where.suites if suite.is_file()]:
        if len(where.suites) > 1 or where.split:
            raise InputError("a sealed suite is opened alone", where=str(sealed[0]))
        evaluate_sealed(model, checkpoint, sealed[0], settings, as_json=as_json)
        return
    sets = scenario_sets(where, settings, env)
    test, _ = gates.reward_self_test([(settings.reward, EMPTY)])
    require_green(test)
    scorer = Scorer.named(settings.reward)
    stage = Stage(env, env.system_prompt(settings.system_prompt), Sampling(settings.max_tokens, settings.temperature))
    policy, name = open_model(model, checkpoint, settings)
    records = [
        run_evaluation(
            stage, policy, scorer, drawn, Label(model, name, split, trials=settings.trials), bar(split, quiet=as_json)
        )
        for split, drawn in sets
    ]
    if as_json:
        print(json.dumps([{**as_summary(r), "items": plain(r.items)} for r in records], ensure_ascii=False))
    else:
        show(records, getattr(env, "HEADLINES", ()))


def evaluate_sealed(model: str, checkpoint: Path | None, file: Path, settings: Settings, *, as_json: bool) -> None:
    """A checkpoint and the model before training on a sealed suite, in one opening of it."""
    test, _ = gates.reward_self_test([(settings.reward, EMPTY)])
    require_green(test)
    env = plugins.environment(settings.env, settings.data, settings.families)
    stage = Stage(env, env.system_prompt(settings.system_prompt), Sampling(settings.max_tokens))
    found = [open_model(model, each, settings) for each in dict.fromkeys((None, checkpoint))]
    models = [(policy, Label(model, name, "sealed")) for policy, name in found]
    records, holdout = sealing.evaluate(stage, Scorer.named(settings.reward), models, file)
    if as_json:
        body = [{**as_summary(r), "items": plain(r.items), "holdout": holdout} for r in records]
        print(json.dumps(body, ensure_ascii=False))
    else:
        show([replace(r, split=f"{r.split} {r.checkpoint}") for r in records])
        print(f"sealed    {holdout}")


def bar(split: str, *, quiet: bool) -> Callable[[int, int], None]:
    """A progress line on standard error, for people at a terminal only."""
    console = Console(stderr=True)

    def tell(done: int, total: int) -> None:
        if not quiet and console.is_terminal:
            console.print(f"{split} {done}/{total}", end="\r" if done < total else "\n")

    return tell


def scenario_sets(where: Where, settings: Settings, env: ModuleType) -> list[tuple[str, list[Scenario]]]:
    """Named lists of scenarios. Raises InputError for none or both kinds, SuiteError for a bad folder."""
    if bool(where.suites) == bool(where.split):
        raise InputError("give either --suite FOLDER or --split NAME")
    if where.split == "sealed":
        raise SplitError("the sealed split has one door: `askfirst run` opens it once, after selection")
    if where.split:
        half = max(1, settings.items // 2)
        ambiguous = env.scenarios(where.split, half, DEV_SEED, {"ambiguous": 1.0})
        clear = env.scenarios(where.split, max(1, settings.items - half), DEV_SEED, env.EVALUATION_MIX)
        return [(where.split, [*ambiguous, *clear])]
    return [(folder.name, env.read_suite(folder)) for folder in where.suites]


def open_model(model: str, checkpoint: Path | None, settings: Settings) -> tuple[Policy, str]:
    """The policy and the name of its checkpoint. A run folder stands for its selected checkpoint."""
    backend = "tabular" if model == "tabular" else "hf"
    folder, name = checkpoint, "base"
    plan = plan_around(checkpoint)
    if plan is not None and plan.model.name != model:
        raise InputError(f"the checkpoint was trained on {plan.model.name}, not on {model}", where=str(folder))
    if folder is not None and RunFolder(folder).lock.is_file():
        run = RunFolder(folder)
        if not run.selected.is_file():
            raise InputError("the run has no selected checkpoint yet", where=str(folder))
        chosen = read_as(Selected, run.selected)
        name, folder = chosen.checkpoint_name, folder / chosen.checkpoint
    elif folder is not None:
        name = folder.name
    spec = ModelSpec(model, dtype=settings.dtype)
    if plan is not None:
        spec = replace(spec, lora_rank=plan.model.lora_rank, lora_alpha=plan.model.lora_alpha)
    policy: Policy = plugins.load("backends", backend).open_policy(spec, 0)
    if folder is not None:
        if not folder.is_dir():
            raise ModelError("no such checkpoint folder", where=str(folder))
        policy.load(folder)
    return policy, name


def as_summary(record: EvalRecord) -> dict[str, Any]:
    """The record's metrics with bounds, and its failures by frequency."""
    metrics = {}
    for metric in summary(record):
        outcomes = counted(record, metric)
        bounds = clopper_pearson.interval(sum(outcomes), len(outcomes))
        metrics[metric] = {"count": sum(outcomes), "of": len(outcomes), "lower": bounds.lower, "upper": bounds.upper}
    return {
        "split": record.split,
        "checkpoint": record.checkpoint,
        "reward": record.reward,
        "metrics": metrics,
        "failures": failure_counts(record),
        "patterns": plain(failure_patterns(record)),
        "passes": plain(passes(record)),
        "measures": plain(record.measures),
    }


def passes(record: EvalRecord) -> dict[str, Interval]:
    """Of several trials: the share of items of which k trials out of k pass, for every k, with bounds; k as text."""
    trials = Counter(item.scenario_id for item in record.items)
    passed = Counter(item.scenario_id for item in record.items if item.passed)
    most, counts = min(trials.values()), [passed[name] for name in trials]
    every = range(1, most + 1) if most > 1 else ()
    return {str(k): pass_k.interval(counts, list(trials.values()), k) for k in every}


def show(records: Sequence[EvalRecord], headlines: Sequence[str] = ()) -> None:
    """Lines for people: every shown metric with its bounds, the measures of these names, then why items fail."""
    console = Console(highlight=False, soft_wrap=True)
    width = max(len(r.split) for r in records)
    for record in records:
        body = as_summary(record)
        shares = [f"{LABELS[m]} {_share(body['metrics'][m])}" for m in SHOWN if m in body["metrics"]]
        console.print(f"{record.split:<{width}}  " + " · ".join(shares), markup=False)
        own = [measure for name, measure in of_group(record.measures).items() if name in headlines]
        if own:
            console.print(f"{'':<{width}}  " + " · ".join(map(_value, own)), markup=False)
        found = passes(record)
        for k in dict.fromkeys((*list(found)[:1], *list(found)[-1:])):
            bounds = f"{found[k].estimate:.0%} [{found[k].lower:.0%}, {found[k].upper:.0%}]"
            console.print(f"{'':<{width}}  {k} of {k} trials pass: {bounds}", markup=False)
        reasons = [f"{count} {code.replace('_', ' ')}" for code, count in list(body["failures"].items())[:5]]
        together = [f"{p['items']} {' + '.join(p['codes'])}" for p in body["patterns"] if len(p["codes"]) > 1][:3]
        if reasons:
            console.print(f"{'':<{width}}  why not: " + ", ".join(reasons), markup=False)
        if together:
            console.print(f"{'':<{width}}  together: " + ", ".join(together).replace("_", " "), markup=False)


def _value(measure: Measure) -> str:
    bounds = "" if measure.lower is None else f" [{measure.lower:.2f}, {measure.upper:.2f}]"
    return f"{measure.name.replace('_', ' ')} {measure.value:.2f}{bounds}"


def _share(metric: dict[str, Any]) -> str:
    share = metric["count"] / metric["of"]
    return f"{metric['count']}/{metric['of']} = {share:.0%} [{metric['lower']:.0%}, {metric['upper']:.0%}]"
