"""The axes of a matrix: what is trained, by which name, and what judges it."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import gates, matrix, plugins, variants
from askfirst import plan as plans
from askfirst.contracts.reported import judge_of, rewards_of, selectable
from askfirst.errors import PlanError
from askfirst.plan import Plan, arm_plan, points, resolved, treated
from askfirst.runfolder import RunFolder
from askfirst.sections import AXES
from askfirst.slugs import parse

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAN = plans.load(EXAMPLES / "matrix.toml")
ARMS = "arm=[{ name = 'main' }, { name = 'slow', set = { 'train.lr' = 0.001 } }]"


def edited(*sets: str, example: str = "matrix.toml") -> Plan:
    return plans.load(EXAMPLES / example, sets)


def test_every_combination_is_trained_once_under_a_name_that_says_which() -> None:
    plan = edited(ARMS)
    axes = plan.matrix.axes
    found = points(plan)
    assert len(found) == 2 * 3 * 2 * 2 * 2 == len({point.name for point in found})
    settings = resolved(plan)
    for point in found:
        own, cell = settings[point.name], point.cell
        assert cell is not None
        assert (own.reward.name, own.curriculum.mode, own.train.group_size, own.train.kl.beta, point.arm) == (
            *(cell.reward, cell.curriculum, cell.group_size, cell.beta),
            cell.arm,
        )
        assert own.train.lr == {"main": plan.train.lr, "slow": 0.001}[point.arm]
        assert arm_plan(plan, point.name) == own
    for axis, key in AXES.items():
        assert {plans.at(own.model_dump(mode="json"), key) for own in settings.values()} == set(axes[axis])
    job = variants.Run(plan, RunFolder(Path("r")), "", (), (), lambda event: None, lambda: False)
    folders = [job.folder.variant(*variant).root.name for variant in job.variants]
    assert len(set(folders)) == 2 * len(found)
    assert [parse(name) for name in folders] == [(p.cell, seed) for p in found for seed in plan.matrix.seeds]
    assert plans.one_line(plan).endswith(
        "2 arms × 3 rewards × 2 curricula × 2 group sizes × 2 betas × 2 seeds = 96 variants"
    )


def test_without_axes_a_plan_trains_its_arms_as_before() -> None:
    plan = edited(example="e2e.toml")
    assert [(p.name, p.arm, dict(p.set), p.cell) for p in points(plan)] == [
        ("anchored", "anchored", {}, None),
        ("free", "free", {"train.kl.beta": 0.0}, None),
    ]
    assert RunFolder(Path("r")).variant("free", 3).root == Path("r/free/seed-3")


def test_the_plans_own_reward_keeps_its_params_and_another_has_its_defaults() -> None:
    plan = edited("matrix.rewards=['shaped', 'slots']", example="e2e.toml")
    assert {own.reward.name: bool(own.reward.params) for own in resolved(plan).values()} == {
        "shaped": True,
        "slots": False,
    }


@pytest.mark.parametrize(
    ("sets", "complaint"),
    [
        (["arm=[{ name = 'main', set = { 'train.kl.beta' = 0.3 } }]"], "train.kl.beta is set here and by matrix.betas"),
        (
            ["arm=[{ name = 'main', set = { 'train.kl' = { beta = 0.3 } } }]"],
            "train.kl is set here and by matrix.betas",
        ),
        (["matrix.curricula=['random']"], "matrix.curricula"),
        (["matrix.betas=[0.1, 0.1]"], "betas must be distinct"),
        (["matrix.seeds=[]"], "seeds must be distinct and at least one"),
        (["matrix.group_sizes=[1]"], "greater than or equal to 2"),
        (["decision.treatment=slots_static_g-5_kl-0"], "is neither an arm"),
        (["decision.treatment=other"], "is neither an arm"),
    ],
)
def test_what_contradicts_itself_is_refused(sets: list[str], complaint: str) -> None:
    with pytest.raises(PlanError, match=complaint):
        edited(*sets)


def test_the_decision_is_about_an_arm_at_every_point_or_about_one_point() -> None:
    plan = edited(ARMS)
    assert [p.name for p in points(plan) if p.arm == "main"] == list(treated(plan))
    one = edited("decision.treatment=slots_informative_g-4_kl-0.05")
    assert treated(one) == selectable(one) == ("slots_informative_g-4_kl-0.05",)


def test_a_control_is_judged_by_the_plans_reward_and_never_selected() -> None:
    controls = [p.name for p in points(PLAN) if p.cell and p.cell.reward != "slots"]
    assert len(controls) == 16
    assert {judge_of(PLAN, name).name for name in controls} == {"slots"}
    assert {name.split("_")[0] for name in selectable(PLAN)} == {"slots"}
    assert {name for name, _ in rewards_of(PLAN)} == {"slots", "random_control", "format_only"}
    own = "{ 'reward.name' = 'random_control', 'reward.params' = {} }"
    arm = f"arm=[{{ name = 'anchored' }}, {{ name = 'drawn', set = {own} }}]"
    plan = edited(arm, example="e2e.toml")
    assert judge_of(plan, "drawn") == plan.reward
    assert selectable(plan) == ("anchored",)
    other = edited(arm.replace("random_control", "slots"), example="e2e.toml")
    assert judge_of(other, "drawn").name == "slots"  # an arm's own reward judges it, as it always did


def test_a_plan_of_controls_alone_is_refused() -> None:
    plan = edited("reward.name=format_only", "reward.params={}", "matrix.rewards=[]")
    job = variants.Run(plan, RunFolder(Path("r")), "", (), (), lambda event: None, lambda: False)
    with pytest.raises(PlanError, match="judges nothing"):
        matrix.locked(job)
    alone = edited("matrix.rewards=['format_only']")
    result = gates.habits(plugins.load("envs", "judgment"), alone)
    assert (result.status.value, "every reward is a control" in result.reason) == ("failed", True)


def test_the_time_of_all_variants_is_estimated() -> None:
    micro = gates.MicroRun(0.0, 1.0, False, 0.001, 0.001, 0.0, 0.0)
    few = edited("matrix.curricula=[]", "matrix.rewards=[]", "matrix.betas=[]", "matrix.group_sizes=[8]")
    many = edited("matrix.curricula=[]", "matrix.rewards=[]", "matrix.group_sizes=[8]")
    assert gates.estimate_minutes(micro, many) == pytest.approx(2 * gates.estimate_minutes(micro, few))
    # Of 7 turns, and with rows of three times the tokens: sampling takes 7 times as long, learning 3 times.
    assert gates.estimate_minutes(micro.longer(7.0, 3.0), few) == pytest.approx(5 * gates.estimate_minutes(micro, few))
