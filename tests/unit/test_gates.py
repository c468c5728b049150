"""Each gate passes on a sound run and fails on a planted fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from askfirst import gates, planfile, plugins
from askfirst import plan as plans
from askfirst.errors import GateFailed
from askfirst.policy import Footprint, Sampling
from askfirst.rollout import Stage
from askfirst.values import FrozenMap, GateResult, GateStatus
from askfirst.variants import DEV_SEED

PLAN = plans.load(Path(__file__).parents[2] / "examples" / "e2e.toml")
ENV = plugins.load("envs", "judgment")
SOUND = gates.MicroRun(0.0, 1.0, False, 0.002, 0.002, 0.002, 0.002)
POLICY = SimpleNamespace(logprob_tolerance=1e-4)


def test_the_rewards_of_the_examples_hold() -> None:
    found, reports = gates.reward_self_test([("shaped", FrozenMap(PLAN.reward.params)), ("strict", {}), ("slots", {})])
    assert found.status is GateStatus.PASSED, found.reason
    assert len(reports) == 3


def test_a_reward_that_is_fooled_fails_the_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = plugins.load("rewards", "slots")
    score = slots.score
    monkeypatch.setattr(
        slots, "score", lambda s, t, p: replace(score(s, t, p), total=1.0, terms=FrozenMap({"pass": 1.0}), passed=True)
    )
    found, _ = gates.reward_self_test([("slots", FrozenMap())])
    assert found.status is GateStatus.FAILED


def test_contamination_finds_a_training_scenario_among_the_dev_items() -> None:
    dev = ENV.scenarios("dev", 20, DEV_SEED)
    assert gates.contamination(ENV, PLAN, dev).status is GateStatus.PASSED
    planted = gates.draw_scenarios(ENV, PLAN, PLAN.matrix.seeds[0], 0)[0]
    found = gates.contamination(ENV, PLAN, [*dev, planted])
    assert found.status is GateStatus.FAILED
    assert planted.id in found.reason


def test_habits_are_measured_on_the_mix_of_the_plan_with_the_reward_of_the_treatment() -> None:
    found = gates.habits(ENV, PLAN)
    assert found.status is GateStatus.PASSED
    mostly_clear = planfile.edit(PLAN.model_dump(mode="json"), ["env.clear_fraction=[0.9, 0.9]"])
    other = gates.habits(ENV, plans.validate(mostly_clear, "x"))
    assert other.status is GateStatus.PASSED
    assert 0.0 < float(other.measured) < 0.1 < float(found.measured)
    assert "honesty earns 1.00" in other.reason
    arms = PLAN.model_dump(mode="json") | {
        "arm": [{"name": "anchored"}, {"name": "weak", "set": {"reward.name": "lenient", "reward.params": {}}}]
    }
    assert gates.habits(ENV, plans.validate(arms, "x")).status is GateStatus.PASSED
    arms["decision"]["treatment"] = "weak"
    weak = gates.habits(ENV, plans.validate(arms, "x"))
    assert weak.status is GateStatus.FAILED
    assert "the best other habit" in weak.reason


def test_decidability_asks_for_power() -> None:
    assert gates.decidability(PLAN).status is GateStatus.PASSED
    few = plans.validate(planfile.edit(PLAN.model_dump(mode="json"), ["evaluation.sealed_items=20"]), "x")
    assert gates.decidability(few).status is GateStatus.FAILED
    relative = planfile.edit(PLAN.model_dump(mode="json", exclude_none=True), [])
    relative["ship"] = {"out_of_scope_pass": {"noninferior_to": "base", "margin": 0.05}}
    assert gates.decidability(plans.validate(relative, "x")).status is GateStatus.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gap_nats": 0.01}, "sampler and trainer differ"),
        ({"grad_norm": 0.0}, "no gradient"),
        ({"grad_norm": float("nan")}, "no gradient"),
        ({"moved": True}, "learning rate 0"),
    ],
)
def test_correctness(change: dict, words: str) -> None:
    assert gates.correctness(SOUND, POLICY, PLAN).status is GateStatus.PASSED
    found = gates.correctness(replace(SOUND, **change), POLICY, PLAN)
    assert found.status is GateStatus.FAILED
    assert words in found.reason


@pytest.mark.parametrize(("available", "jobs", "holds"), [(100, 1, True), (100, 2, False), (50, 1, False)])
def test_memory_compares_what_all_processes_need_with_what_is_free(available: int, jobs: int, holds: bool) -> None:
    scenarios = ENV.scenarios("dev", 8, DEV_SEED)
    asked: list[tuple[int, int, int]] = []

    def footprint(prompts: list[tuple[int, ...]], copies: int, new: int) -> Footprint:
        asked.append((len(prompts), copies, new))
        return Footprint(60 if copies > 1 else 40, available)

    policy = SimpleNamespace(encode=lambda messages: (0,) * len(messages[-1].content), footprint=footprint)
    stage = Stage(ENV, "", Sampling(8))
    found = gates.memory(policy, stage, PLAN, scenarios, jobs)
    assert found.status is (GateStatus.PASSED if holds else GateStatus.FAILED), found.reason
    assert asked == [(min(8, PLAN.train.scenarios_per_step), PLAN.train.group_size, 8), (8, 1, 8)]
    assert ("take less" in found.reason) is not holds


def test_memory_does_not_apply_where_it_does_not_matter() -> None:
    policy = SimpleNamespace(encode=lambda messages: (0,), footprint=lambda *given: None)
    found = gates.memory(policy, Stage(ENV, "", Sampling(8)), PLAN, ENV.scenarios("dev", 2, DEV_SEED))
    assert found.status is GateStatus.NOT_APPLICABLE


def test_feasibility_compares_with_the_budget() -> None:
    assert gates.feasibility(SOUND, PLAN).status is GateStatus.PASSED
    assert gates.feasibility(replace(SOUND, sample_seconds=1.0), PLAN).status is GateStatus.FAILED


@pytest.mark.parametrize("status", [GateStatus.FAILED, GateStatus.UNVERIFIED])
def test_what_failed_or_is_unverified_blocks(status: GateStatus) -> None:
    with pytest.raises(GateFailed, match="because"):
        gates.check([GateResult("x", status, 0, 0, "because")])
    gates.check([GateResult("x", GateStatus.NOT_APPLICABLE, 0, 0, "")])
