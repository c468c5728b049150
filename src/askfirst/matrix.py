"""A plan from its gates to its verdict: every arm × seed, then selection, the sealed split once, the verdict.

Each phase writes its record before the next begins and is skipped when its record is there, so a run
that was stopped anywhere goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from types import ModuleType
from typing import Any

from askfirst import calibration, deviation, gates, generated, ledger, plugins, provenance, summaries
from askfirst.cases import play
from askfirst.contracts.reported import judge_of, modules, require_reports, rewards_of, selectable, write_reports
from askfirst.crosscheck import same_as_trl
from askfirst.decide import check_target, verdict
from askfirst.errors import GateFailed, InputError, NothingSelected
from askfirst.evaluate import Label, evaluate, find_secret, openings, split_scenarios
from askfirst.events import Event
from askfirst.metrics import DevMetrics, summary
from askfirst.monitors import set_by_plan
from askfirst.plan import calibrated, judges_of, lock, one_line, plan_hash, resolved
from askfirst.policy import Policy, Sampling
from askfirst.preflight import preflight
from askfirst.sealed import BASE, sealed_records
from askfirst.selection import Candidate, Selected, select
from askfirst.store import (
    held,
    plain,
    read_as,
    read_json,
    seed_from,
    sweep,
    write_json,
    write_text,
)
from askfirst.teacher_gates import teacher_gates
from askfirst.train import train
from askfirst.values import FrozenMap, GateResult, GateStatus, Scenario, Verdict
from askfirst.variants import DEV_SEED, Run, left_in_turn, open_policy, pause, scorer, starting_policy
from askfirst.watch import probed
from askfirst.workers import prepare

WORLDS = ("askfirst.calls", "askfirst.clarify", "askfirst.retail")  # what environments and rewards share
PROBED = 32  # scenarios that are sampled alone to see what an evaluation costs


def run(job: Run) -> Verdict:
    """Do what is left to do of a plan; returns the verdict, which then stands in the run folder.

    Raises Interrupted between phases or steps when `stop` becomes true, GateFailed when a gate says no.
    """
    secret = find_secret(job.plan, job.secret_places)
    with held(job.folder.root):
        job = trained(job)
        result = conclude(job, secret)
        write_json(job.folder.verdict, result)
        ledger.finish(job.folder)
    job.listen(Event("verdict", result.decision, result.reason, FrozenMap({"limits": result.limits})))
    return result


def explore(job: Run) -> Selected:
    """As `run`, up to the selection on dev: the sealed split stays shut, and its secret is not needed."""
    with held(job.folder.root):
        return choose(trained(job))


def trained(job: Run) -> Run:
    """Everything before the selection; returns the run with the plan that holds, which is another after a calibration.

    Raises GateFailed where a gate on the pilot fails and the plan allows no calibration, or it was made already.
    """
    job, dev = begun(job)
    while True:
        calibration.set_aside(job)
        try:
            for variant in left_in_turn(job, dev):
                train(variant, starting_policy(job, variant), job.listen, job.stop)
        except GateFailed as no:
            job = begun_anew(job, no)
        else:
            pause(job)
            return job


def begun(job: Run) -> tuple[Run, tuple[Scenario, ...]]:
    """Everything before the training; returns the run with the plan that holds, and the dev items."""
    sweep(job.folder.root)
    job = calibration.in_force(job)
    freeze(job)
    ledger.require_intact(job.folder)
    if job.jobs > 1:
        prepare([plugins.load("backends", job.plan.model.backend).__name__, __name__])
    dev = tuple(split_scenarios(job.env, job.plan, "dev", DEV_SEED))
    provenance.record(job.folder, job.plan, dev)
    if words := set_by_plan(job.plan.monitor):
        job.listen(Event("watch", text=words))
    before_training(job, dev)
    return job, dev


def begun_anew(job: Run, no: GateFailed) -> Run:
    """The run with the plan that its calibration makes of it, where a gate on the pilot failed and the plan allows one.

    Raises what failed where it does not.
    """
    pilot = calibration.failed_pilot(job)
    if pilot is None:
        raise no
    again = replace(job, plan=calibrated(job.plan))
    calibration.calibrate(again, pilot, locked(again))
    job.listen(Event("watch", text=f"{pilot['variant']}: {pilot['reason']}; begun anew as the plan allows once"))
    return again


def conclude(job: Run, secret: str) -> Verdict:
    """Select, open the sealed split and decide.

    Where nothing may be selected, the split stays shut and the answer is no.
    """
    try:
        chosen, baseline = choose(job), chosen_baseline(job)
    except NothingSelected as no:
        summaries.write(job, candidates(job), None)
        return Verdict(1, "DISCARD", (), no.message, "selection is on dev alone; the sealed split was not opened")
    found = sealed_records(job, chosen, baseline, secret)
    result = verdict(job.plan, found.treated, found.others(job.plan), openings(job.folder))
    summaries.write(job, candidates(job), summaries.Outcome(chosen, found, result.holdout))
    return result


def locked(job: Run) -> dict[str, Any]:
    """The lock document of plan and code as they are now."""
    plan = job.plan
    check_target(plan)
    for name, own in resolved(plan).items():
        scorer(own)
        judge_of(plan, name)
    named = [("envs", plan.env.name), ("backends", plan.model.backend)]
    for own in resolved(plan).values():
        named += [("advantages", own.train.advantage), ("losses", own.train.loss)]
    named += [("rewards", plugins.name_of(module)) for module, _ in modules(rewards_of(plan))]
    named += [("judges", judge.name) for judge in judges_of(plan)]
    named += [("backends", judge.backend) for judge in judges_of(plan) if judge.model]
    loaded = {f"{kind}/{name}": plugins.load(kind, name) for kind, name in named}
    return lock(plan, {**sources(loaded), **generated.sources(plan)}, job.overrides)


def sources(used: Mapping[str, ModuleType]) -> dict[str, str]:
    """The source hash of every plugin, and of what environments and rewards share in a room of its own."""
    shared = {other.__name__: other for each in used.values() for other in plugins.reached(each, WORLDS)}
    return {name: plugins.source_hash(module) for name, module in {**used, **shared}.items()}


def freeze(job: Run) -> None:
    """Write the lock file, or check that the folder's lock is of the same plan and code.

    Raises GateFailed for a reward that is not the one that was tested here, InputError for anything else that differs.
    """
    plan, document = job.plan, locked(job)
    if not job.folder.lock.is_file():
        write_text(job.folder.plan, job.plan_text)
        # The ledger first: a lock that stands was entered.
        ledger.begin(job.folder.ledger, {"version": 1, "event": "frozen", "plan_sha256": plan_hash(plan)})
        write_json(job.folder.lock, document)
        return
    found = read_json(job.folder.lock)
    if found.get("plan_sha256") == plan_hash(plan) and job.folder.selftest.is_file():
        require_reports(job.folder, rewards_of(plan))
    changed = deviation.changes(found, plain(document))
    if changed:
        raise InputError(
            f"the folder holds a run of another plan or other code ({', '.join(c.what for c in changed[:3])} differ)",
            where=str(job.folder.root),
            hint="choose another --out folder, or put on record why it differs: askfirst deviate",
        )


def deviate(job: Run, reason: deviation.Reason) -> deviation.Deviation:
    """Freeze an unfinished run anew with the plan and the code of now; what changed and why is in its ledger for good.

    Raises InputError where nothing changed, GateFailed for a change of how the run is judged.
    """
    with held(job.folder.root):
        job = calibration.in_force(job)
        document = plain(locked(job))
        changed = deviation.changes(read_json(job.folder.lock), document)
        if not changed:
            raise InputError("plan and code are those that the run was frozen with", where=str(job.folder.root))
        deviation.require_allowed(changed, str(job.folder.root))
        made = deviation.entry(changed, plan_hash(job.plan), reason)
        ledger.append(job.folder.ledger, made)  # first: no lock stands that was not entered
        write_text(job.folder.plan, job.plan_text)
        write_json(job.folder.lock, document)
    return made


def before_training(job: Run, dev: Sequence[Scenario]) -> None:
    """The gates, then the model before training on dev. Raises GateFailed; the results are kept either way."""
    if all(p.is_file() for p in (job.folder.selftest, job.folder.gates, job.folder.base_evaluation("dev"))):
        return
    plan = job.plan
    test, reports = gates.reward_self_test(rewards_of(plan))
    write_reports(job.folder, reports)
    results: list[GateResult] = [test, gates.contamination(job.env, plan, dev), gates.decidability(plan)]
    results += [gates.false_positives(plan, dev), *gates.judges(plan)]
    if plan.env.generated is not None:
        results.append(gates.generation_audit(plan, dev))
    if test.status is GateStatus.PASSED:
        results.append(gates.habits(job.env, plan))
    if plan.correctness.trl != "off":
        results.append(same_as_trl(plan))
    policy = open_policy(plan, plan.matrix.seeds[0], job.share)
    for words in getattr(policy, "remarks", ()):
        job.listen(Event("warning", plan.model.name, words))
    results += gates_of_policy(job, policy, dev)
    # What depends on the clock or on what else the machine does is said, not recorded.
    recorded = [r for r in results if r.name not in ("memory", "feasibility")]
    write_json(job.folder.gates, {"version": 1, "results": recorded})
    job.listen(
        Event(
            "gates",
            text=" · ".join(f"{r.name} {r.reason}" for r in results),
            values=FrozenMap({"results": tuple(results)}),
        )
    )
    gates.check(results)
    own = scorer(plan, job.folder.base_evaluation("dev").parent)
    record = evaluate(job.stage, policy, own, dev, Label(plan.model.name, "base", "dev"))
    record = probed(job.stage, record, dev, own)
    write_json(job.folder.base_evaluation("dev"), record)
    job.listen(Event("evaluated", "base", values=FrozenMap({"step": 0, **summary(record)})))


def gates_of_policy(job: Run, policy: Policy, dev: Sequence[Scenario]) -> list[GateResult]:
    """The gates that need the model: memory first, since the others use it."""
    plan = job.plan
    probe = job.env.scenarios("train", max(PROBED, plan.train.scenarios_per_step), seed_from("micro-run"))
    longest = max(job.stage.sampling.max_tokens, *lengths(job, policy, [*dev, *probe]))
    room = gates.memory(policy, replace(job.stage, sampling=Sampling(longest)), plan, [*dev, *probe], job.jobs)
    if room.status is GateStatus.FAILED:
        return [room]
    checked = [*preflight(policy, job.stage, plan, probe), *teacher_gates(policy, job.stage, plan, probe)]
    micro = timed(job, policy, probe)
    minutes = max(1, round(gates.estimate_minutes(micro, plan, job.jobs)))
    job.listen(Event("plan", text=f"{one_line(plan)} · about {minutes} min on this machine"))
    return [room, *checked, gates.correctness(micro, policy, plan), gates.feasibility(micro, plan, job.jobs)]


def timed(job: Run, policy: Policy, probe: Sequence[Scenario]) -> gates.MicroRun:
    """The micro-run. Before a warm start the policy ends its episodes with the first reply: one of the length that it
    will be taught is timed, and counted for as many turns, and as many tokens, as demonstrations have."""
    if job.plan.warmstart is None:
        return gates.micro_run(policy, job.stage, job.plan, probe)
    shown = [(s, job.env.demonstrations(s)[0]) for s in probe]
    replies = [[d.reply, *d.then] for _, d in shown]
    turns = fmean(map(len, replies))
    length = fmean(len(policy.encode_reply(text)) for texts in replies for text in texts)
    stage = replace(job.stage, sampling=Sampling(round(length)))
    micro = gates.micro_run(policy, stage, job.plan, probe)
    openings = fmean(len(policy.encode(stage.prompt(s))) for s in probe)
    behind = fmean(lengths(job, policy, probe))
    return micro.longer(turns, max(1.0, (openings + behind) / (openings + length)))


def lengths(job: Run, policy: Policy, scenarios: Sequence[Scenario]) -> list[int]:
    """The tokens behind the opening in a demonstration of each scenario."""
    found = []
    for scenario in scenarios:
        shown = job.env.demonstrations(scenario)[0]
        *before, last = play(job.env, scenario, (shown.reply, *shown.then)).messages
        opened = len(policy.encode(job.env.start(scenario)))
        found.append(len(policy.encode(before)) - opened + len(policy.encode_reply(last.content)))
    return found


def choose(job: Run) -> Selected:
    """Select a checkpoint of the treatment arm from the dev records in the manifests."""
    if job.folder.selected.is_file():
        return read_as(Selected, job.folder.selected)
    chosen = select(candidates(job), job.plan.selection, selectable(job.plan))
    write_json(job.folder.selected, chosen)
    job.listen(Event("select", chosen.name, values=FrozenMap(plain(chosen))))
    return chosen


def chosen_baseline(job: Run) -> Selected | None:
    """A checkpoint of the arm that the plan compares with, selected as that of the treatment; None where it compares
    with the model before training."""
    arm, path = job.plan.decision.baseline, job.folder.baseline
    if arm == BASE:
        return None
    if not path.is_file():
        write_json(path, select(candidates(job), job.plan.selection, (arm,)))
    return read_as(Selected, path)


def candidates(job: Run) -> list[Candidate]:
    """Every committed checkpoint of every variant, by what their manifests say of dev."""
    found = []
    for arm, seed in job.variants:
        folder = job.folder.variant(arm, seed)
        for entry in read_json(folder.manifest)["entries"]:
            path = (folder.root / entry["checkpoint"]).relative_to(job.folder.root).as_posix()
            share, dev = entry["informative_fraction"], DevMetrics(entry["dev"])
            found.append(Candidate(arm, seed, entry["step"], path, entry["fingerprint"], share, dev))
    return found
