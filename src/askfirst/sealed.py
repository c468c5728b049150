"""The sealed split of a run: opened once, for the selected checkpoint and what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

BASE = "base"  # the model before training


@dataclass(frozen=True, slots=True)
class Speaker:
    """A model that speaks on the sealed split: that of `opened`, as its checkpoint says, if any; `name` is that
    checkpoint's. What it says goes to `said`, and what that came to to the evaluations of `home`."""

    opened: Plan
    seed: int
    checkpoint: Path | None
    name: str
    step: int
    said: Path
    home: Callable[[str], Path]

    @property
    def label(self) -> Label:
        """What its evaluation is of."""
        return Label(self.opened.model.name, self.name, "sealed", self.step)


@dataclass(frozen=True, slots=True)
class Task:
    """A speaker with the opened split; `plan` is the selected arm's."""

    plan: Plan
    speaker: Speaker
    opening: Opening


@dataclass(frozen=True, slots=True)
class Sealed:
    """What the sealed split came to: for the selected checkpoint, the model before training, and the checkpoint of the
    arm that the plan compares with, if it does."""

    treated: EvalRecord
    base: EvalRecord
    baseline: EvalRecord | None

    def others(self, plan: Plan) -> dict[str, EvalRecord]:
        """What rules compare with, by name."""
        found = {BASE: self.base}
        return found if self.baseline is None else {**found, plan.decision.baseline: self.baseline}


def sealed_records(job: Run, chosen: Selected, baseline: Selected | None, secret: str) -> Sealed:
    """The selected checkpoint, and what it is compared with, on the sealed split, opened at most once per run."""
    plan = arm_plan(job.plan, chosen.arm)
    treated = _selected(job, plan, chosen, job.folder.selected_predictions(), job.folder.selected_evaluation)
    base = Speaker(job.plan, chosen.seed, None, BASE, 0, job.folder.base_predictions(), job.folder.base_evaluation)
    speakers = [base, treated]
    if baseline is not None:
        own, folder = arm_plan(job.plan, baseline.arm), job.folder
        speakers.insert(1, _selected(job, own, baseline, folder.baseline_predictions(), folder.baseline_evaluation))
    paths = [speaker.home("sealed") for speaker in speakers]
    if not all(path.is_file() for path in paths):
        for one in (chosen, baseline) if baseline is not None else (chosen,):
            require_same(job, one)
        judge = scorer(
            plan.model_copy(update={"reward": judge_of(job.plan, chosen.arm)}), treated.home("sealed").parent
        )
        number = _evaluate(job, open_sealed(job.env, job.plan, job.folder, secret), speakers, judge)
        sides = ("base", "treated") if baseline is None else ("base", "baseline", "treated")
        came = {side: summary(read_as(EvalRecord, path)) for side, path in zip(sides, paths, strict=True)}
        values = FrozenMap({**came, "against": speakers[-2].name, "opening": number})
        job.listen(Event("sealed", chosen.checkpoint_name, values=values))
    found = [read_as(EvalRecord, path) for path in paths]
    return Sealed(found[-1], found[0], found[1] if baseline is not None else None)


def _selected(job: Run, plan: Plan, chosen: Selected, said: Path, home: Callable[[str], Path]) -> Speaker:
    checkpoint = job.folder.root / chosen.checkpoint
    return Speaker(plan, chosen.seed, checkpoint, chosen.checkpoint_name, chosen.step, said, home)


def require_same(job: Run, chosen: Selected) -> None:
    """Raise InputError where a checkpoint is not the one that was selected."""
    policy = open_policy(arm_plan(job.plan, chosen.arm), chosen.seed)
    policy.load(job.folder.root / chosen.checkpoint)
    if policy.fingerprint() != chosen.fingerprint:
        raise InputError("the selected checkpoint is not the one that was selected", where=chosen.checkpoint)


def _evaluate(job: Run, opening: Opening, speakers: Sequence[Speaker], judge: Scorer) -> int:
    """Let all of them speak, enter what they said, then judge it; says which opening this was."""
    treated = speakers[-1]
    tasks = [Task(treated.opened, each, opening) for each in speakers if not _is_of(each.said, opening, each.name)]
    if job.jobs > 1:
        side_by_side(work, tasks, job.jobs, job.listen, lambda: False)
    else:
        for task in tasks:
            work(task, job.listen, lambda: False)
    record_predictions(opening, [each.said for each in speakers])
    records = [grade(job.stage, judge, opening, each.said, each.label) for each in speakers]
    compare(job, opening, speakers)
    # The selected one last: its record says that the opening was used.
    records[-1] = probed(job.stage, records[-1], opening.scenarios, judge)
    for each, record in zip(speakers, records, strict=True):
        write_json(each.home("sealed"), record)
    return opening.number


def compare(job: Run, opening: Opening, speakers: Sequence[Speaker]) -> None:
    """The same predictions under the published scorers, where these can judge the environment; no rule of the plan
    depends on them."""
    for name in COMPARED:
        try:
            own = Scorer.named(name)
            records = [grade(job.stage, own, opening, each.said, each.label) for each in speakers]
        except RewardFault:  # it is for another protocol
            continue
        for each, record in zip(speakers, records, strict=True):
            write_json(each.home(f"sealed-{name}"), record)


def _is_of(path: Path, opening: Opening, checkpoint: str) -> bool:
    """Whether a file holds what a checkpoint said in this opening."""
    found = read_predictions(path)
    return bool(found) and {(p.opening, p.checkpoint) for p in found} == {(opening.number, checkpoint)}


def work(task: Task, listen: Listener, stop: Callable[[], bool]) -> None:
    """Write down what a model says to every item; here or in a worker."""
    speaker = task.speaker
    job = Run(task.plan, RunFolder(speaker.said.parent), "", (), (), listen, stop)
    policy = open_policy(speaker.opened, speaker.seed)
    if speaker.checkpoint is not None:
        policy.load(speaker.checkpoint)
    write_lines(speaker.said, predict(job.stage, policy, task.opening, speaker.name, lambda done, total: None))
