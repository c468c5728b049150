"""The main job is a straight line: few of our own frames lie between the command line and a reward call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from askfirst.cli import running
from askfirst.rewards import slots

PLAN = Path(__file__).parents[2] / "examples" / "e2e.toml"
LIMIT = 6


def own_frames() -> list[str]:
    """The package's frames below the command line, outermost first, comprehensions left out."""
    found: list[str] = []
    frame = sys._getframe(2)
    while frame is not None and "/askfirst/cli/" not in frame.f_code.co_filename:
        if "/askfirst/" in frame.f_code.co_filename and not frame.f_code.co_name.startswith("<"):
            found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found[::-1]


def test_few_frames_from_the_command_line_to_a_reward(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[list[str]] = []
    score = slots.score

    def watched(*arguments: object) -> object:
        seen.append(own_frames())
        return score(*arguments)

    monkeypatch.setattr(slots, "score", watched)
    monkeypatch.setattr(running, "stop_on_interrupt", lambda: lambda: False)
    sets = ("reward.name=slots", "reward.params={}", "train.steps=1", "matrix.seeds=[0]", "budget.wall_minutes=1000")
    sets += (
        "evaluation.dev_items=16",
        "evaluation.sealed_items=16",
        "decision.effect=0.9",
        "selection.max_false_ask=1.0",
    )
    sets += ("selection.min_informative_fraction=0.0", "ship={ ambiguous_pass = { above = 0.0 } }")
    with pytest.raises(SystemExit):
        running.run(PLAN, tmp_path / "run", sets, resume=False, as_json=True)
    training = [frames for frames in seen if "one_step" in frames]
    assert training
    assert max(map(len, training)) <= LIMIT, training[0]
