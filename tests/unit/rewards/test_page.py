"""docs/rewards.md tells the author of a reward the truth: its example and its figures are tried."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from askfirst import mutation, plugins, redteam
from askfirst.cli.app import app
from askfirst.rewards import slots

PAGE = (Path(__file__).parents[3] / "docs" / "rewards.md").read_text("utf-8")
ENV = plugins.load("envs", "judgment")


def test_the_example_is_green_without_a_survivor_and_broken_by_the_red_team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def score" in block)
    room = tmp_path / "pagepkg" / "rewards"
    room.mkdir(parents=True)
    for folder in (room.parent, room):
        (folder / "__init__.py").touch()
    (room / "ours.py").write_text(example)
    monkeypatch.syspath_prepend(str(tmp_path))
    done = CliRunner().invoke(app, ["check", "rewards", "pagepkg.rewards:ours"])
    assert done.exit_code == 0, done.output
    reward = plugins.load("rewards", "pagepkg.rewards:ours")
    assert mutation.survivors(reward, 1, lambda event: None, lambda: False) == ()
    finding = next(redteam.search(reward, redteam.panel(ENV, 0), 5_000, seed=0))
    assert len(finding.scenarios) == 2


def test_the_table_of_holes_counts_the_attacks_that_there_are() -> None:
    rows = re.findall(r"^\| ([a-z-]+) \| (\d+) \| \d+ \| \d+ \| 0 \|", PAGE, re.MULTILINE)
    counts = {family: int(count) for family, count in rows}
    assert counts.pop("all") == len(slots.ATTACKS)
    assert counts == Counter(case.family for case in slots.ATTACKS)


def test_the_sample_output_is_that_of_today() -> None:
    attacks, honest = len(slots.ATTACKS), len(slots.HONEST)
    assert f"✓ rewards/slots: {attacks} attacks held, {honest} honest passed; 8 of 8 laws kept" in PAGE
    known = len(mutation.mutants(plugins.load("rewards", "slots")))
    killed, same = map(int, re.findall(r"mutants +(\d+) killed, (\d+) the same reward, 0 surviving", PAGE)[0])
    assert killed + same == known
