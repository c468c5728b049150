"""How long the episodes of a run will be, by demonstrations: what its time and memory are told from."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import matrix, plugins, variants
from askfirst import plan as plans
from askfirst.policy import ModelSpec
from askfirst.runfolder import RunFolder
from askfirst.values import GateResult, GateStatus

PLANS = Path(__file__).parents[2] / "examples"
FAILED = GateResult("memory", GateStatus.FAILED, 2, 1, "too little")


@pytest.fixture
def job():
    plan = plans.load(PLANS / "clarify-nano.toml")
    return variants.Run(plan, RunFolder(Path("r")), "", (), (), lambda event: None, lambda: False)


def test_an_episode_of_several_turns_is_as_long_as_all_that_is_said_behind_its_opening(job) -> None:
    pytest.importorskip("torch")
    policy = plugins.load("backends", "hf").open_policy(ModelSpec("nano"), seed=0)
    scenarios = job.env.scenarios("train", 12, 1)
    for scenario, length in zip(scenarios, matrix.lengths(job, policy, scenarios), strict=True):
        shown = job.env.demonstrations(scenario)[0]
        said = sum(len(policy.encode_reply(text)) for text in (shown.reply, *shown.then))
        assert length == said if not shown.then else length > said


def test_memory_is_told_for_the_longest_of_them(job, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(matrix, "lengths", lambda *given: [40, 700, 90])
    monkeypatch.setattr(matrix.gates, "memory", lambda policy, stage, *rest: asked.append(stage.sampling) or FAILED)
    matrix.gates_of_policy(job, None, job.env.scenarios("dev", 2, 1))
    assert [each.max_tokens for each in asked] == [700]
