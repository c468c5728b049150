"""The sealed split has one door, and every opening is in the ledger before an item is seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from askfirst import evaluate as ev
from askfirst import plan as plans
from askfirst import planfile, plugins
from askfirst.backends.tabular import Tabular
from askfirst.canary import canary
from askfirst.errors import SplitError
from askfirst.policy import Sampling
from askfirst.rollout import Scorer, Stage
from askfirst.runfolder import RunFolder
from askfirst.store import read_lines, write_json, write_lines
from askfirst.values import EvalRecord, FrozenMap, Scenario

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart.toml"
SECRET = EXAMPLE.with_suffix(".seed").read_text().strip()
PLAN = plans.load(EXAMPLE)


def env(seen: list[str]) -> SimpleNamespace:
    def scenarios(split: str, n: int, seed: int, strata: object) -> list[Scenario]:
        seen.append(split)
        return [Scenario(split, "f", "s", split, True, (), FrozenMap(), values=("v",))] * n

    return SimpleNamespace(scenarios=scenarios, EVALUATION_MIX={"clear_twin": 1.0})


def test_the_door_is_shut_before_selection(tmp_path: Path) -> None:
    seen: list[str] = []
    with pytest.raises(SplitError, match="after a checkpoint is selected"):
        ev.open_sealed(env(seen), PLAN, RunFolder(tmp_path), SECRET)
    assert seen == []


def test_a_wrong_secret_opens_nothing(tmp_path: Path) -> None:
    write_json(RunFolder(tmp_path).selected, {"checkpoint": "c"})
    with pytest.raises(SplitError, match="not the one the plan commits to"):
        ev.open_sealed(env([]), PLAN, RunFolder(tmp_path), "guess")
    assert ev.openings(RunFolder(tmp_path)) == 0


def test_the_ledger_knows_of_an_opening_even_when_the_items_never_arrive(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write_json(folder.selected, {"checkpoint": "c"})

    def broken(*arguments: object) -> list[object]:
        assert [line["event"] for line in read_lines(folder.ledger)] == ["sealed_opened"]
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        ev.open_sealed(SimpleNamespace(scenarios=broken, EVALUATION_MIX={}), PLAN, folder, SECRET)
    assert ev.openings(folder) == 1
    # The same checkpoint and no record of it yet: the opening is gone on with.
    assert ev.open_sealed(env([]), PLAN, folder, SECRET).number == 1
    assert ev.openings(folder) == 1


def test_another_checkpoint_or_a_second_look_is_another_opening(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for number, checkpoint in enumerate(("a", "b"), start=1):
        write_json(folder.selected, {"checkpoint": checkpoint})
        assert ev.open_sealed(env([]), PLAN, folder, SECRET).number == number
    write_json(folder.selected_evaluation("sealed"), {})
    assert ev.open_sealed(env([]), PLAN, folder, SECRET).number == 3
    assert ev.openings(folder) == 3


def test_secrets_are_found_by_their_commitment(tmp_path: Path) -> None:
    wrong, right = tmp_path / "wrong", tmp_path / "right"
    wrong.write_text("other\n")
    with pytest.raises(SplitError, match="is not here"):
        ev.find_secret(PLAN, [wrong, right])
    right.write_text(SECRET + "\n")
    assert ev.find_secret(PLAN, [wrong, right]) == SECRET


def test_a_new_secret_is_kept_under_its_commitment(tmp_path: Path) -> None:
    word = ev.new_secret("abc", tmp_path)
    assert word == ev.commitment("abc")
    assert (tmp_path / word.removeprefix("sha256:")).read_text() == "abc\n"


def test_an_empty_split_is_not_a_result() -> None:
    with pytest.raises(SplitError, match="no items"):
        ev.evaluate(None, None, None, [], ev.Label("m", "c", "dev"))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened split of the real environment, what the tabular policy says to it, and where that is written."""

    opening: ev.Opening
    stage: Stage
    path: Path


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    folder, module = RunFolder(tmp_path), plugins.load("envs", "judgment")
    write_json(folder.selected, {"checkpoint": "c"})
    few = plans.validate(planfile.edit(PLAN.model_dump(mode="json"), ["evaluation.sealed_items=8"]), "x")
    opening, stage = ev.open_sealed(module, few, folder, SECRET), Stage(module, "", Sampling(400))
    found = ev.predict(stage, Tabular(), opening, "base", lambda done, total: None)
    write_lines(folder.base_predictions(), found)
    return Opened(opening, stage, folder.base_predictions())


def graded(opened: Opened) -> EvalRecord:
    label = ev.Label("tabular", "base", "sealed")
    return ev.grade(opened.stage, Scorer.named("slots"), opened.opening, opened.path, label)


def test_labels_are_shown_only_after_the_predictions_are_entered(opened: Opened) -> None:
    with pytest.raises(SplitError, match="before labels were shown"):
        graded(opened)
    ev.record_predictions(opened.opening, [opened.path])
    record = graded(opened)
    assert record == ev.evaluate(
        opened.stage, Tabular(), Scorer.named("slots"), opened.opening.scenarios, ev.Label("tabular", "base", "sealed")
    )
    ev.record_predictions(opened.opening, [opened.path])
    assert [line["event"] for line in read_lines(opened.opening.run.ledger)] == [
        "sealed_opened", "predictions_recorded"
    ]  # fmt: skip


def test_predictions_that_were_changed_are_not_graded(opened: Opened) -> None:
    ev.record_predictions(opened.opening, [opened.path])
    opened.path.write_text(opened.path.read_text().replace("which", "where").replace("spokenText", "spokentext"))
    with pytest.raises(SplitError, match="before labels were shown"):
        graded(opened)
    ev.record_predictions(opened.opening, [opened.path])  # too late
    with pytest.raises(SplitError, match="before labels were shown"):
        graded(opened)


def test_predictions_of_other_items_are_not_graded(opened: Opened) -> None:
    opened.path.write_text("".join(opened.path.read_text().splitlines(keepends=True)[1:]))
    ev.record_predictions(opened.opening, [opened.path])
    with pytest.raises(SplitError, match="not of these items"):
        graded(opened)


def test_every_sealed_item_and_every_line_about_it_holds_the_canary(opened: Opened) -> None:
    mark = canary(PLAN.env.sealed)
    assert {s.values[-1] for s in opened.opening.scenarios} == {mark}
    assert all(mark in line for line in opened.path.read_text().splitlines())
    assert not any(mark in m.content for s in opened.opening.scenarios for m in opened.stage.prompt(s))
