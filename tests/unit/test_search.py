"""Settings tried within declared ranges: on dev alone, recorded, the same when stopped and gone on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from askfirst import ledger
from askfirst import plan as plans
from askfirst.errors import InputError, Interrupted, PlanError
from askfirst.runfolder import RunFolder
from askfirst.store import content_hash, read_json
from askfirst.variants import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"
SMALL = (
    "train.steps=2", "train.scenarios_per_step=6", "train.group_size=2", "evaluation.every=2",
    "evaluation.dev_items=16", "arm=[{ name = 'anchored' }]", "selection={ min_informative_fraction = 0.0,"
    " max_false_ask = 1.0 }",
)  # fmt: skip
RANGES = (
    "search={ range = [{ key = 'train.lr', low = 0.001, high = 0.1, log = true }, "
    "{ key = 'train.group_size', low = 2, high = 4 }, { key = 'train.kl.estimator', choices = ['k2', 'k3'] }] }"
)


@pytest.fixture(scope="module")
def searches() -> ModuleType:
    pytest.importorskip("optuna", reason="needs the extra search")
    from askfirst import search

    return search


def job(folder: Path, *sets: str) -> Run:
    plan = plans.load(EXAMPLE, (*SMALL, RANGES, *sets))
    return Run(plan, RunFolder(folder), EXAMPLE.read_text(), (), (), lambda event: None, lambda: False)


@pytest.mark.thorough
def test_trials_are_runs_and_the_best_is_a_plan_to_freeze(tmp_path: Path, searches: ModuleType) -> None:
    own = job(tmp_path / "search")
    found = searches.search(own, 3)
    assert [trial.number for trial in found.trials] == [0, 1, 2]
    for trial in found.trials:
        run = RunFolder(tmp_path / "search" / trial.run)
        assert read_json(run.lock)["plan_sha256"] == trial.plan_sha256
        train = read_json(run.lock)["plan"]["train"]
        assert {"train.lr": train["lr"], "train.group_size": train["group_size"]}.items() <= dict(trial.set).items()
        assert trial.value == read_json(run.selected)["value"]
        # No secret was at hand, nothing was opened, no verdict given.
        assert not ledger.events(run, "sealed_opened")
        assert not run.verdict.is_file()
    assert len({trial.plan_sha256 for trial in found.trials}) == 3
    assert found.best is not None
    assert found.best.value == max(trial.value for trial in found.trials)
    assert searches.search(own, 2) == found  # there are enough already
    plan = plans.load(tmp_path / "search" / searches.CHOSEN)
    assert plan.train.lr == found.best.set["train.lr"]
    assert plan.search is not None
    assert plan.search.found is not None
    assert (plan.search.found.trials, plan.search.found.value) == (3, found.best.value)
    assert plan.search.found.record_sha256 == content_hash(found)
    assert read_json(tmp_path / "search" / searches.RECORD)["trials"][2]["set"] == dict(found.trials[2].set)
    with pytest.raises(InputError, match="the search of another plan"):
        searches.search(job(tmp_path / "search", "train.steps=3"), 3)


@pytest.mark.thorough
def test_a_search_that_was_stopped_ends_as_one_that_was_not(tmp_path: Path, searches: ModuleType) -> None:
    whole = searches.search(job(tmp_path / "whole"), 3)
    own, steps = job(tmp_path / "search"), list[str]()
    stopped = replace(
        own, listen=lambda event: steps.append(event.kind) if event.kind == "step" else None,
        stop=lambda: len(steps) == 3,
    )  # fmt: skip
    with pytest.raises(Interrupted):
        searches.search(stopped, 3)
    assert searches.search(own, 3) == whole


@pytest.mark.thorough
def test_a_trial_that_a_gate_stops_is_kept_and_has_no_value(tmp_path: Path, searches: ModuleType) -> None:
    own = job(tmp_path / "search", "gate=[{ metric = 'learning.lr', max = 1e-9, after_steps = 1 }]")
    found = searches.search(own, 1)
    assert (found.trials[0].outcome, found.trials[0].value) == ("nothing to select", None)
    assert "pilot stopped" in found.trials[0].reason
    assert found.best is None
    assert not (tmp_path / "search" / searches.CHOSEN).exists()


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ("[{ key = 'train.lr' }]", "choices, or low and high"),
        ("[{ key = 'train.lr', low = 1.0, high = 0.5 }]", "is below high"),
        ("[{ key = 'train.lr', low = 0.0, high = 0.5, log = true }]", "above 0 on a log scale"),
        ("[{ key = 'decision.alpha', low = 0.1, high = 0.5 }]", "search.range.0.key"),
        ("[{ key = 'train.lr', choices = [0.1] }, { key = 'train.lr', choices = [0.2] }]", "of the same key"),
        ("[]", "search.range"),
    ],
)
def test_a_range_that_is_none_is_refused(ranges: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plans.load(EXAMPLE, (f"search={{ range = {ranges} }}",))


def test_a_plan_without_ranges_is_not_searched(tmp_path: Path, searches: ModuleType) -> None:
    own = replace(job(tmp_path), plan=plans.load(EXAMPLE))
    with pytest.raises(PlanError, match="declares no range"):
        searches.search(own, 1)
