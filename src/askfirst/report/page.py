"""report.html: the verdict, the curves of every variant, and the rollouts that a person should read."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Any

import jinja2

from askfirst import ledger, reading
from askfirst.errors import InputError
from askfirst.report.measuring import tables
from askfirst.report.plots import curves
from askfirst.report.watching import agreements, series, terms, warnings
from askfirst.runfolder import RunFolder, VariantFolder, variant_name
from askfirst.store import read_json, read_lines, write_text


def write_report(folder: Path) -> Path:
    """Write report.html into a run folder; what is not there yet is said to be missing. Raises InputError."""
    run = RunFolder(folder)
    if not run.lock.is_file():
        raise InputError("not a run folder: it has no plan.lock.json", where=str(folder))
    source = importlib.resources.files("askfirst.report").joinpath("page.html").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    write_text(run.report, environment.from_string(source).render(**contents(run)))
    ledger.written(run, run.report)
    return run.report


def contents(run: RunFolder) -> dict[str, Any]:
    """Everything the page shows, read from the run's records."""
    lock = read_json(run.lock)
    variants = [variant(folder) for folder in run.having("metrics.jsonl")]
    plan = lock["plan"]
    return {
        "plan": plan,
        "warnings": warnings(plan, variants),
        "monitors": series(plan, variants),
        "agreements": agreements(variants),
        "terms": terms(variants),
        "looks": sum(len(v["checkpoints"]) for v in variants),
        "plan_sha256": lock["plan_sha256"],
        "verdict": _optional(run.verdict),
        "ship": _optional(run.ship),
        "gates": (_optional(run.gates) or {"results": []})["results"],
        "summary": _optional(run.summary),
        "selected": _selected(run),
        "openings": [line for line in _lines(run.ledger) if line.get("event") == "sealed_opened"],
        "deviations": [line for line in _lines(run.ledger) if line.get("event") == "deviation"],
        "variants": variants,
        "reading": reading.summary(run),
        "measures": tables(run, [v["name"] for v in variants]),
        "figure": curves([v for v in variants if v["steps"]]),
    }


def variant(folder: VariantFolder) -> dict[str, Any]:
    """One variant's steps, checkpoints and best rollouts."""
    return {
        "name": folder.name,
        "finished": folder.run.is_file(),
        "steps": list(read_lines(folder.metrics)),
        "checkpoints": (_optional(folder.manifest) or {"entries": []})["entries"],
        "best": list(_lines(folder.best_rollouts)),
    }


def _selected(run: RunFolder) -> Any:
    chosen = _optional(run.selected)
    return {**chosen, "name": variant_name(chosen["arm"], chosen["seed"])} if chosen else None


def _optional(path: Path) -> Any:
    return read_json(path) if path.is_file() else None


def _lines(path: Path) -> list[Any]:
    return list(read_lines(path)) if path.is_file() else []
