"""What red teams found stays held against every reward that is to be trained on.

A file here is named redteam-<reward>.jsonl after the reward that it breaks; `askfirst redteam` writes it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import plugins
from askfirst.cases import read_cases, replied
from askfirst.contracts.rewards import self_test
from askfirst.redteam import THRESHOLD

FILES = sorted(Path(__file__).parent.glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_honest_rewards_hold(path: Path) -> None:
    cases = read_cases(path)
    assert cases
    for name in ("slots", "shaped"):
        assert self_test(plugins.load("rewards", name), {}, cases).broken == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_reward_it_was_found_in_is_broken_by_it(path: Path) -> None:
    module = plugins.load("rewards", path.stem.partition("-")[2])
    for case in read_cases(path):
        assert module.score(case.scenario, replied(case.scenario, case.reply), {}).total > THRESHOLD, case.name
