"""`askfirst import`: what it prints of logs made elsewhere, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from askfirst.cli.app import app
from askfirst.errors import InputError
from askfirst.store import write_lines


def samples(path: Path, passed: int, of: int) -> str:
    lines = [
        {"doc_id": i, "doc": {"q": i}, "target": "yes", "metrics": ["acc"], "acc": float(i < passed)} for i in range(of)
    ]
    write_lines(path, lines)
    return str(path)


def test_the_second_log_is_held_against_the_first(tmp_path: Path) -> None:
    before = samples(tmp_path / "samples_toy_1.jsonl", 10, 40)
    after = samples(tmp_path / "samples_toy_2.jsonl", 30, 41)
    found = CliRunner().invoke(app, ["import", "lm-eval", before, after])
    assert found.exit_code == 0
    assert "acc 25% → 75%, +50.0 points" in found.output
    assert "not seen  1 left out: only in the second log, such as 40 (epoch 1)" in found.output
    worse = CliRunner().invoke(app, ["import", "lm-eval", after, before, "--margin", "0.05", "--json"])
    assert worse.exit_code == 1
    body = json.loads(worse.output)
    assert (body["holds"], body["change"]["losses"], body["joined"]["alone"]) == (False, 20, [[["40", 1]], []])


def test_one_log_is_described(tmp_path: Path) -> None:
    one = samples(tmp_path / "samples_toy_1.jsonl", 10, 40)
    found = CliRunner().invoke(app, ["import", "lm-eval", one])
    assert found.exit_code == 0
    assert "25.0% [12.7%, 41.2%] of 40" in found.output
    body = json.loads(CliRunner().invoke(app, ["import", "lm-eval", one, "--json"]).output)
    assert len(body["hashes"]) == 40


def test_three_logs_are_too_many(tmp_path: Path) -> None:
    one = samples(tmp_path / "samples_toy_1.jsonl", 10, 40)
    found = CliRunner().invoke(app, ["import", "lm-eval", one, one, one])
    assert isinstance(found.exception, InputError)
    assert "one log or two are judged, found 3" in str(found.exception)
