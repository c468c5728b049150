"""CARD.md: the model card of a run, every figure and name of it read from a record."""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from askfirst import ledger
from askfirst.errors import InputError
from askfirst.paired import Paired
from askfirst.plan import points, validate
from askfirst.reading import require_run
from askfirst.report.outcomes import Outcomes, outcomes
from askfirst.report.page import variant
from askfirst.runfolder import RunFolder, variant_name
from askfirst.store import read_json, write_text

Record = Mapping[str, Any]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
LIBRARIES = {"hf": "peft"}  # backend → what loads its checkpoints
WEIGHTS = ("adapter_model.safetensors", "tabular.f64")


def write_card(folder: Path) -> Path:
    """Write CARD.md into a run folder. Raises InputError unless the run is finished with a selected checkpoint."""
    run = RunFolder(folder)
    lock = require_run(run)
    if not (run.verdict.is_file() and run.selected.is_file()):
        raise InputError("a card is of a selected checkpoint and its verdict, and this run has none", where=str(folder))
    ledger.require_intact(run)
    found = contents(run, lock)
    source = importlib.resources.files("askfirst.report").joinpath("card.tmpl").read_text("utf-8")
    # Markdown, not HTML: what may stand in a line is settled by `line`.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["line"] = line
    write_text(run.card, front_matter(metadata(found)) + environment.from_string(source).render(**found))
    ledger.written(run, run.card)
    return run.card


def contents(run: RunFolder, lock: Record) -> dict[str, Any]:
    """Everything the card says, from the records of a run."""
    plan, selected = lock["plan"], read_json(run.selected)
    variants = [variant(folder) for folder in run.having("metrics.jsonl")]
    changed = outcomes(run, plan, variants)
    if changed is None:
        raise InputError("the run has no evaluation to put on a card", where=str(run.root))
    own = next(v for v in variants if v["name"] == variant_name(selected["arm"], selected["seed"]))
    steps = [step for step in own["steps"] if step["step"] <= selected["step"]]
    arm = next(p for p in points(validate(plan, str(run.lock))) if p.name == selected["arm"])
    return {
        "plan": plan,
        "lock": lock,
        "arm": arm,
        "selected": selected,
        "verdict": read_json(run.verdict),
        "ship": read_json(run.ship) if run.ship.is_file() else None,
        "provenance": read_json(run.provenance) if run.provenance.is_file() else {},
        "gates": read_json(run.gates)["results"],
        "openings": len(ledger.events(run, "sealed_opened")),
        "deviations": ledger.events(run, "deviation"),
        "outcomes": changed,
        "weights": _weights(run, str(selected["checkpoint"])),
        "trained": {
            "steps": len(steps),
            "tokens": sum(step["cost"]["sampled_tokens"] for step in steps),
            "rollouts": sum(s["rollouts"] for step in steps for n, s in step["strata"].items() if n.startswith("all_")),
            "strata": _strata(steps),
        },
    }


def metadata(found: Record) -> dict[str, Any]:
    """The front matter that a hub reads: base model, library, task and every metric with its n and bounds."""
    plan, changed = found["plan"], found["outcomes"]
    name = str(plan["model"]["name"])
    base = {"base_model": name, "base_model_relation": "adapter"} if _HUB_ID.fullmatch(name) else {}
    return {
        **base,
        "library_name": LIBRARIES.get(plan["model"]["backend"], "askfirst"),
        "pipeline_tag": "text-generation",
        "tags": ["askfirst", "clarifying-questions", "reinforcement-learning", plan["train"]["advantage"]],
        "model-index": [{"name": line(plan["title"]), "results": [_result(plan, changed)]}],
    }


def front_matter(fields: Record) -> str:
    """Fields as YAML, each value as JSON, which YAML contains."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", ""])


def line(text: object) -> str:
    """Text of a plan as one line of Markdown, with nothing in it that is markup."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(str(text).split()))


def _result(plan: Record, changed: Outcomes) -> dict[str, Any]:
    return {
        "task": {"type": "text-generation", "name": "ask or act"},
        "dataset": {
            "type": f"askfirst/{plan['env']['name']}",
            "name": f"{plan['env']['name']}, split {changed.split}",
            "split": changed.split,
            "revision": plan["env"]["sealed"],
        },
        "metrics": [_metric(each) for each in changed.metrics],
    }


def _metric(each: Paired) -> dict[str, Any]:
    side = each.after
    words = f"{each.metric.replace('_', ' ')} (n = {each.n}, {1 - side.alpha:.0%} [{side.lower:.3f}, {side.upper:.3f}])"
    return {
        "type": each.metric,
        "name": words,
        "value": side.estimate,
        "verified": False,
        "args": {
            "n": each.n,
            "lower": side.lower,
            "upper": side.upper,
            "method": side.method,
            "before_training": each.before.estimate,
        },
    }


def _weights(run: RunFolder, checkpoint: str) -> dict[str, str]:
    """File of the checkpoint → its sha256, as the ledger bound it."""
    bound = [entry for event in ledger.events(run, ledger.FINISHED) for entry in event["files"]]
    return {
        entry["path"]: entry[ledger.HASH]
        for entry in bound
        if entry["path"].startswith(f"{checkpoint}/") and entry["path"].endswith(WEIGHTS)
    }


def _strata(steps: Sequence[Record]) -> dict[str, int]:
    """How many rollouts of each stratum were trained on."""
    found: dict[str, int] = {}
    for step in steps:
        for name, stats in step["strata"].items():
            if not name.startswith("all_"):
                found[name] = found.get(name, 0) + int(stats["rollouts"])
    return dict(sorted(found.items()))
