"""One variant from its first step to its last checkpoint.

A step: scenarios ▶ rollouts ▶ scores ▶ advantages ▶ rows ▶ update ▶ record. Everything random is drawn
from streams named by (seed, step, scenario, rollout), so a run continued from a checkpoint goes on
with the same numbers. Metrics of steps after the last checkpoint are dropped when a run goes on.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from askfirst.batches import draw_scenarios
from askfirst.canary import require_none
from askfirst.contracts.reported import oracle_of, scorer_of
from askfirst.criteria import GateSection
from askfirst.curriculum import SEEN, Seen, read_seen
from askfirst.errors import EnvironmentFault, GateFailed, Interrupted
from askfirst.evaluate import Label, evaluate
from askfirst.events import Event, Listener
from askfirst.judgement import Judged
from askfirst.judging import summary
from askfirst.metrics import StepRecord
from askfirst.plan import Plan, plan_hash
from askfirst.policy import Policy
from askfirst.rollout import Batch, Draw, Scorer, Stage, rollouts
from askfirst.runfolder import VariantFolder, variant_name
from askfirst.sections import RewardSection
from askfirst.starts import require_start
from askfirst.steps import Method, learn, learning_rate, step_record
from askfirst.store import append_line, commit_folder, held, plain, read_json, read_lines, write_json, write_lines
from askfirst.values import FrozenMap, Rollout, Scenario
from askfirst.watch import entry_of, halt, probed, tell, watched

Record = Mapping[str, Any]  # as it is read back
BEST_KEPT = 20
PATIENCE = 10.0  # seconds
OF_TEACHER = "learning.taught."  # metrics that only an arm with a teacher has


@dataclass(frozen=True, slots=True)
class Job:
    """A variant to train: the arm's resolved plan, its seed, where it writes and what it evaluates on.

    `scorers` are the hashes of the rewards when the run started.
    """

    plan: Plan
    arm: str
    seed: int
    folder: VariantFolder
    stage: Stage
    dev: tuple[Scenario, ...]
    scorers: FrozenMap
    judged_by: RewardSection | None = None  # the reward of evaluations; by default the one that is trained on

    @property
    def name(self) -> str:
        return variant_name(self.arm, self.seed)

    @property
    def scorer(self) -> Scorer:
        return scorer_of(self.plan, self.folder.root)

    @property
    def judge(self) -> Scorer:
        plan = self.plan.model_copy(update={"reward": self.judged_by or self.plan.reward})
        return scorer_of(plan, self.folder.root)


def train(job: Job, policy: Policy, listen: Listener, stop: Callable[[], bool]) -> None:
    """Train a variant to the plan's last step; run.json exists when, and only when, it got there.

    Raises Interrupted after the step in which `stop` became true, with everything up to it committed,
    and GateFailed when a gate after the pilot does not hold or a monitor stops the run.
    """
    # A worker of a run that was killed a moment ago may be ending still.
    with held(job.folder.root, patience=PATIENCE):
        require_pilot(job)
        require_start(job.plan, job.stage, job.folder, policy, job.dev)
        keep_config(job)
        start, seen = resume(job, policy)
        method = Method.of(job.plan.train, job.plan.teacher)
        total, every = job.plan.train.steps, job.plan.evaluation.every
        lines = list(read_lines(job.folder.metrics))
        faults = sum(line["faults"] for line in lines)
        for entry in manifest(job)[-1:]:
            halt(job.plan, job.name, entry, str(job.folder.manifest))
        for step in range(start, total):
            batch, own = one_step(job, policy, method, step, seen)
            seen = seen.after(batch.groups, job.plan.curriculum)
            record = watched(job.plan, batch, own, lines)
            faults += record.faults
            check_faults(job, faults, (step + 1) * job.plan.train.scenarios_per_step)
            append_line(job.folder.metrics, record)
            lines.append(plain(record))
            listen(Event("step", job.name, values=_step_values(record, total)))
            tell(job.plan, job.name, lines[-1], lines[-2:-1], listen)
            check_gates(job, step)
            halt(job.plan, job.name, lines[-1], str(job.folder.metrics))
            last, halted = step + 1 == total, stop()
            if last or (step + 1) % every == 0:
                checkpoint(job, State(policy, seen), batch, lines, listen)
            elif halted:
                commit_folder(job.folder.halted(step + 1), State(policy, seen).save)
            if halted and not last:
                raise Interrupted(f"{job.name} stopped after step {step + 1} of {total}; everything up to it is kept")
        for folder in job.folder.halts():
            shutil.rmtree(folder)
        write_json(job.folder.run, {"version": 1, "arm": job.arm, "seed": job.seed, "steps": total, "faults": faults})
        listen(Event("finished", job.name))


@dataclass(frozen=True, slots=True)
class State:
    """What a checkpoint holds: the policy, and what an informative curriculum has seen of it."""

    policy: Policy
    seen: Seen

    def save(self, folder: Path) -> None:
        """Write it into an existing folder."""
        self.policy.save(folder)
        if self.seen.counts:
            write_json(folder / SEEN, self.seen)


def keep_config(job: Job) -> None:
    """Write the variant's own plan, resolved, with its hash and what judges it."""
    judge = job.judged_by or job.plan.reward
    body = {"version": 1, "variant": job.name, "sha256": plan_hash(job.plan), "judge": judge.model_dump(mode="json")}
    body["plan"] = job.plan.model_dump(mode="json")
    if not job.folder.config.is_file() or read_json(job.folder.config) != plain(body):
        write_json(job.folder.config, body)


