"""Measures of an environment's own: ratios of sums over all and over groups, and nothing where nothing was counted."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from askfirst import plugins
from askfirst.errors import EnvironmentFault
from askfirst.measures import measured, measures, of_group
from askfirst.report.measuring import tables
from askfirst.runfolder import RunFolder
from askfirst.stats import ratios
from askfirst.store import read_as, write_json
from askfirst.values import EvalRecord, FrozenMap, ItemOutcome, Measure, Tally


def tally(cluster: str, kind: str, **counts: tuple[float, float]) -> Tally:
    return Tally(cluster, (f"kind={kind}",), FrozenMap({name: (pair,) for name, pair in counts.items()}))


TALLIES = (
    tally("a", "red", hit=(1, 2), size=(7, 1)),
    tally("a", "blue", hit=(1, 1), size=(3, 1)),
    tally("b", "red", hit=(0, 4), size=(5, 1), rare=(0, 0)),
)
MEANS = frozenset({"size"})


def test_ratios_of_sums_by_group() -> None:
    found = measured(TALLIES, MEANS)
    whole, red, blue = (of_group(found, group) for group in ("", "kind=red", "kind=blue"))
    assert (whole["hit"].value, whole["hit"].items, whole["hit"].clusters) == (2 / 7, 3, 2)
    assert (red["hit"].value, red["hit"].items, red["hit"].clusters) == (1 / 6, 2, 2)
    assert whole["size"].value == 5.0
    assert blue["size"] == Measure("size", "kind=blue", 3.0, None, None, 1, 1)
    y, x = np.array([[2.0], [0.0]]), np.array([[3.0], [4.0]])
    bounds = ratios.interval(y, x, 3)
    assert (whole["hit"].lower, whole["hit"].upper) == (bounds.lower, bounds.upper)


def test_what_was_not_counted_is_absent() -> None:
    assert "rare" not in of_group(measured(TALLIES, MEANS))
    assert measured(()) == ()
    half = Tally("a", (), FrozenMap({"macro": ((1, 2), (0, 0))}))  # one of two ratios has nothing to divide by
    assert measured([half]) == ()


def test_alike_clusters_give_a_mean_no_bounds() -> None:
    found = measured([tally("a", "x", size=(2, 1)), tally("b", "x", size=(4, 2))], MEANS)
    assert (found[0].value, found[0].lower, found[0].upper) == (2.0, None, None)


def test_spread_between_clusters() -> None:
    found = of_group(measured(TALLIES, MEANS, frozenset({"hit", "size"})))
    assert found["hit_spread"].value == pytest.approx(np.std([2 / 3, 0.0], ddof=1))
    assert "size_spread" not in of_group(measured(TALLIES[:2], MEANS, frozenset({"size"})))


@pytest.mark.parametrize("pair", [(1.0, -1.0), (float("nan"), 1.0), (1.0, float("inf"))])
def test_an_impossible_count_is_the_environments_fault(pair: tuple[float, float]) -> None:
    with pytest.raises(EnvironmentFault, match="measure 'hit' of cluster 'a'"):
        measured([tally("a", "x", hit=pair)])


def test_a_share_above_one_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        measured([tally("a", "x", hit=(3, 1)), tally("b", "x", hit=(1, 1))])


def test_an_environment_without_measures_has_none() -> None:
    assert measures(plugins.load("envs", "judgment"), ()) == ()


def test_the_report_has_evaluations_side_by_side_and_by_part(tmp_path: Path) -> None:
    item = ItemOutcome("s", "f", "clear", True, False, True, 1.0, (), "ok", facts=FrozenMap({"texts": ("a",)}))
    record = EvalRecord(1, "m", "c", "dev", 0, "r@1", (item,), measures=measured(TALLIES, MEANS))
    run = RunFolder(tmp_path)
    write_json(run.base_evaluation("dev"), record)
    write_json(tmp_path / "main" / "seed-1" / "evals" / "dev-00020.json", EvalRecord(1, "m", "c", "dev", 0, "r", ()))
    write_json(tmp_path / "main" / "seed-1" / "evals" / "dev-00040.json", record)
    assert read_as(EvalRecord, run.base_evaluation("dev")).measures == record.measures
    whole, base, variant = tables(run, ["main/seed-1"])
    assert whole["columns"] == ["before training, dev", "main/seed-1 step 40, dev"]
    size = next(row for row in whole["rows"] if row["name"] == "size")
    assert size["cells"] == ["5.00", "5.00"]
    assert base["columns"] == ["kind: blue", "kind: red"]
    assert variant["title"] == "main/seed-1 step 40, dev, by part"
    hits = next(row for row in base["rows"] if row["name"] == "hit")
    assert hits["cells"][0] == "1.00"
    assert hits["cells"][1].startswith("0.17 [0.0")
    assert tables(RunFolder(tmp_path / "none"), []) == []


def test_a_third_party_names_what_is_a_mean() -> None:
    env = SimpleNamespace(tallies=lambda items: TALLIES, MEANS=("size",), SPREADS=())
    module = ModuleType("theirs")
    module.__dict__.update(vars(env))
    assert of_group(measures(module, ()))["size"].value == 5.0
