"""Selection: dev records only, an informative threshold, and no tie left to chance."""

from __future__ import annotations

import ast
import contextlib
import copy
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import pytest

from askfirst import matrix, selection, variants
from askfirst import plan as plans
from askfirst.criteria import SelectionSection
from askfirst.errors import NothingSelected, SplitError
from askfirst.metrics import DevMetrics
from askfirst.runfolder import RunFolder
from askfirst.selection import POLICY, Candidate, select
from askfirst.store import read_json, write_json, write_lines
from askfirst.values import EvalRecord, ItemOutcome

RULE = SelectionSection()
EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"


def candidate(step: int, value: float, **changes: float) -> Candidate:
    dev = DevMetrics({"ambiguous_pass": value, "false_ask": changes.get("false_ask", 0.0)})
    return Candidate("main", int(changes.get("seed", 0)), step, f"s{step}", "f", changes.get("informative", 0.5), dev)


def test_the_best_eligible_checkpoint_wins() -> None:
    chosen = select([candidate(10, 0.5), candidate(20, 0.8), candidate(30, 0.7)], RULE, ["main"])
    assert (chosen.step, chosen.value, chosen.policy) == (20, 0.8, POLICY)


def test_a_checkpoint_without_signal_is_passed_over() -> None:
    chosen = select([candidate(10, 0.5), candidate(20, 1.0, informative=0.0)], RULE, ["main"])
    assert (chosen.step, chosen.candidates, chosen.eligible) == (10, 2, 1)


def test_a_checkpoint_that_asks_about_everything_is_passed_over() -> None:
    assert select([candidate(10, 0.5), candidate(20, 1.0, false_ask=0.9)], RULE, ["main"]).step == 10


def test_ties_go_to_the_earlier_step_then_the_lower_seed() -> None:
    tied = [candidate(20, 0.8), candidate(10, 0.8, seed=2), candidate(10, 0.8, seed=1)]
    chosen = select(tied, RULE, ["main"])
    assert (chosen.step, chosen.seed) == (10, 1)


def test_no_eligible_checkpoint_is_an_honest_no() -> None:
    with pytest.raises(NothingSelected, match="asks on 90% of clear requests"):
        select([candidate(10, 1.0, false_ask=0.9)], RULE, ["main"])
    with pytest.raises(NothingSelected, match="no checkpoint"):
        select([candidate(10, 1.0)], RULE, ["other"])


def run_folder(root: Path) -> variants.Run:
    """Two variants with a checkpoint each, and sealed records that say the opposite of dev."""
    plan = plans.load(EXAMPLE)
    job = variants.Run(plan, RunFolder(root), "", (), (), lambda event: None, lambda: False)
    for arm, share in (("anchored", 0.7), ("free", 0.9)):
        dev = {"ambiguous_pass": share, "false_ask": 0.0, "clear_pass": 0.5}
        entry = {"step": 10, "checkpoint": "checkpoints/step-00010", "fingerprint": arm, "informative_fraction": 0.5}
        write_json(job.folder.variant(arm, 0).manifest, {"version": 1, "entries": [{**entry, "dev": dev}]})
    for path in (job.folder.base_evaluation("sealed"), job.folder.selected_evaluation("sealed")):
        write_json(path, {"version": 1, "split": "sealed"})
    write_lines(job.folder.selected_predictions(), [{"version": 1}])
    return job


@contextlib.contextmanager
def opened(root: Path) -> Iterator[list[str]]:
    """The files under a folder that are opened within this context, by whatever means."""
    found: list[str] = []
    watching = [True]

    def hook(event: str, arguments: tuple[object, ...]) -> None:  # cannot be taken away again
        if watching and event == "open" and str(arguments[0]).startswith(str(root)):
            found.append(Path(str(arguments[0])).relative_to(root).as_posix())

    sys.addaudithook(hook)
    try:
        yield found
    finally:
        watching.clear()


def test_no_sealed_record_is_opened_by_selection(tmp_path: Path) -> None:
    job = run_folder(tmp_path)
    with opened(tmp_path) as files:
        chosen = matrix.choose(job)
    assert chosen.arm == "anchored"
    assert {name for name in files if name.endswith("manifest.json")} == {
        "anchored/seed-0/checkpoint_manifest.json",
        "free/seed-0/checkpoint_manifest.json",
    }
    assert [name for name in files if "sealed" in name or name.startswith(("base/", "selected/"))] == []
    with opened(tmp_path) as files:  # it would have been seen
        read_json(job.folder.selected_evaluation("sealed"))
    assert files == ["selected/sealed.json"]


def test_selection_takes_nothing_but_dev_metrics() -> None:
    item = ItemOutcome("i", "f", "ambiguous", True, True, True, 1.0, (), "r")
    for split in ("dev", "smoke"):
        assert DevMetrics.of(EvalRecord(1, "m", "c", split, 1, "r@1", (item,)))["ambiguous_pass"] == 1.0
    for split in ("sealed", "train", "suite"):
        with pytest.raises(SplitError, match=f"not those of split '{split}'"):
            DevMetrics.of(EvalRecord(1, "m", "c", split, 1, "r@1", (item,)))
    assert get_type_hints(Candidate)["dev"] is DevMetrics
    half = replace(item, scenario_id="j", total=0.25, passed=False)
    again = replace(half, trial=1, total=0.0)
    found = DevMetrics.of(EvalRecord(1, "m", "c", "dev", 1, "r@1", (item, half, again)))
    assert found["mean_score"] == 0.625  # further trials of an item count nowhere in selection
    metrics = DevMetrics({"a": 1.0})
    assert type(copy.copy(metrics)) is DevMetrics


def test_the_module_that_selects_has_no_way_to_a_file() -> None:
    source = Path(selection.__file__).read_text("utf-8")
    imports = {n.module for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ImportFrom)}
    assert imports == {
        "__future__", "collections.abc", "dataclasses",
        "askfirst.errors", "askfirst.metrics", "askfirst.runfolder", "askfirst.criteria",
    }  # fmt: skip
    assert not [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import) or getattr(n, "id", "") == "open"]


def test_where_several_arms_may_be_selected_the_first_wins_a_tie() -> None:
    one, other = candidate(10, 0.8), replace(candidate(10, 0.8), arm="second")
    assert select([other, one], RULE, ["main", "second"]).arm == "main"
    assert select([other, one], RULE, ["second"]).candidates == 1
