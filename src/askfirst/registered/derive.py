"""The record of a registered experiment: a pure function of its document and the evidence.

Missing evidence is unverified, unknown or uncertain, and the verdict then inconclusive; it is never a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askfirst.inference.rule import Evidence as Differences
from askfirst.inference.rule import Outcome, Rule, Status, Validity, apply, together
from askfirst.registered import features
from askfirst.registered.document import LOSS_CHECKS, UNITS, Criterion, Experiment, LossPath, Tolerance, fingerprint
from askfirst.registered.evidence import Evidence, Item, Measured, PathEvidence, Start
from askfirst.registered.findings import unresolved
from askfirst.stats._bounded import support
from askfirst.store import plain

SOURCE = "executor report; remote execution is not attested"
NO_DECISION = "Decision evidence was not recorded."
NO_PROVENANCE = "Missing initialization_provenance version 1."
NO_FEASIBILITY = "Measured feasibility not recorded"
OPTED_OUT = "spec.generation_audit opts out and no feature it covers is true"
COMPLETED = "completed"


def record(experiment: Experiment, evidence: Evidence | None = None) -> dict[str, Any]:
    """Every validation with its status and reasons, and the verdict that follows, as JSON types."""
    given = evidence or Evidence()
    parts = {
        "correctness_validation": correctness(experiment, given),
        "decision_validation": decision(experiment, given),
        "restoration_validation": restoration(experiment, given),
        "generation_audit_validation": generation_audit(experiment, given),
        "activation_validation": activation(experiment, given),
        "feasibility": feasibility(experiment, given),
    }
    verdict, reason = _verdict(experiment, given, parts)
    parts["correctness_validation"]["reported_verdict"] = verdict
    outcome = {"reported_verdict": verdict, "reported_outcome_reason": reason, "ended_reason": given.ended_reason}
    found: dict[str, Any] = plain(parts | outcome | {"feasibility_required": experiment.feasibility_required})
    return found


def correctness(experiment: Experiment, evidence: Evidence) -> dict[str, Any]:
    """Each loss path against its four tolerances; what is missing is listed by path."""
    does = features.derived(experiment)
    required = experiment.correctness_preflight.required or any(
        features.true_among(does, features.CORRECTNESS).values()
    )
    rows: list[dict[str, Any]] = []
    missing: list[str] = []
    for path in experiment.correctness_preflight.paths:
        given = evidence.correctness.get(path.id, PathEvidence())
        lacking = _lacking(path, given)
        missing += [f"{path.id}: {item}" for item in lacking]
        for check in LOSS_CHECKS:
            tolerance: Tolerance = getattr(path.tolerances, check)
            measured = given.measured.get(check)
            rows.append(
                {
                    "path": path.id,
                    "check": check,
                    "status": _within(measured, tolerance),
                    "tolerance": tolerance.model_dump(exclude_none=True),
                    "measured": None if measured is None else measured.model_dump(exclude_none=True),
                }
            )
    failed = [f"{row['path']}: {row['check']} outside its tolerance" for row in rows if row["status"] == "failed"]
    status = "failed" if failed else "unverified" if missing or not rows else "passed"
    return {
        "status": status if required else "not_applicable",
        "required": required,
        "checks": rows,
        "reason": "; ".join(failed + missing),
        "evidence_source": SOURCE,
        "applicability": "required" if required else "not_applicable",
    }


def _lacking(path: LossPath, given: PathEvidence) -> list[str]:
    complete = {
        "fixed input description/hash": bool(given.fixed_input),
        "matching reference_revision": _same_pin(path.reference_revision, given.reference_revision),
        "matching baseline_revision": _same_pin(path.baseline_revision, given.baseline_revision),
        "implementation_revision": bool(given.implementation_revision),
        "precision": bool(given.precision),
        "normalization": bool(given.normalization),
    } | {f"measured {check} errors": check in given.measured for check in LOSS_CHECKS}
    return [item for item, there in complete.items() if not there]


def _same_pin(planned: str, found: str) -> bool:
    return not unresolved(planned) and planned == found


def _within(measured: Measured | None, tolerance: Tolerance) -> str:
    if measured is None or (tolerance.min_cosine is not None and measured.cosine is None):
        return "unverified"
    close = measured.max_abs_error <= tolerance.atol + tolerance.rtol * measured.reference_scale
    aligned = tolerance.min_cosine is None or (measured.cosine or 0.0) >= tolerance.min_cosine
    return "passed" if close and aligned else "failed"


def decision(experiment: Experiment, evidence: Evidence) -> dict[str, Any]:
    """The frozen rule on the evidence item by item: uncertain while something is missing, else computed."""
    rule, does = experiment.decision_rule, features.derived(experiment)
    consulted = features.true_among(does, features.DECISION)
    reasons = [f"experiment_features: {name} is true" for name, true in consulted.items() if true]
    issues: list[str] = []
    outcomes: list[Outcome] = []
    if not evidence.decision:
        issues.append(NO_DECISION)
    else:
        for criterion in rule.criteria:
            try:
                outcomes.append(_criterion(experiment, criterion, evidence.decision.get(criterion.metric, ())))
            except ValueError as error:
                issues.append(f"{criterion.id}: {error}")
    status = Validity.UNCERTAIN if issues else Validity.COMPUTED
    return {
        "status": status,
        "issues": issues,
        "criteria": [{"id": c.id} | plain(o) for c, o in zip(rule.criteria, outcomes, strict=False)]
        if not issues
        else [],
        "outcome_reason": "insufficient_evidence" if issues else "rule_applied",
        "unit": rule.unit,
        "n_seeds": len(rule.seeds),
        "alpha": rule.alpha,
        "method": rule.method,
        "applicability": {
            "check": "decision_rule",
            "status": "required" if reasons else "not_applicable",
            "enforce": bool(reasons),
            "reasons": reasons,
            "features": consulted,
        },
    }


def _criterion(experiment: Experiment, criterion: Criterion, items: Sequence[Item]) -> Outcome:
    registered, found = experiment.decision_rule, len(items)
    if found != experiment.eval.n_examples:
        raise ValueError(f"{found} of {experiment.eval.n_examples} registered items of {criterion.metric}")
    trials = registered.trials
    for item in items:
        for role in criterion.weights:
            values: tuple[float, ...] = getattr(item, role)
            if len(values) != trials:
                raise ValueError(f"item {item.item} has {len(values)} {role} trials, {trials} are registered")
            if any(not criterion.bounds[0] <= v <= criterion.bounds[1] for v in values):
                raise ValueError(f"item {item.item} has a {role} value outside the bounds {criterion.bounds}")
    differences = sum(
        weight * np.array([getattr(item, role) for item in items], dtype=np.float64)
        for role, weight in criterion.weights.items()
    )
    rule = Rule(
        method=registered.method,
        alpha=registered.alpha,
        margin=criterion.margin,
        target=UNITS[registered.unit],
        within=support(criterion.weights, criterion.bounds),
        salt=fingerprint(experiment),
    )
    clusters = tuple(item.cluster for item in items) if rule.target == "new_clusters" else ()
    if rule.target == "new_clusters" and not all(clusters):
        raise ValueError("an item has no cluster")
    return apply(rule, Differences(tuple(item.item for item in items), np.asarray(differences), clusters))


def restoration(experiment: Experiment, evidence: Evidence) -> dict[str, Any]:
    """Whether the arms of a group started alike, and with the optimiser that was planned."""
    planned = experiment.restoration_preflight
    does = features.derived(experiment)
    required = planned.applicable or any(features.true_among(does, features.RESTORATION).values())
    provenance = evidence.initialization_provenance
    checks: list[dict[str, str]] = []
    if provenance is None:
        checks.append({"check": "format", "status": "unverified", "reason": NO_PROVENANCE})
    starts = provenance.arms if provenance is not None else ()
    for group in planned.groups:
        first: Start | None = None
        for arm in group.arms:
            own = [start for start in starts if start.name == arm.name]
            if len(own) != 1:
                reason = f"{arm.name}: missing or duplicate arm evidence."
                checks.append({"check": arm.name, "status": "unverified", "reason": reason})
                continue
            first = first or own[0]
            status, reason = _started(own[0], first)
            if status == "passed" and (own[0].optimizer, dict(own[0].optimizer_config)) != (
                arm.optimizer,
                arm.optimizer_config,
            ):
                status, reason = "failed", f"{arm.name}: another optimiser than planned."
            checks.append({"check": arm.name, "status": status, "reason": reason})
    bad = [c for c in checks if c["status"] != "passed"]
    status = "failed" if any(c["status"] == "failed" for c in bad) else "unverified" if bad or not checks else "passed"
    return {
        "status": status if required else "not_applicable",
        "required": required,
        "checks": checks,
        "reason": NO_PROVENANCE if provenance is None else " ".join(c["reason"] for c in bad),
        "applicability": "required" if required else "not_applicable",
    }


def _started(own: Start, first: Start) -> tuple[str, str]:
    by_hash = bool(own.adapter_sha256) and bool(first.adapter_sha256)
    by_checkpoint = bool(own.checkpoint) and own.load_acknowledged and first.load_acknowledged
    if not (by_hash or by_checkpoint) or not own.batch_sha256 or not own.logprobs:
        return "unverified", f"{own.name}: no identity of the start, or no logprobs on the fixed batch."
    same = own.adapter_sha256 == first.adapter_sha256 if by_hash else own.checkpoint == first.checkpoint
    if not same or own.batch_sha256 != first.batch_sha256 or own.logprobs != first.logprobs:
        return "failed", f"{own.name}: starts from another state than {first.name}."
    return "passed", ""


def generation_audit(experiment: Experiment, evidence: Evidence) -> dict[str, Any]:
    """The audit of generated data against its bounds; not applicable only when opted out and nothing is generated."""
    planned, does = experiment.generation_audit, features.derived(experiment)
    covered = features.true_among(does, features.GENERATION)
    consulted = {name: true for name, true in covered.items() if true or name == "generated_training_data"}
    reasons = [f"experiment_features: {name} is true" for name, true in covered.items() if true]
    reasons += ["spec.generation_audit requires it"] if planned.required else []
    enforce = bool(reasons)
    problems: list[str] = []
    audit = evidence.generation_audit
    if not enforce:
        status, problems = "not_applicable", [OPTED_OUT]
    elif audit is None or audit.sample_size < planned.min_sample_size:
        size = 0 if audit is None else audit.sample_size
        status, problems = "unverified", [f"{size} of {planned.min_sample_size} samples audited"]
    else:
        counts = {
            "label errors": (audit.label_errors, planned.max_label_errors),
            "eval overlaps": (audit.eval_overlaps, planned.max_eval_overlaps),
        }
        problems = [f"{n} {what}, at most {most}" for what, (n, most) in counts.items() if n > most]
        status = "failed" if problems else "passed"
    return {
        "status": status,
        "reasons": problems,
        "applicability": {
            "check": "generation_audit",
            "status": "required" if enforce else "not_applicable",
            "enforce": enforce,
            "reasons": reasons or [OPTED_OUT],
            "features": consulted,
        },
    }


def activation(experiment: Experiment, evidence: Evidence) -> dict[str, Any]:
    """The pilot's executed values against their bounds; a missing measurement is not a pass."""
    gate = experiment.activation_gate
    rows = []
    for check in gate.checks:
        value = evidence.activation.get(check.metric)
        if value is None:
            status = "unverified"
        elif check.one_of is not None:
            status = "passed" if value in check.one_of else "failed"
        elif isinstance(value, str):
            status = "failed"
        else:
            low, high = check.min, check.max
            status = "passed" if (low is None or value >= low) and (high is None or value <= high) else "failed"
        rows.append({"metric": check.metric, "status": status, "measured": value})
    statuses = {row["status"] for row in rows}
    status = "failed" if "failed" in statuses else "unverified" if "unverified" in statuses or not rows else "passed"
    return {"status": status if gate.applicable else "not_applicable", "checks": rows}


