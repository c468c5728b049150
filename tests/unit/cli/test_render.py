"""What a run says where there is no terminal to draw on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from askfirst.cli import render
from askfirst.events import Event
from askfirst.plan import Plan
from askfirst.values import FrozenMap


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch):
    """A listener whose clock is set by hand, and what it has printed so far."""
    printed, at = io.StringIO(), [0.0]
    monkeypatch.setattr(render, "Console", lambda **settings: Console(file=printed, **settings))
    human = render.Human(Plan.model_construct(), clock=lambda: at[0])

    def warm(seconds: float, done: int, loss: float) -> str:
        at[0] = seconds
        human(Event("warmstart", "warmstart/seed-0", values=FrozenMap({"step": done, "steps": 100, "loss": loss})))
        return printed.getvalue()

    return warm


def test_a_long_stage_has_a_line_a_minute_and_one_at_its_end(told) -> None:
    assert told(0, 1, 2.5) == told(50, 10, 2.0) == ""
    assert told(61, 11, 1.9) == "warm      warmstart/seed-0  11/100  loss 1.900   about 9:02 to go\n"
    assert told(90, 40, 1.5).count("\n") == 1
    assert told(130, 80, 1.2).splitlines()[1:] == ["warm      warmstart/seed-0  80/100  loss 1.200   about 0:32 to go"]
    assert told(200, 100, 0.25).splitlines()[2:] == ["warm      warmstart/seed-0  loss 2.50 → 0.25 nats a token"]


def test_a_short_stage_has_its_last_line_alone(told) -> None:
    assert told(0, 1, 2.5) == ""
    assert told(9, 100, 0.5) == "warm      warmstart/seed-0  loss 2.50 → 0.50 nats a token\n"
