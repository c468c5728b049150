"""`askfirst report`, `card` and `compare`: what the records of runs show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from askfirst.comparison import compare_runs, record
from askfirst.report.card import write_card
from askfirst.report.page import figures_of, write_report
from askfirst.report.static import write_figures
from askfirst.runfolder import RunFolder


def report(folder: Path, figures: Path | None) -> None:
    """Write the report and, where a folder for them is named, its plots; print where they lie."""
    print(write_report(folder))
    for path in write_figures(figures_of(folder), figures) if figures is not None else ():
        print(path)


def card(folder: Path) -> None:
    """Write the model card and print where it lies."""
    print(write_card(folder))


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
