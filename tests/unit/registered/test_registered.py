"""Registered experiments: what is refused, what is found, and the record as a function of document and evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from askfirst.cli import planning
from askfirst.errors import GateFailed, InputError, PlanError
from askfirst.planfile import put
from askfirst.registered import derive, document, features
from askfirst.registered import evidence as reported
from askfirst.registered.findings import findings
from askfirst.registered.power import decidability

Json = dict[str, Any]
RULE = "decision_rule."


def changed(document_: Json, dotted: str, value: Any) -> Json:
    """A copy with one value changed; numbers in the path are places in lists."""
    copy: Any = json.loads(json.dumps(document_))
    *parents, last = dotted.split(".")
    at = copy
    for name in parents:
        at = at[int(name)] if isinstance(at, list) else at[name]
    at[int(last) if isinstance(at, list) else last] = value
    return copy


def record(spec: Json, evidence: Json) -> Json:
    return derive.record(document.validate(spec, "x"), reported.validate(evidence, "y"))


def test_a_sound_experiment_has_one_note_and_is_decidable(spec: Json) -> None:
    experiment = document.validate(spec, "x")
    assert [(f.field, f.blocks) for f in findings(experiment)] == [("decision_rule.seeds", False)]
    power = decidability(experiment)
    assert power is not None
    assert power.pairs == 320
    assert power.chances[0].chance > 0.8
    assert power.mends == ()


def test_full_evidence_is_validated(spec: Json, evidence: Json) -> None:
    found = record(spec, evidence)
    assert (found["reported_verdict"], found["reported_outcome_reason"]) == ("validated", "rule_applied")
    for part in ("correctness", "restoration", "activation"):
        assert found[f"{part}_validation"]["status"] == "passed"
    assert found["feasibility"]["status"] == "feasible"
    assert found["feasibility"]["known_gpu_hours"] == pytest.approx(0.4)
    decision = found["decision_validation"]
    assert decision["status"] == "computed"
    assert decision["criteria"][0]["estimate"] == pytest.approx(0.25)
    assert decision["criteria"][0]["trials"] == 8
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(("margin", "verdict"), [(0.9, "failed"), (0.2, "inconclusive")])
def test_the_same_evidence_under_other_margins(spec: Json, evidence: Json, margin: float, verdict: str) -> None:
    found = record(changed(spec, RULE + "criteria.0.margin", margin), evidence)
    assert (found["reported_verdict"], found["reported_outcome_reason"]) == (verdict, "rule_applied")


def test_no_evidence_is_never_a_failure(spec: Json) -> None:
    found = record(spec, {})
    statuses = {name: part["status"] for name, part in found.items() if isinstance(part, dict)}
    assert statuses == {
        "correctness_validation": "unverified",
        "decision_validation": "uncertain",
        "restoration_validation": "unverified",
        "generation_audit_validation": "not_applicable",
        "activation_validation": "unverified",
        "feasibility": "unknown",
    }
    assert (found["reported_verdict"], found["reported_outcome_reason"]) == ("inconclusive", "insufficient_evidence")


MISSING = [
    ("ended_reason", "", None),
    ("ended_reason", "out of memory", None),
    ("correctness.soft_clip.fixed_input", "", "correctness_validation"),
    ("correctness.soft_clip.reference_revision", "aaa111", "correctness_validation"),
    ("correctness.soft_clip.measured", {}, "correctness_validation"),
    ("initialization_provenance", None, "restoration_validation"),
    ("initialization_provenance.arms.1.name", "hard", "restoration_validation"),
    ("initialization_provenance.arms.1.logprobs", [], "restoration_validation"),
    ("activation", {"clipped": 0.4}, "activation_validation"),
    ("decision", {}, "decision_validation"),
    ("decision.cups_pass1", [], "decision_validation"),
    ("decision.cups_pass1.3.treatment", [1.0], "decision_validation"),
    ("decision.cups_pass1.3.treatment", [2.0] + [0.0] * 7, "decision_validation"),
    ("decision.cups_pass1.3.item", "cup-4", "decision_validation"),
    ("phases", {}, "feasibility"),
    ("phases.train.gpu_hours", None, "feasibility"),
]


@pytest.mark.parametrize(("path", "value", "part"), MISSING)
def test_whatever_is_missing_leaves_it_inconclusive(
    spec: Json, evidence: Json, path: str, value: Any, part: str | None
) -> None:
    found = record(spec, changed(evidence, path, value))
    wanted = "incomplete_execution" if value == "out of memory" else "insufficient_evidence"
    assert (found["reported_verdict"], found["reported_outcome_reason"]) == ("inconclusive", wanted)
    if part is not None:
        assert found[part]["status"] in ("unverified", "uncertain", "unknown")
        assert (
            found[part].get("reason")
            or found[part].get("issues")
            or found[part].get("problems")
            or "checks" in found[part]
        )


FAILING = [
    ("correctness.soft_clip.measured.reference_loss.max_abs_error", 0.1, "correctness"),
    ("correctness.soft_clip.measured.baseline_gradient.cosine", 0.5, "correctness"),
    ("initialization_provenance.arms.1.adapter_sha256", "other", "restoration"),
    ("initialization_provenance.arms.1.logprobs", [-1.5, -0.2], "restoration"),
    ("initialization_provenance.arms.1.optimizer_config.seed", 4, "restoration"),
    ("activation.executed_loss", "hard_clip", "activation"),
    ("activation.clipped", 0.95, "activation"),
]


@pytest.mark.parametrize(("path", "value", "part"), FAILING)
def test_a_failed_check_forbids_a_verdict(spec: Json, evidence: Json, path: str, value: Any, part: str) -> None:
    found = record(spec, changed(evidence, path, value))
    assert found[f"{part}_validation"]["status"] == "failed"
    assert (found["reported_verdict"], found["reported_outcome_reason"]) == ("inconclusive", f"failed_{part}")


def test_a_start_from_a_shared_checkpoint_needs_its_acknowledged_load(spec: Json, evidence: Json) -> None:
    for arm in evidence["initialization_provenance"]["arms"]:
        arm |= {"adapter_sha256": "", "checkpoint": "init-1", "load_acknowledged": True}
    assert record(spec, evidence)["restoration_validation"]["status"] == "passed"
    evidence["initialization_provenance"]["arms"][1]["load_acknowledged"] = False
    assert record(spec, evidence)["restoration_validation"]["status"] == "unverified"


def test_generated_data_is_audited(spec: Json, evidence: Json) -> None:
    spec = changed(spec, "experiment_features.generated_training_data", True)
    assert record(spec, evidence)["generation_audit_validation"]["status"] == "unverified"
    audits = {"passed": (100, 0, 0), "failed": (100, 1, 0), "unverified": (99, 0, 0)}
    for status, numbers in audits.items():
        audit = dict(zip(("sample_size", "label_errors", "eval_overlaps"), numbers, strict=True))
        assert record(spec, evidence | {"generation_audit": audit})["generation_audit_validation"]["status"] == status


def test_over_budget_is_infeasible(spec: Json, evidence: Json) -> None:
    for path, value in (("phases.train.gpu_hours", 3.0), ("phases.eval.wall_seconds", 9000)):
        assert record(spec, changed(evidence, path, value))["feasibility"]["status"] == "infeasible"


def test_new_clusters_are_the_units_where_they_are_registered(spec: Json, evidence: Json) -> None:
    for path, value in (("unit", "new_clusters"), ("clusters", [2] * 20)):
        spec = (
            changed(spec, RULE + path, value)
            if path == "unit"
            else spec | {"decision_rule": spec["decision_rule"] | {path: value}}
        )
    power = decidability(document.validate(spec, "x"))
    assert power is not None
    assert power.half_width == pytest.approx(0.4294694 * 2**0.5, abs=1e-6)
    assert power.chances == ()
    assert record(spec, evidence)["decision_validation"]["issues"] == ["primary: an item has no cluster"]
    for at, item in enumerate(evidence["decision"]["cups_pass1"]):
        item["cluster"] = f"user-{at // 2}"
    assert record(spec, evidence)["decision_validation"]["criteria"][0]["target"] == "new_clusters"


FOUND = [
    (
        "correctness_preflight.paths.0.baseline_revision",
        "UNRESOLVED: pin it",
        "correctness_preflight.paths.0.baseline_revision",
    ),
    ("correctness_preflight.paths.0.reference_revision", " ", "correctness_preflight.paths.0.reference_revision"),
    ("base_model", "UNRESOLVED: which size", "base_model"),
    ("experiment_features.custom_loss", False, "experiment_features.custom_loss"),
    ("experiment_features.heldout_loss", True, "experiment_features.heldout_loss"),
    ("arms.1.lr", 2e-4, "arms"),
    ("arms.1.advantage", "group mean", "arms"),
    ("restoration_preflight.groups.0.arms.1.name", "other", "restoration_preflight.other"),
    ("restoration_preflight.groups.0.arms.0.optimizer_config.seed", 4, "restoration_preflight.hard.seed"),
    ("decision_rule.trials", 1, "decision_rule"),
    ("eval.benchmark", "tau-bench retail test", None),
]


@pytest.mark.parametrize(("path", "value", "field"), FOUND)
def test_findings_that_block(spec: Json, path: str, value: Any, field: str | None) -> None:
    found = [f.field for f in findings(document.validate(changed(spec, path, value), "x")) if f.blocks]
    assert (field in found) if field else not found


def test_more_items_than_a_split_has_are_found(spec: Json) -> None:
    spec["eval"] |= {"benchmark": "cups", "n_examples": 41}
    found = findings(document.validate(spec, "x"), {"cups": {"train": 400, "test": 40}})
    assert "eval.n_examples" in [f.field for f in found if f.blocks]


REFUSED = [
    ("decision_rule.method", "guesswork", "no decision method"),
    ("decision_rule.method", "betting", "cannot speak of fixed_items"),
    ("decision_rule.unit", "new_seeds", "cannot speak of new_seeds"),
    ("decision_rule.unit", "people", "unit must be one of"),
    ("decision_rule.criteria.0.weights", {"other": 1}, "weights are of"),
    ("decision_rule.criteria.0.bounds", [1, 0], "no range"),
    ("decision_rule.criteria.0.metric", "cups_pass2", "primary_endpoint"),
    ("arms.1.name", "hard", "two arms have the same name"),
    ("budget.gpu_hour", 1, "budget.gpu_hour: unknown field"),
    ("steps", 0, "steps"),
]


@pytest.mark.parametrize(("path", "value", "words"), REFUSED)
def test_what_cannot_be_meant_is_refused(spec: Json, path: str, value: Any, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        document.validate(changed(spec, path, value), "spec.json")


def test_features_come_from_the_document(spec: Json) -> None:
    experiment = document.validate(spec, "x")
    assert features.derived(experiment) == experiment.experiment_features
    alone = changed(changed(spec, "correctness_preflight.paths", []), RULE + "criteria.0.weights", {"treatment": 1})
    found = features.derived(document.validate(alone, "x"))
    assert not found.custom_loss
    assert not found.paired_comparison


def test_bad_evidence_names_file_and_field(spec: Json, tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps({"phases": {"train": {"wall_seconds": -1}}}))
    with pytest.raises(InputError, match=r"evidence.json: phases.train.wall_seconds"):
        reported.load(path)
    measured = {"max_abs_error": 0, "reference_scale": 1}
    with pytest.raises(InputError, match="is none of"):
        reported.validate({"correctness": {"a": {"measured": {"loss": measured}}}}, "x")


def test_the_command_judges_and_freezes(
    spec: Json, evidence: Json, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, given = tmp_path / "cups.json", tmp_path / "evidence.json"
    plan.write_text(json.dumps(spec))
    given.write_text(json.dumps(evidence))
    planning.describe(plan, (), None, given, as_json=False)
    said = capsys.readouterr().out
    assert "validated (rule_applied)" in said
    planning.describe(plan, (), None, None, as_json=True)
    body = json.loads(capsys.readouterr().out)
    assert body["record"]["reported_verdict"] == "inconclusive"
    assert body["decidability"]["pairs"] == 320
    planning.freeze(plan, (), None)
    frozen = json.loads((tmp_path / "cups.lock.json").read_text())
    assert frozen["plan_sha256"] == body["plan_sha256"]
    planning.diff(plan, tmp_path / "cups.lock.json", as_json=False)
    frozen["plan"]["steps"] = 11
    (tmp_path / "edited.json").write_text(json.dumps(frozen))
    with pytest.raises(PlanError, match="was frozen and is not the same"):
        planning.describe(tmp_path / "edited.json", (), None, None, as_json=False)
    put(spec, "base_model", "UNRESOLVED: later")
    plan.write_text(json.dumps(spec))
    with pytest.raises(GateFailed, match="block the launch"):
        planning.freeze(plan, (), tmp_path / "other.json")
    with pytest.raises(InputError, match="lengths in numbers"):
        planning.describe(plan, (), given, None, as_json=False)
