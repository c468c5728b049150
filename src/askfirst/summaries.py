"""What a run's variants came to: summary.json for programs, experiment_table.md for people.

Dev and sealed figures never share a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from askfirst.contracts.reported import is_control, selectable
from askfirst.metrics import summary
from askfirst.plan import Point, plan_hash, points, resolved
from askfirst.runfolder import variant_name
from askfirst.sealed import Sealed
from askfirst.selection import Candidate, Selected, ruled_out
from askfirst.store import plain, read_as, write_json, write_text
from askfirst.values import EvalRecord
from askfirst.variants import Run

SHOWN = {"ambiguous pass": "ambiguous_pass", "asks when clear": "false_ask", "clear pass": "clear_pass"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The selected checkpoint, and what it and what it is compared with came to on the sealed split."""

    chosen: Selected
    sealed: Sealed
    holdout: str


def write(job: Run, found: Sequence[Candidate], outcome: Outcome | None) -> None:
    """Write both files. `outcome` is None where nothing was selected, so that the sealed split stayed shut."""
    sealed = None
    if outcome is not None:
        sealed = {
            **{name: summary(record) for name, record in outcome.sealed.others(job.plan).items()},
            "selected": summary(outcome.sealed.treated),
            "holdout": outcome.holdout,
        }
    body = {
        "version": 1,
        "plan_sha256": plan_hash(job.plan),
        "variants": [plain(c) for c in found],
        "base_dev": summary(read_as(EvalRecord, job.folder.base_evaluation("dev"))),
        "selected": outcome.chosen if outcome else None,
        "sealed": sealed,
        "matrix": list(rows(job, found)),
    }
    write_json(job.folder.summary, body)
    write_text(job.folder.table, table(job, found, outcome.chosen if outcome else None))


def rows(job: Run, found: Sequence[Candidate]) -> Iterator[dict[str, Any]]:
    """A row for each arm or point of the matrix: what was varied, and its last checkpoints, mean over the seeds.

    The last checkpoint is not chosen by its metrics, so the mean is not one of maxima. `eligible`: how many checkpoints
    selection may choose from.
    """
    plans, open_to = resolved(job.plan), selectable(job.plan)
    for point in points(job.plan):
        own = [c for c in found if c.arm == point.name]
        if not own:
            continue
        last = [max((c for c in own if c.seed == seed), key=lambda c: c.step) for seed in {c.seed: 0 for c in own}]
        setting = plans[point.name]
        eligible = point.name in open_to
        yield {
            "name": point.name,
            "arm": point.arm,
            "reward": setting.reward.name,
            "control": is_control(setting.reward.name),
            "curriculum": setting.curriculum.mode,
            "group_size": setting.train.group_size,
            "beta": setting.train.kl.beta,
            "slugs": [variant_name(point.name, c.seed) for c in last],
            "informative_fraction": fmean(c.informative_fraction for c in last),
            "dev": {m: fmean(c.dev[m] for c in last) for m in last[0].dev if all(m in c.dev for c in last)},
            "eligible": sum(eligible and not ruled_out(c, job.plan.selection) for c in own),
            "checkpoints": len(own),
        }


def table(job: Run, found: Sequence[Candidate], chosen: Selected | None) -> str:
    """The dev figures in Markdown: by arm or point of the matrix, then by checkpoint."""
    lines = [f"# {job.plan.title}", "", f"Selected on dev alone: {chosen.name if chosen else 'nothing'}.", ""]
    lines += _matrix(list(rows(job, found)), points(job.plan)) if any(job.plan.matrix.axes.values()) else []
    lines += ["Dev split, greedy.", ""]
    lines += [f"| checkpoint | {' | '.join(SHOWN)} | informative |", "|---" * (len(SHOWN) + 2) + "|"]
    lines += [f"| {c.name} | {_shares(c.dev)} | {c.informative_fraction:.3f} |" for c in found]
    return "\n".join(lines) + "\n"


def _matrix(found: Sequence[dict[str, Any]], every: Sequence[Point]) -> list[str]:
    arms = len({point.arm for point in every}) > 1
    head = ["reward", "curriculum", "G", "KL β", *(["arm"] * arms), *SHOWN, "informative", "eligible"]
    lines = ["Last checkpoints on dev, mean over the seeds. A control is not selected.", ""]
    lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in found:
        reward = f"{row['reward']}{' (control)' * row['control']}"
        cells = [reward, row["curriculum"], row["group_size"], f"{row['beta']:g}", *([row["arm"]] * arms)]
        cells += [_shares(row["dev"]), f"{row['informative_fraction']:.3f}"]
        cells.append(f"{row['eligible']} of {row['checkpoints']}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return [*lines, ""]


def _shares(dev: Any) -> str:
    return " | ".join(f"{dev[metric]:.3f}" if metric in dev else "–" for metric in SHOWN.values())
