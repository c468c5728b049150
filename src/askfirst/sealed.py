"""The sealed split of a run: opened once, for the selected checkpoint and the model before training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from askfirst.contracts.reported import judge_of
from askfirst.errors import InputError, RewardFault
from askfirst.evaluate import Label, Opening, grade, open_sealed, predict, read_predictions, record_predictions
from askfirst.events import Event, Listener
from askfirst.metrics import summary
from askfirst.plan import Plan, arm_plan
from askfirst.rollout import Scorer
from askfirst.runfolder import RunFolder
from askfirst.selection import Selected
from askfirst.ship import COMPARED
from askfirst.store import read_as, write_json, write_lines
from askfirst.values import EvalRecord, FrozenMap
from askfirst.variants import Run, open_policy, scorer
from askfirst.watch import probed
from askfirst.workers import side_by_side


@dataclass(frozen=True, slots=True)
class Task:
    """A model that is to speak on the opened split: that of `opened`, as its checkpoint in the folder says, if any.

    `plan` is the selected arm's, `path` where what it says is written.
    """

    plan: Plan
    opened: Plan
    seed: int
    checkpoint: Path | None
    name: str
    opening: Opening
    path: Path


def sealed_records(job: Run, chosen: Selected, secret: str) -> tuple[EvalRecord, EvalRecord]:
    """The selected checkpoint and the model before training on the sealed split, opened at most once per run."""
    paths = job.folder.base_evaluation("sealed"), job.folder.selected_evaluation("sealed")
    if not all(path.is_file() for path in paths):
        number = _evaluate(job, chosen, secret, paths)
        before, after = (summary(read_as(EvalRecord, path)) for path in paths)
        values = FrozenMap({"base": before, "treated": after, "opening": number})
        job.listen(Event("sealed", chosen.checkpoint_name, values=values))
    return read_as(EvalRecord, paths[1]), read_as(EvalRecord, paths[0])


def _evaluate(job: Run, chosen: Selected, secret: str, paths: tuple[Path, Path]) -> int:
    """Open the split, let both models speak, enter what they said, then judge it; says which opening this was."""
    plan, checkpoint = arm_plan(job.plan, chosen.arm), job.folder.root / chosen.checkpoint
    policy = open_policy(plan, chosen.seed)
    policy.load(checkpoint)
    if policy.fingerprint() != chosen.fingerprint:
        raise InputError("the selected checkpoint is not the one that was selected", where=chosen.checkpoint)
    del policy
    opening = open_sealed(job.env, job.plan, job.folder, secret)
    name = chosen.checkpoint_name
    said = job.folder.base_predictions(), job.folder.selected_predictions()
    tasks = [
        Task(plan, opened, chosen.seed, saved, own, opening, path)
        for opened, saved, own, path in zip((job.plan, plan), (None, checkpoint), ("base", name), said, strict=True)
        if not _is_of(path, opening, own)
    ]
    if job.jobs > 1:
        side_by_side(work, tasks, job.jobs, job.listen, lambda: False)
    else:
        for task in tasks:
            work(task, job.listen, lambda: False)
    record_predictions(opening, said)
    judge = scorer(plan.model_copy(update={"reward": judge_of(job.plan, chosen.arm)}), paths[1].parent)
    labels = Label(plan.model.name, "base", "sealed"), Label(plan.model.name, name, "sealed", chosen.step)
    base, treated = (grade(job.stage, judge, opening, *each) for each in zip(said, labels, strict=True))
    compare(job, opening, said, labels)
    # The selected one last: its record says that the opening was used.
    write_json(paths[0], base)
    write_json(paths[1], probed(job.stage, treated, opening.scenarios, judge))
    return opening.number


def compare(job: Run, opening: Opening, said: tuple[Path, Path], labels: tuple[Label, Label]) -> None:
    """The same predictions under the published scorers, where these can judge the environment; no rule of the plan
    depends on them."""
    for name in COMPARED:
        try:
            records = [grade(job.stage, Scorer.named(name), opening, *each) for each in zip(said, labels, strict=True)]
        except RewardFault:  # it is for another protocol
            continue
        write_json(job.folder.base_evaluation(f"sealed-{name}"), records[0])
        write_json(job.folder.selected_evaluation(f"sealed-{name}"), records[1])


def _is_of(path: Path, opening: Opening, checkpoint: str) -> bool:
    """Whether a file holds what a checkpoint said in this opening."""
    found = read_predictions(path)
    return bool(found) and {(p.opening, p.checkpoint) for p in found} == {(opening.number, checkpoint)}


def work(task: Task, listen: Listener, stop: Callable[[], bool]) -> None:
    """Write down what a model says to every item; here or in a worker."""
    job = Run(task.plan, RunFolder(task.path.parent), "", (), (), listen, stop)
    policy = open_policy(task.opened, task.seed)
    if task.checkpoint is not None:
        policy.load(task.checkpoint)
    write_lines(task.path, predict(job.stage, policy, task.opening, task.name, lambda done, total: None))
