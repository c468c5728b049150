"""The sealed split has one door, and every opening is in the ledger before an item is seen."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from askfirst import evaluate as ev
from askfirst import plan as plans
from askfirst.errors import SplitError
from askfirst.runfolder import RunFolder
from askfirst.store import read_lines, write_json

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart.toml"
SECRET = EXAMPLE.with_suffix(".seed").read_text().strip()
PLAN = plans.load(EXAMPLE)


def env(seen: list[str]) -> SimpleNamespace:
    def scenarios(split: str, n: int, seed: int, strata: object) -> list[str]:
        seen.append(split)
        return [split] * n

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
