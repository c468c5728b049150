"""`askfirst check judges`: what it prints, and when it says no."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askfirst.cli import checking, judging
from askfirst.errors import InputError
from askfirst.store import write_lines


@pytest.mark.thorough
def test_the_audit_of_a_judge_is_printed_and_is_there_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    checking.check("judges", "rules", checking.Files(), as_json=False)
    shown = capsys.readouterr().out
    assert "✓ judges/rules: the contract holds, and so do the bounds of its audit" in shown
    assert "agrees on        ungrounded_claims: 105 of 105, at least 97.2%" in shown
    assert "fooled by        master key: 0 of 42" in shown
    checking.check("judges", "rules", checking.Files(), as_json=True)
    [found] = json.loads(capsys.readouterr().out)
    assert found["holds"]
    assert found["audit"]["fooled"]["n"] == 114


@pytest.mark.thorough
def test_a_judge_that_is_pleased_by_everything_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine = '{"invalid_tool_use": 1, "ungrounded_claims": 1, "clarification_before_action": 1, "feedback": ""}'
    write_lines(tmp_path / "fine.jsonl", [{"contains": "", "reply": fine}])
    files = checking.Files(model=f"scripted={tmp_path / 'fine.jsonl'}")
    with pytest.raises(SystemExit) as stopped:
        checking.check("judges", "model", files, as_json=False)
    assert stopped.value.code == 1
    shown = capsys.readouterr().out
    assert "✗ judges/model: agrees on" in shown
    assert "fooled by 114 of 114 attacks" in shown
    assert "… and 65 more; --json lists all" in shown


def test_a_judge_that_needs_a_model_is_held_to_its_contract_without_one() -> None:
    holds, words, audit = judging.check("model", "")
    assert (holds, audit) == (True, None)
    assert "not audited: it needs --model NAME" in words


def test_a_model_is_for_judges() -> None:
    with pytest.raises(InputError, match="a model speaks for judges, not for rewards"):
        checking.check("rewards", "slots", checking.Files(model="nano"), as_json=False)


@pytest.mark.parametrize(
    ("given", "backend", "model"), [("nano", "hf", "nano"), ("scripted=a.jsonl", "scripted", "a.jsonl")]
)
def test_a_model_is_named_with_its_backend(given: str, backend: str, model: str) -> None:
    section = judging.section_of("model", given)
    assert (section.backend, section.model) == (backend, model)
