"""A sealed suite is unreadable without its key, opens once cleanly, and says so the second time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askfirst import plugins, suites
from askfirst.canary import canary
from askfirst.cli import evaluating, sealing
from askfirst.errors import InputError, SplitError, SuiteError
from askfirst.store import read_lines
from askfirst.variants import DEV_SEED

pytest.importorskip("cryptography")
KEY = bytes(range(32))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    env, made = plugins.load("envs", "judgment"), tmp_path / "held-out"
    made.mkdir()
    mixed = env.scenarios("dev", 4, DEV_SEED, {"ambiguous": 1.0}) + env.scenarios(
        "dev", 4, DEV_SEED, {"destructive": 1.0}
    )
    for place, scenario in enumerate(mixed):
        (made / f"{place}.txt").write_text(env.write_fixture(scenario), "utf-8")
    return made


def test_a_suite_comes_back_with_its_canary_and_only_with_its_key(folder: Path, tmp_path: Path) -> None:
    out, keys = tmp_path / "x.sealed", tmp_path / "keys"
    suite = suites.seal(folder, out, keys, KEY)
    text = (folder / "0.txt").read_text("utf-8")
    assert text.split("\n")[0].removeprefix("USER: ") not in out.read_text()
    with suites.opened(out, keys) as (found, opened):
        assert found == suite
        assert (opened / "0.txt").read_text("utf-8") == f"{text.rstrip()}\nCANARY: {canary(suite.commitment)}\n"
        assert len(plugins.load("envs", "judgment").read_suite(opened)) == suite.items == 8
    assert not opened.exists()
    key = suites.home(keys, suite.commitment).root / "key"
    assert key.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="never overwritten"):
        suites.seal(folder, out, keys, KEY)
    key.write_text("00" * 32)
    with pytest.raises(SplitError, match="not its key"), suites.opened(out, keys):
        pass
    key.unlink()
    with pytest.raises(SplitError, match="is not here"), suites.opened(out, keys):
        pass


def test_a_changed_suite_does_not_open(folder: Path, tmp_path: Path) -> None:
    out, keys = tmp_path / "x.sealed", tmp_path / "keys"
    suites.seal(folder, out, keys, KEY)
    body = json.loads(out.read_text())
    body["body"] = ("A" if body["body"][0] != "A" else "B") + body["body"][1:]
    out.write_text(json.dumps(body))
    with pytest.raises(SplitError, match="not as it was sealed"), suites.opened(out, keys):
        pass
    (tmp_path / "empty").mkdir()
    with pytest.raises(SuiteError, match=r"no \.txt"):
        suites.seal(tmp_path / "empty", out, keys, KEY)


def test_the_second_opening_is_stamped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sealing, "SUITES", tmp_path / "keys")
    sealing.seal(folder, None)
    sealed = folder.with_name("held-out.sealed")
    capsys.readouterr()
    settings = evaluating.settings(["max_tokens=400"])
    for holdout in ("opened_once", "reused_holdout"):
        evaluating.evaluate("tabular", None, evaluating.Where((sealed,), None), settings, as_json=True)
        (found,) = json.loads(capsys.readouterr().out)
        assert (found["holdout"], len(found["items"]), found["split"]) == (holdout, 8, "held-out")
    (ledger,) = (tmp_path / "keys").rglob("ledger.jsonl")
    events = [line["event"] for line in read_lines(ledger)]
    assert events == ["sealed_opened", "predictions_recorded"] * 2
    with pytest.raises(InputError, match="opened alone"):
        evaluating.evaluate("tabular", None, evaluating.Where((sealed, folder), None), settings, as_json=True)
