"""What a run was made with is on record, and going on with something else is entered."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from askfirst import ledger, plugins, provenance
from askfirst import plan as plans
from askfirst.runfolder import RunFolder
from askfirst.store import read_json
from askfirst.variants import DEV_SEED

PLAN = plans.load(Path(__file__).parents[2] / "examples" / "e2e.toml")
DEV = plugins.load("envs", "judgment").scenarios("dev", 4, DEV_SEED)


def test_a_change_of_what_a_run_depends_on_is_entered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder(tmp_path)
    ledger.begin(run.ledger, {"event": "frozen"})
    provenance.record(run, PLAN, DEV)
    first = read_json(run.provenance)
    monkeypatch.setattr(provenance, "revision", lambda folder: {"revision": "another", "dirty": True})
    provenance.record(run, PLAN, DEV)
    assert ledger.events(run, "environment_changed") == []  # a commit alone changes nothing
    monkeypatch.setattr(provenance, "_installed", lambda name: "9.9" if name == "numpy" else None)
    for _ in range(2):
        provenance.record(run, PLAN, DEV)
    (entered,) = ledger.events(run, "environment_changed")
    assert {c["what"]: c["after"] for c in entered["changes"]}["packages.numpy"] == "9.9"
    assert read_json(run.provenance) == first


def test_data_and_prompts_are_hashed() -> None:
    found = provenance.collect(PLAN, DEV)
    assert found["dev_sha256"] != provenance.collect(PLAN, DEV[1:])["dev_sha256"]
    assert found["sealed"]["commitment"] == PLAN.env.sealed
    judge = SimpleNamespace(__name__="askfirst.rewards.judge", PROMPTS={"system": "be fair"})
    other = SimpleNamespace(__name__="askfirst.rewards.judge", PROMPTS={"system": "be kind"})
    one, two = (provenance.prompts([each]) for each in (judge, other))  # type: ignore[list-item]
    assert list(one) == ["judge/system"]
    assert one != two


def test_revision_and_dirtiness_are_those_of_git(tmp_path: Path) -> None:
    assert provenance.revision(tmp_path) == {"revision": None, "dirty": None}
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@y"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    clean = provenance.revision(tmp_path)
    assert len(clean["revision"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "new.py").write_text("x = 1")
    assert provenance.revision(tmp_path)["dirty"] is True


@pytest.mark.thorough
def test_a_model_is_known_by_its_files_and_its_template() -> None:
    pytest.importorskip("torch")
    found = provenance._model("hf", "nano")
    assert {"model.safetensors", "tokenizer.json", "chat_template"} <= set(found)
    assert all(value and len(value) == 64 for value in found.values())
