"""`askfirst eval`: a model or checkpoint on fixture folders or a generated split."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from askfirst import gates, plugins
from askfirst.cli.checking import require_green
from askfirst.errors import InputError, ModelError, SplitError
from askfirst.evaluate import Label, evaluate as run_evaluation
from askfirst.matrix import DEV_SEED
from askfirst.metrics import counted, failure_counts, summary
from askfirst.policy import ModelSpec, Policy, Sampling
from askfirst.rollout import Scorer, Stage
from askfirst.runfolder import RunFolder
from askfirst.stats import clopper_pearson
from askfirst.store import read_json, write_json
from askfirst.values import EvalRecord, FrozenMap, Scenario

SHOWN = ("intent_accuracy", "strict_pass", "ambiguous_pass", "false_ask")
LABELS = {"intent_accuracy": "right intent", "strict_pass": "pass", "ambiguous_pass": "ambiguous pass", "false_ask": "asks when clear"}


@dataclass(frozen=True, slots=True)
class Where:
    """What to evaluate on."""

    suites: tuple[Path, ...]
    split: str | None
    items: int
    env: str
    system: str


@dataclass(frozen=True, slots=True)
class Request:
    """What to evaluate, on what, and by which reward."""

    model: str
    checkpoint: Path | None
    dtype: str
    reward: str
    max_tokens: int
    where: Where


def evaluate(request: Request, out: Path | None, *, as_json: bool) -> None:
    """Evaluate, print a table (or JSON) with exact bounds and the commonest failures, and write the records."""
    env = plugins.load("envs", request.where.env)
    sets = scenario_sets(request.where, env)
    test, _ = gates.reward_self_test((request.reward,), FrozenMap())
    require_green(test)
    policy, name = open_model(request)
    stage = Stage(env, env.system_prompt(request.where.system), Sampling(request.max_tokens))
    scorer = Scorer.named(request.reward)
    console = Console(stderr=True)
    records = []
    for split, scenarios in sets:
        with Progress(console=console, transient=True, disable=as_json) as bar:
            task = bar.add_task(split, total=len(scenarios))
            records.append(
                run_evaluation(
                    stage, policy, scorer, scenarios, Label(request.model, name, split),
                    lambda done, total, task=task: bar.update(task, completed=done, total=total),  # type: ignore[misc]
                )
            )  # fmt: skip
    if out is not None:
        write_json(out, {"version": 1, "records": records})
    print(json.dumps([as_summary(r) for r in records], ensure_ascii=False)) if as_json else show(records)


def scenario_sets(where: Where, env: ModuleType) -> list[tuple[str, list[Scenario]]]:
    """Named lists of scenarios. Raises InputError when nothing or both kinds are asked for, SuiteError for a bad folder."""
    if bool(where.suites) == bool(where.split):
        raise InputError("give either --suite FOLDER or --split NAME")
    if where.split == "sealed":
        raise SplitError("the sealed split has one door: `askfirst run` opens it once, after selection")
    if where.split:
        half = max(1, where.items // 2)
        ambiguous = env.scenarios(where.split, half, DEV_SEED, {"ambiguous": 1.0})
        clear = env.scenarios(where.split, max(1, where.items - half), DEV_SEED, env.EVALUATION_MIX)
        return [(where.split, [*ambiguous, *clear])]
    return [(folder.name, env.read_suite(folder)) for folder in where.suites]


def open_model(request: Request) -> tuple[Policy, str]:
    """The policy and the name of its checkpoint. A run folder stands for its selected checkpoint."""
    backend = "tabular" if request.model == "tabular" else "hf"
    settings: dict[str, Any] = {}
    folder, name = request.checkpoint, "base"
    if folder is not None and RunFolder(folder).lock.is_file():
        run = RunFolder(folder)
        if not run.selected.is_file():
            raise InputError("the run has no selected checkpoint yet", where=str(folder))
        plan = read_json(run.lock)["plan"]["model"]
        settings = {"lora_rank": plan["lora_rank"], "lora_alpha": plan["lora_alpha"]}
        chosen = read_json(run.selected)
        name, folder = f"{chosen['arm']}/seed-{chosen['seed']}@{chosen['step']}", folder / chosen["checkpoint"]
    elif folder is not None:
        name = folder.name
    policy: Policy = plugins.load("backends", backend).open_policy(ModelSpec(request.model, dtype=request.dtype, **settings), 0)
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
    return {"split": record.split, "checkpoint": record.checkpoint, "reward": record.reward, "metrics": metrics, "failures": failure_counts(record)}


def show(records: Sequence[EvalRecord]) -> None:
    """A table for people."""
    table = Table(box=None, pad_edge=False)
    for column in ("on", *(LABELS[m] for m in SHOWN), "why not"):
        table.add_column(column)
    for record in records:
        body = as_summary(record)
        cells = [_cell(body["metrics"].get(m)) for m in SHOWN]
        reasons = [f"{count} {code.replace('_', ' ')}" for code, count in list(body["failures"].items())[:4]]
        table.add_row(record.split, *cells, ", ".join(reasons))
    Console().print(table)


def _cell(metric: dict[str, Any] | None) -> str:
    if metric is None:
        return "–"
    share = metric["count"] / metric["of"]
    return f"{metric['count']}/{metric['of']} = {share:.0%} [{metric['lower']:.0%}, {metric['upper']:.0%}]"