def one_step(job: Job, policy: Policy, method: Method, step: int, seen: Seen) -> tuple[Batch, StepRecord]:
    """Sample, score and learn once."""
    began = time.perf_counter()
    train = job.plan.train
    scenarios = draw_scenarios(job.stage.env, job.plan, job.seed, step, seen)
    draw = Draw(job.seed, step, train.group_size)
    batch = rollouts(job.stage, policy, job.scorer.at_step(step), scenarios, draw)
    if not batch.groups:
        raise batch.faults[0]
    said = {m.content for group in batch.groups for r in group.rollouts for m in r.trajectory.messages}
    require_none(said, f"{job.name} step {step + 1}")
    optimiser = train.optimiser
    lr = learning_rate(train.lr, step, train.steps, optimiser.schedule, optimiser.warmup_steps)
    update = learn(policy, batch, method, lr)
    tolerance = train.sampling.tolerance_nats or policy.logprob_tolerance
    if update.learning.sampler_gap_nats > tolerance:
        raise GateFailed(
            f"sampler and trainer differ by {update.learning.sampler_gap_nats:.4f} nats a token at step {step + 1}; "
            f"the tolerance is {tolerance:.4f}",
            where=job.name,
            hint="use dtype fp32, or declare train.sampling.tolerance_nats and why",
        )
    judge = _judged(job, batch)
    return batch, replace(step_record(step + 1, batch, update, lambda: time.perf_counter() - began), judge=judge)


def _judged(job: Job, batch: Batch) -> Judged | None:
    """What the plan's judge says of a batch, beside what the environment's oracle does; None without a judge."""
    played = [r for group in batch.groups for r in group.rollouts]
    said = [r.judgement for r in played if r.judgement is not None]
    oracle = job.scorer.beside.get(oracle_of(job.plan))
    passes = [oracle.score(r.scenario, r.trajectory).passed for r in played] if said and oracle else None
    return summary(said, passes) if said else None


def check_faults(job: Job, faults: int, groups: int) -> None:
    """Raise EnvironmentFault when more groups were lost to faults than the plan allows."""
    if faults > job.plan.train.max_fault_fraction * groups:
        raise EnvironmentFault(
            f"{faults} of {groups} groups were lost to faults; the plan allows {job.plan.train.max_fault_fraction:.0%}",
            where=job.name,
        )


def check_gates(job: Job, step: int) -> None:
    """Apply the gates whose pilot ends with this step; those on a teacher's numbers where the arm has a teacher.

    Raises GateFailed with the measured mean and the bound.
    """
    taught = Method.of(job.plan.train, job.plan.teacher).teacher is not None
    for gate in job.plan.gate:
        if step + 1 == gate.after_steps and (taught or not gate.metric.startswith(OF_TEACHER)):
            values = pilot_values(job, gate)
            mean = sum(values) / len(values)
            others = [v for v in values if gate.one_of and not any(math.isclose(v, one) for one in gate.one_of)]
            if others or (gate.min is not None and mean < gate.min) or (gate.max is not None and mean > gate.max):
                bounds = [f"{word} {bound}" for word, bound in (("≥", gate.min), ("≤", gate.max)) if bound is not None]
                bounds += [f"one of {', '.join(f'{one:g}' for one in gate.one_of)}"] if gate.one_of else []
                measured = others[0] if others else mean
                reason = f"pilot stopped: {gate.metric} = {measured:.3f} over {gate.after_steps} steps, "
                reason += f"the plan asks {' and '.join(bounds)}"
                body = {"version": 1, "variant": job.name, "plan_sha256": plan_hash(job.plan), "reason": reason}
                write_json(job.folder.pilot, body)
                raise GateFailed(reason, where=job.name, hint=f"the evidence is kept in {job.folder.metrics}")


def require_pilot(job: Job) -> None:
    """Raise GateFailed where a gate on the pilot of this very plan failed before: it would again."""
    if job.folder.pilot.is_file():
        found = read_json(job.folder.pilot)
        if found["plan_sha256"] == plan_hash(job.plan):
            raise GateFailed(found["reason"], where=job.name, hint=f"the evidence is kept in {job.folder.metrics}")
        job.folder.pilot.unlink()


def pilot_values(job: Job, gate: GateSection) -> list[float]:
    """A step metric over the pilot; `a.b.c` reaches into a record. GateFailed when it was not measured."""
    found = [_reach(line, gate.metric) for line in read_lines(job.folder.metrics) if line["step"] <= gate.after_steps]
    values = [v for v in found if v is not None]
    if not values:
        raise GateFailed(f"gate metric {gate.metric!r} was not measured in the pilot", where=job.name)
    return values


