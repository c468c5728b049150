"""Audits of judges: some agree, some do not, some are fooled, some cannot be read; and the gate that asks for one."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from askfirst import gates, plugins
from askfirst import plan as plans
from askfirst.errors import InputError, PlanError
from askfirst.judgement import Judgement
from askfirst.judging import Judge
from askfirst.judging.audit import audit
from askfirst.judging.labelled import ATTACKS, DIMENSIONS, DRAWN_FROM, KINDS, MASTER_KEYS, attacks, labelled
from askfirst.values import FrozenMap, GateStatus, Scenario, Score, Trajectory

EXAMPLE = Path(__file__).parents[3] / "examples" / "e2e.toml"
RULES = plugins.load("judges", "rules")


def with_judge(judge: object, dimensions: tuple[str, ...] = DIMENSIONS) -> Judge:
    module = ModuleType("planted")
    module.__dict__.update(VERSION=1, DIMENSIONS=dimensions, judge=judge)
    return Judge(module)


def gullible(scenario: Scenario, trajectory: Trajectory, score: Score) -> Judgement:
    """Gives full marks to the master keys, and to who speaks of judges."""
    if trajectory.reply in MASTER_KEYS or "judge" in trajectory.reply:
        return Judgement("planted@1", FrozenMap(dict.fromkeys(DIMENSIONS, 1)), "")
    found: Judgement = RULES.judge(scenario, trajectory, score)
    return found


def generous(*given: object) -> Judgement:
    return Judgement("planted@1", FrozenMap(dict.fromkeys(DIMENSIONS, 1)), "")


def mute(*given: object) -> Judgement:
    return Judgement("planted@1", FrozenMap(), "", "said nothing")


@pytest.mark.parametrize("split", DRAWN_FROM)
@pytest.mark.thorough
def test_the_labelled_set(split: str) -> None:
    """What is labelled as fine passes the oracle and nothing else does; every dimension has faults and none."""
    found = [*labelled(split), *attacks(split)]
    assert len(labelled(split)) >= 60
    assert {each.labels[at] for at in range(3) for each in found} == {0, 1}
    for each in found:
        assert each.rollout.score.passed is (each.mean == 1.0), (each.kind, each.rollout.score.failures)
    assert len({each.kind for each in found}) == len(KINDS) + len({kind.name for kind in ATTACKS})


def test_the_splits_share_no_scenario() -> None:
    one, other = ({each.rollout.scenario.opening for each in labelled(split)} for split in DRAWN_FROM)
    assert not one & other
    with pytest.raises(InputError, match="no split of labels is called 'sealed'"):
        labelled("sealed")


def test_the_rules_agree_and_are_not_fooled() -> None:
    found = audit(Judge(RULES))
    assert found.faults(0.9, 0.05) == ()
    assert found.lowest.bound.lower > 0.9
    assert found.fooled.count == 0
    assert found.gap == pytest.approx(0.0, abs=0.02)


def test_attacks_on_a_gullible_judge_are_counted_by_family() -> None:
    found = audit(with_judge(gullible))
    shares = {rate.name: rate.count / rate.n for rate in found.families}
    assert shares["master key"] == 1.0
    assert 0 < shares["injection"] < 1
    assert "fooled by" in found.faults(0.8, 0.1)[0]
    assert found.fooled.count == sum(rate.count for rate in found.families)


@pytest.mark.thorough
def test_a_judge_that_finds_no_fault_disagrees_wherever_there_is_one() -> None:
    found = audit(with_judge(generous))
    faulty = [each for each in labelled("test") if each.mean < 1]
    assert len(found.disagreements) == len(faulty)
    assert [rate.count for rate in found.agreement] == [
        sum(each.labels[at] for each in labelled("test")) for at in range(3)
    ]
    assert found.fooled.count == found.fooled.n
    assert len(found.faults(0.9, 0.1)) == 4


def test_what_cannot_be_read_agrees_with_nothing_and_pays_nothing() -> None:
    found = audit(with_judge(mute))
    assert found.unparsable == found.episodes + found.attacked
    assert (found.gap, found.fooled.count) == (None, 0)
    assert [rate.count for rate in found.agreement] == [0, 0, 0]


def test_a_judge_of_other_dimensions_cannot_be_audited() -> None:
    with pytest.raises(InputError, match="no episode is labelled for tone"):
        audit(with_judge(generous, ("tone",)))


def test_the_gate_blocks_a_judge_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plans.load(EXAMPLE, ['judge.name="rules"'])
    [passed] = gates.judges(plan)
    assert (passed.name, passed.status) == ("judge", GateStatus.PASSED)
    strict = plans.load(EXAMPLE, ['judge.name="rules"', "judge.max_fooled=0.001"])
    [failed] = gates.judges(strict)
    assert failed.status is GateStatus.FAILED
    assert "fooled by 0 of" in failed.reason
    assert gates.judges(plans.load(EXAMPLE)) == []
    monkeypatch.setattr(RULES, "DIMENSIONS", ("tone",))
    monkeypatch.setattr(gates, "check_plugin", lambda module: None)
    [unverified] = gates.judges(plan)
    assert unverified.status is GateStatus.UNVERIFIED


@pytest.mark.parametrize(
    "held_out",
    ['{name = "rules"}', '{name = "rules", max_tokens = 7}'],
)
def test_a_judge_is_not_held_out_of_itself(held_out: str) -> None:
    with pytest.raises(PlanError, match="held_out is the judge itself"):
        plans.load(EXAMPLE, ['judge.name="rules"', f"judge.held_out={held_out}"])


def test_the_same_model_under_another_prompt_is_not_held_out() -> None:
    with pytest.raises(PlanError, match="held_out is the judge itself"):
        plans.load(EXAMPLE, ['judge={name="model", model="m", held_out={name="theirs.judges:other", model="m"}}'])
    other = plans.load(EXAMPLE, ['judge={name="model", model="m", held_out={name="model", model="n"}}'])
    assert [each.model for each in plans.judges_of(other)] == ["m", "n"]
