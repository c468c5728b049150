"""What training did to each family, for every arm or point of a run: python -m benchmarks.by_family runs/RUN

The last checkpoint of each seed beside the base model on the same dev items: the mean of the reward, and its change
with 95 % bounds. An item is the unit, the seeds are its trials: the bounds speak of items, not of other
seeds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean

import numpy as np

from askfirst import plan as plans
from askfirst.runfolder import RunFolder
from askfirst.stats import clustered
from askfirst.store import read_as, read_json, read_lines
from askfirst.values import EvalRecord, Floats, ItemOutcome

ALL = "all"


def main(folder: Path) -> int:
    """Print a Markdown table for a run that has trained all of its variants."""
    run = RunFolder(folder)
    plan = plans.validate(read_json(run.lock)["plan"], str(run.lock))
    base = read_as(EvalRecord, run.base_evaluation("dev"))
    families = [ALL, *sorted({kind(item) for item in base.items})]
    print(f"| | KL, nats a token | {' | '.join(families)} |\n|---|---|{'---|' * len(families)}")
    before = totals(base)
    print(row("base", "", [f"{before[own].mean():.2f}" for own in (mask(base, f) for f in families)]))
    for point in plans.points(plan):
        folders = [run.variant(point.name, seed) for seed in plan.matrix.seeds]
        steps = [max(int(entry["step"]) for entry in read_json(f.manifest)["entries"]) for f in folders]
        records = [read_as(EvalRecord, f.evaluation("dev", s)) for f, s in zip(folders, steps, strict=True)]
        after = np.stack([totals(r) for r in records], axis=1)  # (items, seeds)
        cells = [cell(before[own], after[own]) for own in (mask(base, f) for f in families)]
        found = [list(read_lines(f.metrics))[-1]["learning"]["kl_nats"] for f in folders]
        kl = f"{fmean(found):.3f}" if None not in found else "not measured"
        print(row(point.name, kl, cells))
    return 0


def totals(record: EvalRecord) -> Floats:
    """What each item earned, (items,), in the order of their ids."""
    return np.array([item.total for item in sorted(record.items, key=lambda i: i.scenario_id)])


def kind(item: ItemOutcome) -> str:
    """The family of an item, without what comes behind a dot in its name."""
    return item.family.partition(".")[0]


def mask(record: EvalRecord, family: str) -> list[bool]:
    """Which items, in the same order, are of a family."""
    return [family in (ALL, kind(item)) for item in sorted(record.items, key=lambda i: i.scenario_id)]


def cell(before: Floats, after: Floats) -> str:
    """The mean afterwards, and the change with its bounds."""
    change = after - before[:, None]
    if not change.any() or np.ptp(change.mean(axis=1)) == 0:
        return f"{after.mean():.2f} ({change.mean():+.2f}, the same on all)"
    bounds = clustered.interval(change, least=2)
    return f"{after.mean():.2f} ({bounds.estimate:+.2f} [{bounds.lower:+.2f}, {bounds.upper:+.2f}])"


def row(name: str, kl: str, cells: list[str]) -> str:
    """A line of the table."""
    return f"| {name} | {kl} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
