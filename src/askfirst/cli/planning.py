"""`askfirst plan`, `new plan`, `freeze` and `diff`: what is said and fixed before anything runs."""

from __future__ import annotations

import json
import secrets
from importlib.resources import files
from pathlib import Path
from typing import Any

from askfirst import plan as plans
from askfirst import planfile, plugins
from askfirst.cli.places import SEEDS
from askfirst.deviation import changes
from askfirst.errors import GateFailed, InputError
from askfirst.plan import Plan
from askfirst.store import plain, write_json, write_text
from askfirst.values import GateStatus


def line(verb: str, text: str) -> None:
    """Print a line that begins with a verb."""
    print(f"{verb:<9} {text}")


def describe(
    plan_file: Path, overrides: tuple[str, ...], hardware: Path | None, evidence: Path | None, *, as_json: bool
) -> None:
    """Print what a plan will do, what it costs and whether it can decide. Exits 1 where it cannot or may not start."""
    from askfirst.registered.document import recognised

    if recognised(planfile.read(plan_file)):
        from askfirst.cli.registering import describe as describe_registered

        if hardware is not None:
            raise InputError("a registered experiment does not say its lengths in numbers", where="--hardware")
        describe_registered(plan_file, overrides, evidence, as_json=as_json)
        return
    if evidence is not None:
        raise InputError("only a registered experiment is judged from an evidence file", where="--evidence")
    from askfirst.decide import check_target

    plan = plans.load(plan_file, overrides)
    check_names(plan)
    check_target(plan)
    good = _describe_json(plan, hardware) if as_json else _describe(plan, hardware)
    if not good:
        raise SystemExit(1)


def _describe(plan: Plan, hardware: Path | None) -> bool:
    from askfirst import gates
    from askfirst.decide import POWER_WANTED, prospects, sealed_counts
    from askfirst.monitors import set_by_plan

    decidable, items, effect = gates.decidability(plan), plan.evaluation, plan.decision.effect * 100
    line("plan", plans.one_line(plan))
    if keys := plans.contrast(plan):
        line("", f"arms differ in {', '.join(keys)}")
    rollouts = rollouts_of(plan)
    line("", f"{rollouts:,} rollouts; {items.dev_items} dev and {items.sealed_items} sealed items")
    for words in _teachers(plan):
        line("teacher", words)
    line("watch", f"{len(plan.monitor)} monitors; set here: {set_by_plan(plan.monitor) or 'none'}")
    line("cost", _cost(plan, rollouts))
    line("decide", f"{decidable.reason}; the verdict is about {plan.decision.target.replace('_', ' ')}")
    for found in prospects(plan, sealed_counts(plan)):
        needed = "no outcome is enough" if found.needed is None else f"needs {found.needed}/{found.items}"
        least = "none" if found.least_effect is None else f"+{found.least_effect * 100:.1f} points"
        line(
            "", f"{found.metric} above {found.threshold:.0%}: {needed}; least effect with power {POWER_WANTED}: {least}"
        )
        if found.power < POWER_WANTED:
            items_wanted = f"about {found.wanted_items}" if found.wanted_items else "no number of"
            line("mend", f"{items_wanted} items show +{effect:.0f} points; {found.items} show {least}")
    line("hash", plans.plan_hash(plan))
    fits = hardware is None or _on(plan, hardware)
    return fits and decidable.status is not GateStatus.FAILED


def _teachers(plan: Plan) -> list[str]:
    """A line for each arm, or point of the matrix, that learns from a teacher: who it is and what it is shown."""
    from askfirst.steps import Method

    found = []
    for name, own in plans.resolved(plan).items():
        section = Method.of(own.train, own.teacher).teacher
        if section is not None:
            shown = {"sibling_else_feedback": "a sibling that succeeded, else feedback", "both": "sibling and feedback"}
            kind = section.kind if section.kind in ("frozen", "live") else f"{section.kind} {section.rate:g}"
            source = f"judge {own.judge.name}" if own.judge else "the reward's failures"
            seen = shown.get(section.context, section.context)
            seen += "" if section.context == "sibling" else f" ({source})"
            found.append(f"{name}: {own.train.advantage}, {kind}; shown {seen} {section.place} the request")
    return found


def _cost(plan: Plan, rollouts: int) -> str:
    tokens = rollouts * plan.train.sampling.max_tokens
    minutes, price = plan.budget.wall_minutes, plan.budget.price_per_hour
    money = f", {minutes / 60 * price:.2f} at {price:g} an hour" if price else ""
    return f"at most {tokens:,} sampled tokens in training and {minutes:g} minutes by the budget{money}"


def _on(plan: Plan, path: Path) -> bool:
    """Print what the plan takes on declared hardware; whether it fits memory and time there."""
    from askfirst import hardware

    given = hardware.load(path)
    found, machine = hardware.budget(plan, given), given.machine
    low, high = machine.training_decode_share
    rate = machine.decode_tokens_per_second
    line("on", f"{machine.name}: decodes {rate:g} tokens/s, {low * rate:g} to {high * rate:g} while it trains")
    line("", f"assumed: {given.lengths.prompt_tokens} tokens a prompt, {found.response_tokens} a reply")
    for part in (*found.groups, *found.phases):
        took, work = part.seconds, part.work
        decoding = (
            f"decode {_time(took.full)} at the full rate, {_time(took.fast)} to {_time(took.slow)} while training"
        )
        line("", f"{part.name:<18} {work.decoded:>11,} tokens  {decoding}; prompts and updates {_time(took.rest)}")
    fast, slow = found.wall_seconds
    needed, there = sum(found.memory), machine.memory_gib * hardware.GIB
    line("time", f"{_time(fast)} to {_time(slow)} of {plan.budget.wall_minutes:g} min")
    parts = ", ".join(
        f"{n / hardware.GIB:.1f} {what}" for n, what in zip(found.memory, ("weights", "adapter", "cache"), strict=True)
    )
    line("memory", f"{needed / hardware.GIB:.1f} of {machine.memory_gib:g} GiB ({parts})")
    return needed <= there and slow <= 60 * plan.budget.wall_minutes


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 180 * 60 else f"{seconds / 3600:.1f} h"


