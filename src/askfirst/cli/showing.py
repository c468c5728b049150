"""`askfirst report`, `card`, `compare` and `export inspect`: what the records of runs show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from askfirst import plan as plans
from askfirst import plugins
from askfirst.comparison import compare_runs, record
from askfirst.evaluate import split_scenarios
from askfirst.exports import inspect_log
from askfirst.reading import require_run
from askfirst.report.card import write_card
from askfirst.report.page import figures_of, write_report
from askfirst.report.static import write_figures
from askfirst.runfolder import RunFolder
from askfirst.store import content_hash, read_json
from askfirst.variants import DEV_SEED


def report(folder: Path, figures: Path | None) -> None:
    """Write the report and, where a folder for them is named, its plots; print where they lie."""
    print(write_report(folder))
    for path in write_figures(figures_of(folder), figures) if figures is not None else ():
        print(path)


def card(folder: Path) -> None:
    """Write the model card and print where it lies."""
    print(write_card(folder))


def inspect_logs(folder: Path, out: Path) -> None:
    """Write every evaluation of a run as a log of Inspect and print where they lie."""
    run = RunFolder(folder)
    for path in inspect_log.write(run, out, _dev_requests(run)):
        print(path)


def _dev_requests(run: RunFolder) -> dict[str, str]:
    """What is asked on dev, drawn again; nothing where that would not be what the run was evaluated on."""
    plan = plans.validate(require_run(run)["plan"], str(run.lock))
    dev = split_scenarios(plugins.load("envs", plan.env.name), plan, "dev", DEV_SEED)
    recorded = read_json(run.provenance) if run.provenance.is_file() else {}
    same = recorded.get("dev_sha256") == content_hash(list(dev))
    return {scenario.id: scenario.opening[-1].content for scenario in dev} if same else {}


def compare(folders: Sequence[Path], split: str, *, as_json: bool) -> None:
    """Print every rule for every run but the first; exit 1 where one does not hold."""
    found = compare_runs([RunFolder(folder) for folder in folders], split)
    if as_json:
        print(json.dumps(record(found), ensure_ascii=False))
    else:
        print(f"first     {found.first}, on {found.split}")
        for each in found.found:
            print(f"{'yes' if each.holds else 'no':<9} {each.run}: {each.reason}")
        for limit in found.limits:
            print(f"not seen  {limit}")
    if not found.holds:
        raise SystemExit(1)