def feasibility(experiment: Experiment, evidence: Evidence) -> dict[str, Any]:
    """Measured wall time and GPU hours by phase against the budget; unknown until every phase was measured."""
    phases, budget = evidence.phases, experiment.budget
    wall = _total([p.wall_seconds for p in phases.values()])
    hours = _total([p.gpu_hours for p in phases.values()])
    problems = [] if phases else [NO_FEASIBILITY]
    problems += [f"{name}: not measured" for name, p in phases.items() if p.wall_seconds is None or p.gpu_hours is None]
    status = "unknown" if problems else "feasible"
    if wall is not None and wall > 60 * budget.max_wall_minutes:
        status, problems = "infeasible", [*problems, f"{wall / 60:g} wall minutes of {budget.max_wall_minutes:g}"]
    if hours is not None and hours > budget.gpu_hours:
        status, problems = "infeasible", [*problems, f"{hours:g} GPU hours of {budget.gpu_hours:g}"]
    measured = {name: phase.model_dump() for name, phase in phases.items()}
    return {
        "status": status,
        "problems": problems,
        "wall_seconds": wall,
        "gpu_hours": hours,
        "known_gpu_hours": sum(p.gpu_hours or 0 for p in phases.values()),
        "phases": measured,
        "record": measured or None,
    }


def _total(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if known and len(known) == len(values) else None


def _verdict(experiment: Experiment, evidence: Evidence, parts: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Validity first: whatever is required and not passed leaves the verdict inconclusive, with the reason."""
    if evidence.ended_reason not in ("", COMPLETED):
        return Status.INCONCLUSIVE, "incomplete_execution"
    gates = {name: part["status"] for name, part in parts.items() if name not in ("decision_validation", "feasibility")}
    broken = [name.removesuffix("_validation") for name, status in gates.items() if status == "failed"]
    if broken:
        return Status.INCONCLUSIVE, f"failed_{broken[0]}"
    measured = parts["feasibility"]["status"] != "unknown" or not experiment.feasibility_required
    open_ = "unverified" in gates.values() or not measured
    if open_ or parts["decision_validation"]["status"] != Validity.COMPUTED or not evidence.ended_reason:
        return Status.INCONCLUSIVE, "insufficient_evidence"
    decided = together([Status(c["status"]) for c in parts["decision_validation"]["criteria"]])
    return decided, parts["decision_validation"]["outcome_reason"]
