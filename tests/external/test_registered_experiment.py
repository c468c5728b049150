"""The published experiment and its published record, read as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from askfirst.registered import derive, document
from askfirst.registered.evidence import Evidence
from askfirst.registered.findings import SIZES, findings
from askfirst.registered.power import decidability

DATA = Path(__file__).parents[3] / "shared" / "data"
PLAN = DATA / "specs" / "sdpo-vs-grpo-tau-retail.json"
RECORD = DATA / "specs" / "sdpo-vs-grpo-tau-retail.record.json"
pytestmark = pytest.mark.skipif(not PLAN.is_file(), reason="the published plan in ../shared/data/specs is not here")
# What the platform alone knows: its own bookkeeping and clock.
PLATFORM = {"launch", "started_at", "slack_started"}


def experiment() -> document.Experiment:
    return document.validate(json.loads(PLAN.read_text("utf-8")), str(PLAN))


def published() -> dict[str, Any]:
    record = json.loads(RECORD.read_text("utf-8"))
    del record["feasibility"]["recorded_at"]
    return {key: value for key, value in record.items() if key not in PLATFORM}


def test_the_published_record_is_reproduced_from_no_evidence() -> None:
    found = derive.record(experiment(), Evidence(ended_reason="message failed"))
    wanted = published()
    assert len(wanted) == 9
    assert {key: found[key] for key in wanted} == wanted


def test_without_a_word_of_how_it_ended_only_that_is_unknown() -> None:
    found = derive.record(experiment())
    wanted = published() | {"reported_outcome_reason": "insufficient_evidence", "ended_reason": ""}
    assert {key: found[key] for key in wanted} == wanted


def test_findings() -> None:
    found = {finding.field: finding for finding in findings(experiment())}
    assert set(found) == {
        "correctness_preflight.paths.0.baseline_revision",
        "correctness_preflight.paths.0.reference_revision",
        "dataset.n_examples",
        "decision_rule",
        "decision_rule.seeds",
    }
    blocking = {field for field, finding in found.items() if finding.blocks}
    assert blocking == set(found) - {"dataset.n_examples", "decision_rule.seeds"}
    assert "160 is not the size of the train split, 500" in found["dataset.n_examples"].text
    assert "20 steps × 8 tasks × 4 rollouts" in found["dataset.n_examples"].text


def test_the_registered_rule_is_nearly_undecidable() -> None:
    found = decidability(experiment())
    assert found is not None
    assert (found.half_width, found.needed, found.refuting) == (0.2532872387013172, 33, -26)
    assert [round(c.chance, 7) for c in found.chances] == [0.0064145, 0.2879394, 0.8651706]
    assert any(words.startswith("7 trials on each of the 115 items") for words in found.mends)
    assert "about 711 items with one trial each" in found.mends


def test_the_known_sizes_are_those_of_the_data() -> None:
    folder = DATA / "tau-bench-retail"
    if not folder.is_dir():
        pytest.skip("the benchmark folder ../shared/data/tau-bench-retail is not here")
    for split, size in SIZES["tau-bench retail"].items():
        lines = (folder / f"tasks_{split}.jsonl").read_text("utf-8").splitlines()
        assert len([line for line in lines if line.strip()]) == size


def test_the_command_prints_what_is_wrong() -> None:
    command = [sys.executable, "-m", "askfirst", "plan", str(PLAN)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    for words in ("0.2532872387013172", "needed net wins 33", "P(validated | +15 points) = 0.0064", "UNRESOLVED"):
        assert words in done.stdout
    assert "inconclusive" in done.stdout
