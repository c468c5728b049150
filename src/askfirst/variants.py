"""The variants of a plan, every arm × seed: what each starts from, and their training, one by one or side by side."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from askfirst import generated, plugins, provenance, starts
from askfirst.cluster import Place, spread
from askfirst.contracts.reported import judge_of, require_reports, scorer_of
from askfirst.errors import InputError, Interrupted
from askfirst.evaluate import Label, evaluate, split_scenarios
from askfirst.events import Event, Listener
from askfirst.metrics import summary
from askfirst.plan import Plan, arm_plan, points
from askfirst.policy import ModelSpec, Policy, Sampling
from askfirst.rollout import Scorer, Stage
from askfirst.runfolder import RunFolder, variant_name
from askfirst.store import commit_folder, seed_from, write_json
from askfirst.train import Job, train
from askfirst.values import FrozenMap, Scenario
from askfirst.warmstart import warmstart
from askfirst.watch import probed, scorer_hashes
from askfirst.workers import side_by_side

DEV_SEED = seed_from("dev")


@dataclass(frozen=True, slots=True)
class Run:
    """A plan with its folder, the places where its secret seed may lie, and who listens."""

    plan: Plan
    folder: RunFolder
    plan_text: str
    overrides: tuple[str, ...]
    secret_places: tuple[Path, ...]
    listen: Listener
    stop: Callable[[], bool]
    jobs: int = 1  # variants trained side by side
    threads: int = 0  # of this process; 0: the backend decides
    cluster: Place | None = None  # where variants are trained instead of here

    @property
    def env(self) -> ModuleType:
        return generated.environment(self.plan)

    @property
    def stage(self) -> Stage:
        sampling = Sampling(self.plan.train.sampling.max_tokens)
        return Stage(self.env, self.env.system_prompt(self.plan.env.system_prompt), sampling)

    @property
    def share(self) -> int:
        """Threads of each variant's process. A small model has one anyway: its numbers do not depend on `jobs`."""
        return max(1, (os.cpu_count() or 1) // self.jobs) if self.jobs > 1 else self.threads

    @property
    def variants(self) -> list[tuple[str, int]]:
        return [(point.name, seed) for point in points(self.plan) for seed in self.plan.matrix.seeds]


@dataclass(frozen=True, slots=True)
class Task:
    """A variant as it is handed to a worker."""

    plan: Plan
    root: Path
    arm: str
    seed: int
    threads: int
    made_with: str = ""  # what every node of a cluster must have (`provenance.made_with`); not looked at where empty

    @property
    def name(self) -> str:
        return variant_name(self.arm, self.seed)


def left_in_turn(job: Run, dev: tuple[Scenario, ...]) -> Iterator[Job]:
    """What is left to train in this process, one variant at a time. With more than one job, or on a cluster, all are
    trained side by side instead, and nothing is left. Raises Interrupted when `stop` becomes true.
    """
    left = [v for v in job.variants if not job.folder.variant(*v).run.is_file()]
    if left and (job.cluster is not None or (job.jobs > 1 and len(left) > 1)):
        train_side_by_side(job, left, dev)
        return
    for arm, seed in left:
        pause(job)
        yield variant_of(job, arm, seed, dev)


def train_side_by_side(job: Run, left: Sequence[tuple[str, int]], dev: tuple[Scenario, ...]) -> None:
    """Train variants in workers. A warm start that several of them share is made before they part."""
    sharing: dict[str, list[tuple[str, int]]] = {}
    for arm, seed in left:
        own = arm_plan(job.plan, arm)
        if own.warmstart is not None:
            sharing.setdefault(start_name(job.plan, own, seed), []).append((arm, seed))
    for variants in sharing.values():
        if len(variants) > 1:
            pause(job)
            starting_policy(job, variant_of(job, *variants[0], dev))
    if job.cluster is None:
        tasks = [Task(job.plan, job.folder.root, arm, seed, job.share) for arm, seed in left]
        side_by_side(train_task, tasks, job.jobs, job.listen, job.stop)
        return
    root, threads, made_with = job.folder.root.resolve(), max(1, int(job.cluster.cpus)), provenance.made_with()
    tasks = [Task(job.plan, root, arm, seed, threads, made_with) for arm, seed in left]
    spread(train_task, tasks, job.cluster, job.listen, job.stop)


def train_task(task: Task, listen: Listener, stop: Callable[[], bool]) -> None:
    """What a worker does: train a variant in the run's folder, unless that was done.

    Raises InputError on a node of a cluster that lacks the folder, or that another code would train on.
    """
    folder = RunFolder(task.root)
    if task.made_with:
        require_node(folder, task.made_with)
    if folder.variant(task.arm, task.seed).run.is_file():
        return  # its worker was lost between its last step and its last word
    job = Run(task.plan, folder, "", (), (), listen, stop, threads=task.threads)
    dev = tuple(split_scenarios(job.env, job.plan, "dev", DEV_SEED))
    variant = variant_of(job, task.arm, task.seed, dev)
    train(variant, starting_policy(job, variant), listen, stop)


def require_node(folder: RunFolder, made_with: str) -> None:
    """Raise InputError unless this machine sees the run's folder and has the code and packages of the run."""
    node = platform.node()
    if not folder.lock.is_file():
        raise InputError(
            f"node {node} does not see the run folder",
            where=str(folder.root),
            hint="--out on a file system of all nodes",
        )
    if provenance.made_with() != made_with:
        raise InputError(
            f"node {node} has another Python, askfirst or numerical package than the run was started with",
            hint="install the same versions on every node",
        )


def variant_of(job: Run, arm: str, seed: int, dev: tuple[Scenario, ...]) -> Job:
    """An arm with a seed, ready to be trained. Raises GateFailed where its reward is not the one that was tested, or
    generated data not what was audited."""
    plan = arm_plan(job.plan, arm)
    generated.require_same(job.folder, plan)
    require_reports(job.folder, [(plan.reward.name, plan.reward.params)])
    folder, judge = job.folder.variant(arm, seed), judge_of(job.plan, arm)
    return Job(plan, arm, seed, folder, job.stage, dev, scorer_hashes(plan), judge)


def open_policy(plan: Plan, seed: int, threads: int = 0) -> Policy:
    """The plan's model, opened by its backend with adapters drawn from the seed."""
    model = plan.model
    spec = ModelSpec(model.name, model.lora_rank, model.lora_alpha, model.dtype, threads, model.sampler)
    policy: Policy = plugins.load("backends", model.backend).open_policy(spec, seed)
    return policy


def scorer(plan: Plan, folder: Path | None = None) -> Scorer:
    """The plan's reward, with those that judge evaluations beside it; the words of models that judge are kept there."""
    return scorer_of(plan, folder)


def start_name(plan: Plan, own: Plan, seed: int) -> str:
    """The name of the warm start of a variant with the plan `own`: its seed, which is enough for all that start as the
    whole plan says; a hash tells others apart."""
    made = starts.made_with(own)
    return f"seed-{seed}" if made == starts.made_with(plan) else f"seed-{seed}-{made[:8]}"


def starting_policy(job: Run, variant: Job) -> Policy:
    """What a variant starts from: the model as opened, or the warm start that it shares with all that declare no
    other."""
    policy = open_policy(variant.plan, variant.seed, job.threads)
    if variant.plan.warmstart is not None:
        name = start_name(job.plan, variant.plan, variant.seed)
        folder = job.folder.warmstart(name)
        if not folder.is_dir():
            warm(job, variant, policy, name)
            commit_folder(folder, policy.save)
        policy.load(folder)
    return policy


def warm(job: Run, variant: Job, policy: Policy, start: str) -> None:
    """Make the warm start of that name and evaluate it on dev."""
    name = f"warmstart/{start}"

    def tell(done: int, total: int, loss: float) -> None:
        job.listen(Event("warmstart", name, values=FrozenMap({"step": done, "steps": total, "loss": loss})))

    warmstart(job.stage, policy, variant.plan, variant.seed, variant.scorer, tell)
    label = Label(variant.plan.model.name, name, "dev")
    record = evaluate(job.stage, policy, variant.judge, variant.dev, label)
    record = probed(job.stage, record, variant.dev, variant.judge)
    write_json(job.folder.root / "base" / f"warmstart-{start.removeprefix('seed-')}.json", record)
    job.listen(Event("evaluated", name, values=FrozenMap({"step": 0, **summary(record)})))


def pause(job: Run) -> None:
    if job.stop():
        raise Interrupted("stopped between phases; everything so far is kept")