def _reach(record: Mapping[str, Any], dotted: str) -> float | None:
    value: Any = record
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def checkpoint(job: Job, state: State, batch: Batch, lines: Sequence[Record], listen: Listener) -> None:
    """Save the state, evaluate its policy on dev and enter it in the manifest; the manifest is what commits it.

    `lines` are the records of all steps so far. Raises GateFailed when a monitor stops the run.
    """
    step, policy = lines[-1]["step"], state.policy
    folder = job.folder.checkpoint(step)
    commit_folder(folder, state.save)
    label = Label(job.plan.model.name, f"{job.name}@{step}", "dev", step)
    judge = job.judge
    practised = batch if judge == job.scorer else None  # what another reward passes is no finding about the judge
    record = probed(job.stage, evaluate(job.stage, policy, judge, job.dev, label), job.dev, judge, practised)
    write_json(job.folder.evaluation("dev", step), record)
    keep_rollouts(job, batch, step)
    entries = manifest(job)
    where = {"checkpoint": folder.relative_to(job.folder.root).as_posix(), "fingerprint": policy.fingerprint()}
    entry = {**where, **entry_of(job.plan, job.scorers, record, lines, entries)}
    write_json(job.folder.manifest, {"version": 1, "entries": [*entries, entry]})
    listen(Event("evaluated", job.name, values=FrozenMap({"step": step, **entry["dev"]})))
    tell(job.plan, job.name, entry, entries, listen)
    halt(job.plan, job.name, entry, str(job.folder.manifest))


def manifest(job: Job) -> list[dict[str, Any]]:
    """The committed checkpoints of a variant, oldest first."""
    return list(read_json(job.folder.manifest)["entries"]) if job.folder.manifest.is_file() else []


def resume(job: Job, policy: Policy) -> tuple[int, Seen]:
    """Load the last saved state and drop what was recorded after it; returns the step to go on with, and what the
    curriculum has seen.

    A policy saved at a halt is for going on only: it is not evaluated and cannot be selected, so a run
    that was stopped ends with the same records as one that was not.
    """
    saved = {int(e["step"]): job.folder.root / e["checkpoint"] for e in manifest(job)}
    saved |= {int(folder.name.rsplit("-", 1)[-1]): folder for folder in job.folder.halts()}
    step = max(saved, default=0)
    seen = Seen()
    if step:
        policy.load(saved[step])
        seen = read_seen(saved[step]) if job.plan.curriculum.mode == "informative" else seen
    kept = [line for line in read_lines(job.folder.metrics) if line["step"] <= step] if step else []
    write_lines(job.folder.metrics, kept)
    return step, seen


def keep_rollouts(job: Job, batch: Batch, step: int) -> None:
    """Write the rollouts of the last step, and merge the best into those kept for a person to read."""
    fresh = [_rollout_line(r, step) for g in batch.groups for r in g.rollouts]
    write_lines(job.folder.last_rollouts, fresh)
    kept = list(read_lines(job.folder.best_rollouts)) if job.folder.best_rollouts.is_file() else []
    best: dict[str, dict[str, Any]] = {}
    for line in sorted([*fresh, *kept], key=lambda x: (-x["score"]["total"], -x["step"], x["scenario"], x["index"])):
        best.setdefault(line["reply"], line)
    write_lines(job.folder.best_rollouts, list(best.values())[:BEST_KEPT])


def _rollout_line(rollout: Rollout, step: int) -> dict[str, Any]:
    trajectory = rollout.trajectory
    own = [segment for segment in trajectory.segments if segment.sampled]
    spoken = next(i for i, message in enumerate(trajectory.messages) if message.role == "assistant")
    line: dict[str, Any] = plain(
        ({} if rollout.judgement is None else {"judgement": rollout.judgement})
        | {
            "version": 1,
            "step": step,
            "scenario": rollout.scenario.id,
            "family": rollout.scenario.family,
            "stratum": rollout.scenario.stratum,
            "index": rollout.index,
            "request": rollout.scenario.opening[-1].content,
            "reply": trajectory.reply,
            "dialogue": trajectory.messages[spoken:],
            "stop": trajectory.stop,
            "token_ids": [token for segment in own for token in segment.token_ids],
            "sampler_logprobs": [logprob for segment in own for logprob in segment.logprobs],
            "score": rollout.score,
        }
    )
    return line


def _step_values(record: StepRecord, total: int) -> FrozenMap:
    strata = record.strata
    return FrozenMap(
        {
            "step": record.step,
            "steps": total,
            "reward": record.reward,
            "strict_pass": record.strict_pass,
            "ask_when_unclear": strata["all_ambiguous"]["ask_rate"] if "all_ambiguous" in strata else None,
            "ask_when_clear": strata["all_clear"]["ask_rate"] if "all_clear" in strata else None,
            "informative_fraction": record.informative_fraction,
            "kl_nats": record.learning.kl_nats,
            "tokens": record.cost.sampled_tokens + record.cost.trained_tokens + record.cost.teacher_tokens,
            "seconds": record.cost.seconds,
        }
    )
