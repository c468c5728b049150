"""The plan: what validates, what is refused and how it says so."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst import planfile
from askfirst.errors import PlanError

EXAMPLES = Path(__file__).parents[2] / "examples"


def document() -> dict:
    return tomllib.loads((EXAMPLES / "quickstart.toml").read_text("utf-8"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.stem)
def test_examples_load(path: Path) -> None:
    assert plans.load(path).title


def test_hash_changes_with_the_plan_and_not_with_the_spelling() -> None:
    plan = plans.validate(document(), "x")
    again = plans.validate(json.loads(json.dumps(document())), "y")
    changed = plans.validate(planfile.edit(document(), ["train.lr=1e-5"]), "z")
    assert plans.plan_hash(plan) == plans.plan_hash(again) != plans.plan_hash(changed)
    assert changed.train.lr == 1e-5


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.lrr=1", "train.lrr: unknown field"),
        ("train.group_size=1", "group_size"),
        ("train.scenarios_per_step=4", "no whole number of 4 scenarios"),
        ("env.sealed=secret", "env.sealed"),
        ("decision.treatment=nobody", "is not an arm"),
        ("matrix.seeds=[1, 1]", "distinct"),
        ("ship.ambiguous_pass={}", "a rule is"),
        ("train.kl={ beta = 0.1, estimator = 'k1' }", "expected gradient of zero"),
        ("env.clear_fraction=[0.5, 0.2]", "low ≤ high"),
        ("train.lr=nan", "train.lr"),
        ("title.x=1", "not a section"),
        ("no-equals-sign", "--set wants key=value"),
        ("selection.metric=luck", "selection.metric: no metric is called 'luck'"),
        ("decision.metric=mean_score", "decision.metric: no metric is called 'mean_score'"),
        ("ship.luck={ above = 0.1 }", "ship: no metric is called 'luck'"),
    ],
)
def test_bad_plans_are_refused_with_the_field(override: str, message: str) -> None:
    with pytest.raises(PlanError, match=message.replace("(", r"\(")):
        plans.validate(planfile.edit(document(), [override]), "x")


def test_unknown_field_lists_the_known_ones() -> None:
    with pytest.raises(PlanError) as caught:
        plans.validate(planfile.edit(document(), ["train.kl.betta=1"]), "x")
    assert "beta, estimator, place" in caught.value.hint


def test_arm_sets_only_its_own_keys() -> None:
    plan = plans.validate(document(), "x")
    free = plans.arm_plan(plan, "free")
    assert (plan.train.kl.beta, free.train.kl.beta) == (0.02, 0.0)
    assert free.train.model_copy(update={"kl": plan.train.kl}) == plan.train


@pytest.mark.parametrize("key", ["env.name", "decision.alpha", "ship.ambiguous_pass.above"])
def test_an_arm_may_not_touch_how_it_is_judged(key: str) -> None:
    bad = document()
    bad["arm"][1]["set"] = {key: 0.5}
    with pytest.raises(PlanError, match="an arm may set keys of"):
        plans.validate(bad, "x")


@pytest.mark.parametrize("text", ["title = ", "[1, 2]", "\x00", '{"a": '])
def test_unparsable_files(tmp_path: Path, text: str) -> None:
    for suffix in (".toml", ".json"):
        path = tmp_path / f"plan{suffix}"
        path.write_text(text)
        with pytest.raises(PlanError) as caught:
            plans.load(path)
        assert str(path) in str(caught.value)


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot read"):
        plans.load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="UTF-8"):
        plans.load(tmp_path / "binary.toml")


@pytest.mark.parametrize(("total", "clear"), [(5, 2), (8, 3), (16, 6), (20, 7)])
def test_clear_scenarios_of_a_batch(total: int, clear: int) -> None:
    plan = plans.validate(planfile.edit(document(), [f"train.scenarios_per_step={total}"]), "x")
    assert plans.clear_scenarios(plan) == clear
    assert 0.3 <= clear / total <= 0.4


def test_a_lock_is_a_plan_again(tmp_path: Path) -> None:
    plan = plans.validate(document(), "x")
    path = tmp_path / "plan.lock.json"
    path.write_text(json.dumps(plans.lock(plan, {"rewards/shaped": "0" * 64}, ["train.lr=1"])))
    assert plans.load(path) == plan