def _describe_json(plan: Plan, path: Path | None) -> bool:
    from askfirst import gates, hardware
    from askfirst.decide import prospects, sealed_counts

    decidable = gates.decidability(plan)
    found: dict[str, Any] = {
        "plan_sha256": plans.plan_hash(plan),
        "plan": plan.model_dump(mode="json"),
        "power": decidable.measured,
        "contrast": plans.contrast(plan),
        "rollouts": rollouts_of(plan),
        "prospects": prospects(plan, sealed_counts(plan)),
    }
    fits = True
    if path is not None:
        given = hardware.load(path)
        budget = hardware.budget(plan, given)
        found["hardware"] = {"budget": budget, "wall_seconds": budget.wall_seconds}
        within = budget.wall_seconds[1] <= 60 * plan.budget.wall_minutes
        fits = within and sum(budget.memory) <= given.machine.memory_gib * hardware.GIB
    print(json.dumps(plain(found), ensure_ascii=False))
    return fits and decidable.status is not GateStatus.FAILED


def check_names(plan: Plan) -> None:
    """Resolve every plugin name of a plan. Raises PluginError."""
    from askfirst.contracts.reported import beside
    from askfirst.steps import Method

    named = [("envs", plan.env.name), ("backends", plan.model.backend)]
    named += [("losses", own.train.loss) for own in plans.resolved(plan).values()]
    named += [("rewards", name) for name in (plan.reward.name, *plan.matrix.rewards, *beside(plan))]
    for kind, name in named:
        plugins.load(kind, name)
    for own in plans.resolved(plan).values():
        Method.of(own.train, own.teacher)


def rollouts_of(plan: Plan) -> int:
    """How many rollouts the plan samples in training."""
    per = [own.train for own in plans.resolved(plan).values()]
    return len(plan.matrix.seeds) * sum(t.steps * t.scenarios_per_step * t.group_size for t in per)


def new(out: Path) -> None:
    """Write a commented plan that validates, with a freshly sealed split."""
    from askfirst.evaluate import new_secret

    if out.exists():
        raise InputError("there is a file already", where=str(out), hint="--out names another")
    template = files("askfirst.cli").joinpath("plan_template.toml").read_text("utf-8")
    write_text(out, template.replace("@SEALED@", new_secret(secrets.token_hex(16), SEEDS)))
    print(f"{out}; what it does and whether it can decide: askfirst plan {out}")


def freeze(plan_file: Path, overrides: tuple[str, ...], out: Path | None) -> None:
    """Write the resolved plan with its hash and those of its plugins; a frozen plan runs as it is or not at all."""
    from askfirst.registered.document import recognised

    target = out or plan_file.with_name(f"{plan_file.stem.removesuffix('.lock')}.lock.json")
    if target.exists():
        raise InputError("there is a file already", where=str(target), hint="--out names another")
    if recognised(planfile.read(plan_file)):
        from askfirst.cli.registering import locked as locked_experiment

        document = locked_experiment(plan_file, overrides)
    else:
        document = _locked(plan_file, overrides)
    write_json(target, document)
    print(f"{target}  {document['plan_sha256']}")


def _locked(plan_file: Path, overrides: tuple[str, ...]) -> dict[str, Any]:
    from askfirst import gates, matrix, variants
    from askfirst.runfolder import RunFolder

    plan = plans.load(plan_file, overrides)
    decidable = gates.decidability(plan)
    if decidable.status is GateStatus.FAILED:
        raise GateFailed(
            f"this plan cannot decide: {decidable.reason}", where=str(plan_file), hint="askfirst plan PLAN"
        )
    job = variants.Run(plan, RunFolder(plan_file.parent), "", overrides, (), lambda event: None, lambda: False)
    return matrix.locked(job)


def diff(first: Path, second: Path, *, as_json: bool) -> None:
    """Print the fields in which two resolved plans differ. Exits 1 where there are any."""
    found = changes({"plan": _resolved(first), "sources": {}}, {"plan": _resolved(second), "sources": {}})
    for change in found:
        what = change.what.removeprefix("plan.")
        if as_json:
            print(json.dumps(plain({"what": what, "before": change.before, "after": change.after}), ensure_ascii=False))
        else:
            line("differs", f"{what}: {json.dumps(change.before)} → {json.dumps(change.after)}")
    if found:
        raise SystemExit(1)
    if not as_json:
        line("same", "both files resolve to one plan")


def _resolved(path: Path) -> dict[str, Any]:
    from askfirst.registered import document as registered

    read = planfile.read(path)
    if registered.recognised(read):
        return registered.validate(read, str(path)).model_dump(mode="json")
    return plans.validate(read, str(path)).model_dump(mode="json")
