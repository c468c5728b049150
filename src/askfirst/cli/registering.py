"""`askfirst plan` on an experiment in the published JSON format: findings, power, and its record from the evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from askfirst import __version__, planfile
from askfirst import plan as plans
from askfirst.errors import GateFailed
from askfirst.registered import derive, document
from askfirst.registered import evidence as reported
from askfirst.registered.document import UNITS, Experiment
from askfirst.registered.findings import findings
from askfirst.registered.power import Decidability, decidability
from askfirst.store import plain

STATUSES = ("correctness_validation", "decision_validation", "restoration_validation")
OTHERS = ("generation_audit_validation", "activation_validation", "feasibility")


def describe(plan_file: Path, overrides: tuple[str, ...], evidence: Path | None, *, as_json: bool) -> None:
    """Print what is registered, what is wrong with it and what follows from the evidence. Exits 1 when blocked."""
    experiment = _load(plan_file, overrides)
    found, power = findings(experiment), decidability(experiment)
    record = derive.record(experiment, reported.load(evidence) if evidence is not None else None)
    if as_json:
        body = {
            "plan_sha256": document.fingerprint(experiment),
            "findings": found,
            "decidability": power,
            "record": record,
        }
        print(json.dumps(plain(body), ensure_ascii=False))
    else:
        _print(experiment, record, power)
        for finding in found:
            _line("blocks" if finding.blocks else "note", f"{finding.field}: {finding.text}")
        _line("verdict", f"{record['reported_verdict']} ({record['reported_outcome_reason']})")
        _line("hash", document.fingerprint(experiment))
    if any(finding.blocks for finding in found):
        raise SystemExit(1)


def locked(plan_file: Path, overrides: tuple[str, ...]) -> dict[str, Any]:
    """The frozen document of an experiment. Raises GateFailed while a finding blocks it."""
    experiment = _load(plan_file, overrides)
    blocking = [f for f in findings(experiment) if f.blocks]
    if blocking:
        first = blocking[0]
        raise GateFailed(
            f"{len(blocking)} findings block the launch, first: {first.field}: {first.text}",
            where=str(plan_file),
            hint=f"all of them: askfirst plan {plan_file}",
        )
    return {
        "version": 1,
        "askfirst": __version__,
        "plan_sha256": document.fingerprint(experiment),
        "overrides": list(overrides),
        "plan": experiment.model_dump(mode="json"),
    }


def _load(plan_file: Path, overrides: tuple[str, ...]) -> Experiment:
    body, frozen = planfile.opened(plan_file)
    experiment = document.validate(planfile.edit(body, overrides), str(plan_file))
    plans.require_frozen(document.fingerprint(experiment), frozen, str(plan_file))
    return experiment


def _line(verb: str, text: str) -> None:
    print(f"{verb:<9} {text}")


def _print(experiment: Experiment, record: dict[str, Any], power: Decidability | None) -> None:
    rule, arms = experiment.decision_rule, " vs ".join(arm.name for arm in experiment.arms)
    _line("plan", experiment.title)
    _line("", f"{arms}; {experiment.steps} steps × {experiment.batch_size} rollouts an arm")
    cost = experiment.budget
    _line("cost", f"at most {cost.gpu_hours:g} GPU hours and {cost.max_wall_minutes:g} wall minutes by the budget")
    target = UNITS[rule.unit].replace("_", " ")
    _line(
        "decide",
        f"{rule.method} at α {rule.alpha:g}, {experiment.eval.n_examples} items × {rule.trials} trials; about {target}",
    )
    if power is None:
        _line("power", "not known for this rule")
    else:
        margin = rule.criteria[0].margin
        _line("", f"half-width {power.half_width!r}, margin {margin:+g}")
        needs = "no outcome is enough" if power.needed is None else f"needed net wins {power.needed}"
        refutes = "no outcome is enough" if power.refuting is None else f"at most {power.refuting}"
        _line("", f"validated: {needs} of {power.pairs}; failed: {refutes}")
        for c in power.chances:
            rates = f"{c.win_rate:.0%} of items only the treatment passes, {c.loss_rate:.0%} only the baseline"
            _line("power", f"P(validated | {c.points:+.0f} points) = {c.chance:.4f} ({rates})")
        if power.chances:
            least = "none" if power.minimum_effect is None else f"{power.minimum_effect * 100:+.1f} points"
            _line("", f"least true difference with power 0.8: {least}")
    for words in power.mends if power is not None else ():
        _line("mend", words)
    _line("status", " · ".join(_status(name, record) for name in (*STATUSES, *OTHERS)))


def _status(name: str, record: dict[str, Any]) -> str:
    return f"{name.removesuffix('_validation').replace('_', ' ')} {record[name]['status']}"
