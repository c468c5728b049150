"""A gate on the pilot fails: the evidence is kept, and the one change that the plan allowed is made, once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from askfirst import calibration, ledger, matrix
from askfirst import plan as plans
from askfirst.errors import GateFailed, Interrupted, PlanError
from askfirst.runfolder import RunFolder
from askfirst.store import read_json, read_lines
from askfirst.variants import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"
SMALL = (
    "train.steps=4", "train.scenarios_per_step=6", "train.group_size=2", "evaluation.every=4",
    "evaluation.dev_items=16", "evaluation.sealed_items=16", "matrix.seeds=[0]", "decision.effect=0.75",
)  # fmt: skip
CALIBRATION = "calibration={ key = 'train.lr', factor = 0.5, min = 0.001, max = 1.0 }"


def gate(bound: str) -> str:
    return "gate=[{ metric = 'learning.lr', " + bound + ", after_steps = 2 }]"


def job(folder: Path, *sets: str) -> Run:
    plan, secrets = plans.load(EXAMPLE, (*SMALL, *sets)), (EXAMPLE.with_suffix(".seed"),)
    return Run(plan, RunFolder(folder), EXAMPLE.read_text(), (), secrets, lambda event: None, lambda: False)


RATE = plans.load(EXAMPLE, SMALL).train.lr


@pytest.mark.thorough
def test_a_failed_pilot_is_calibrated_once_and_the_run_goes_on(tmp_path: Path) -> None:
    own = job(tmp_path / "run", gate(f"max = {0.75 * RATE}"), CALIBRATION)
    matrix.run(own)
    run = own.folder
    (entry,) = ledger.events(run, "deviation")
    changes = {change["what"]: (change["before"], change["after"]) for change in entry["changes"]}
    assert changes == {"plan.train.lr": (RATE, RATE / 2)}
    assert "pilot stopped: learning.lr" in entry["why"]
    assert read_json(run.lock)["plan"]["train"]["lr"] == RATE / 2
    kept = sorted((tmp_path / "run" / "pilot").rglob("metrics.jsonl"))
    assert len(kept) == 1
    assert len(list(read_lines(kept[0]))) == 2
    for folder in run.having("run.json"):
        assert read_json(folder.config)["plan"]["train"]["lr"] == RATE / 2
        assert {line["learning"]["lr"] for line in read_lines(folder.metrics)} == {RATE / 2}
    assert len(run.having("run.json")) == 2
    assert ledger.verify(run).intact
    again = replace(own, listen=lambda event: pytest.fail(f"{event.kind} again") if event.kind == "step" else None)
    assert matrix.run(again) == matrix.run(again)


def test_a_second_failure_stops_for_good(tmp_path: Path) -> None:
    own = job(tmp_path / "run", gate(f"max = {0.1 * RATE}"), CALIBRATION)
    for _ in range(2):
        with pytest.raises(GateFailed, match="pilot stopped"):
            matrix.run(own)
        assert len(ledger.events(own.folder, "deviation")) == 1
    assert not own.folder.having("run.json")
    assert [len(list(read_lines(folder.metrics))) for folder in own.folder.having("metrics.jsonl")] == [2]


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["before the move", "in the pilot that follows"])
def test_killed_anywhere_it_ends_the_same(tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = (gate(f"max = {0.75 * RATE}"), CALIBRATION)
    whole = job(tmp_path / "whole", *sets)
    expected = matrix.run(whole)
    own = job(tmp_path / "run", *sets)
    if when == "before the move":
        move = calibration.set_aside
        monkeypatch.setattr(
            calibration, "set_aside", lambda each: None if not calibration.entered(each.folder) else 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            matrix.run(own)
        monkeypatch.setattr(calibration, "set_aside", move)
    else:
        steps: list[str] = []
        stopped = replace(
            own, listen=lambda event: steps.append(event.kind) if event.kind == "step" else None,
            stop=lambda: len(steps) == 3,
        )  # fmt: skip
        with pytest.raises(Interrupted):
            matrix.run(stopped)
    assert matrix.run(own) == expected
    assert len(ledger.events(own.folder, "deviation")) == 1
    names = [
        sorted(p.relative_to(r).as_posix() for p in r.rglob("*") if p.is_file())
        for r in (tmp_path / "whole", tmp_path / "run")
    ]
    assert names[0] == names[1]


@pytest.mark.thorough
def test_every_value_must_be_one_of_those_that_are_named(tmp_path: Path) -> None:
    own = job(tmp_path / "run", gate(f"one_of = [{RATE / 3}, 7.0]"))
    with pytest.raises(GateFailed, match="the plan asks one of"):
        matrix.run(own)
    shutil.rmtree(tmp_path / "run")
    matrix.run(job(tmp_path / "run", gate(f"one_of = [{RATE}]")))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("{ key = 'train.lr', factor = 0.5, to = 0.1, min = 0.0, max = 1.0 }", "a factor, or a value"),
        ("{ key = 'train.lr', factor = 900.0, min = 0.01, max = 1.0 }", "within 0.01 and 1.0"),
        ("{ key = 'train.lr', factor = 1.0, min = 0.01, max = 1.0 }", "another value"),
        ("{ key = 'train.loss', factor = 0.5, min = 0.0, max = 1.0 }", "no number of the plan"),
        ("{ key = 'reward.name', factor = 0.5, min = 0.0, max = 1.0 }", "calibration.key"),
        ("{ key = 'train.kl.beta', to = 0.5, min = 0.0, max = 1.0 }", "set by"),
    ],
)
def test_a_calibration_that_is_none_is_refused(edit: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plans.load(EXAMPLE, (gate("max = 1.0"), f"calibration={edit}"))


def test_a_calibration_needs_a_gate() -> None:
    with pytest.raises(PlanError, match="whose failure could ask"):
        plans.load(EXAMPLE, (CALIBRATION, "gate=[]"))
