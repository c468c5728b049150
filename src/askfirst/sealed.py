"""The sealed split of a run: opened once, for the selected checkpoint and the model before training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from askfirst.errors import InputError
from askfirst.evaluate import Label, evaluate, open_sealed
from askfirst.events import Event, Listener
from askfirst.metrics import summary
from askfirst.plan import Plan, arm_plan
from askfirst.runfolder import RunFolder
from askfirst.selection import Selected
from askfirst.store import UNFINISHED, read_as, write_json
from askfirst.values import EvalRecord, FrozenMap, Scenario
from askfirst.variants import Run, open_policy, scorer
from askfirst.watch import probed
from askfirst.workers import side_by_side


@dataclass(frozen=True, slots=True)
class Task:
    """A model to be evaluated on the opened split: that of `opened`, as its checkpoint in the folder says, if any.

    `plan` is the selected arm's: both models are held to its reward.
    """

    plan: Plan
    opened: Plan
    seed: int
    checkpoint: Path | None
    label: Label
    scenarios: tuple[Scenario, ...]
    record: Path


def sealed_records(job: Run, chosen: Selected, secret: str) -> tuple[EvalRecord, EvalRecord]:
    """The selected checkpoint and the model before training on the sealed split, opened at most once per run."""
    paths = job.folder.base_evaluation("sealed"), job.folder.selected_evaluation("sealed")
    if not all(path.is_file() for path in paths):
        number = _evaluate(job, chosen, secret, paths)
        before, after = (summary(read_as(EvalRecord, path)) for path in paths)
        values = FrozenMap({"base": before, "treated": after, "opening": number})
        job.listen(Event("sealed", f"{chosen.arm}/seed-{chosen.seed}@{chosen.step}", values=values))
    return read_as(EvalRecord, paths[1]), read_as(EvalRecord, paths[0])


def _evaluate(job: Run, chosen: Selected, secret: str, paths: tuple[Path, Path]) -> int:
    """Open the split, evaluate both models on it, and say which opening this was."""
    plan, checkpoint = arm_plan(job.plan, chosen.arm), job.folder.root / chosen.checkpoint
    policy = open_policy(plan, chosen.seed)
    policy.load(checkpoint)
    if policy.fingerprint() != chosen.fingerprint:
        raise InputError("the selected checkpoint is not the one that was selected", where=chosen.checkpoint)
    del policy
    opening = open_sealed(job.env, job.plan, job.folder, secret)
    name = plan.model.name
    labels = (
        Label(name, "base", "sealed"),
        Label(name, f"{chosen.arm}/seed-{chosen.seed}@{chosen.step}", "sealed", chosen.step),
    )
    parts = [path.with_name(f".{path.name}{UNFINISHED}") for path in paths]
    tasks = [
        Task(plan, opened, chosen.seed, saved, label, opening.scenarios, part)
        for opened, saved, label, part in zip((job.plan, plan), (None, checkpoint), labels, parts, strict=True)
    ]
    if job.jobs > 1:
        side_by_side(work, tasks, job.jobs, job.listen, lambda: False)
    else:
        for task in tasks:
            work(task, job.listen, lambda: False)
    # Both are whole before either counts, the selected one last: its record says that the opening was used.
    for part, path in zip(parts, paths, strict=True):
        part.replace(path)
    return opening.number


def work(task: Task, listen: Listener, stop: Callable[[], bool]) -> None:
    """Evaluate and write the record where the task says; here or in a worker."""
    job = Run(task.plan, RunFolder(task.record.parent), "", (), (), listen, stop)
    policy = open_policy(task.opened, task.seed)
    if task.checkpoint is not None:
        policy.load(task.checkpoint)
    record = evaluate(job.stage, policy, scorer(task.plan), task.scenarios, task.label)
    if task.checkpoint is not None:
        record = probed(job.stage, record, task.scenarios, scorer(task.plan))
    write_json(task.record, record)
