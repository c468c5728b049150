"""What variants start from: warm starts are shared by those that declare the same, and by nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from askfirst import plan as plans
from askfirst import variants
from askfirst.contracts.reported import rewards_of, write_reports
from askfirst.events import silent
from askfirst.gates import reward_self_test
from askfirst.plan import arm_plan
from askfirst.runfolder import RunFolder
from askfirst.train import Job
from askfirst.values import FrozenMap
from askfirst.variants import Run, start_name, starting_policy, train_side_by_side

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"
WARM = "warmstart={ steps = 2, batch = 4, lr = 0.05 }"


def run(folder: Path, *sets: str, jobs: int = 1) -> Run:
    plan = plans.load(EXAMPLE, [WARM, "matrix.seeds=[0]", *sets])
    return Run(plan, RunFolder(folder), "", sets, (), silent, lambda: False, jobs)


def starts(job: Run, arm: str) -> str:
    """The fingerprint of the policy that an arm starts from."""
    dev = tuple(job.env.scenarios("dev", 12, 1))
    variant = Job(arm_plan(job.plan, arm), arm, 0, job.folder.variant(arm, 0), job.stage, dev, FrozenMap())
    return starting_policy(job, variant).fingerprint()


def test_an_arm_with_a_warm_start_of_its_own_does_not_get_that_of_another(tmp_path: Path) -> None:
    arms = (
        "[{ name = 'anchored' }, { name = 'free', set = { 'train.kl.beta' = 0.0 } }, "
        "{ name = 'longer', set = { 'warmstart.steps' = 6 } }]"
    )
    job = run(tmp_path, f"arm={arms}")
    anchored, free, longer = (starts(job, arm) for arm in ("anchored", "free", "longer"))
    assert anchored == free != longer
    assert starts(job, "longer") == longer  # read back
    names = {path.name for path in (tmp_path / "warmstart").iterdir()}
    assert names == {start_name(job.plan, arm_plan(job.plan, arm), 0) for arm in ("anchored", "longer")}
    assert len(names) == 2


@pytest.mark.parametrize(("share", "names"), [(0.0, 1), (0.5, 2)])
def test_arms_whose_notes_are_shown_otherwise_start_apart_where_notes_are_shown(share: float, names: int) -> None:
    arms = "[{ name = 'anchored' }, { name = 'free', set = { 'teacher.closing' = 'Do so.' } }]"
    plan = plans.load(EXAMPLE, [WARM, f"warmstart.noted_share={share}", "teacher.kind='frozen'", f"arm={arms}"])
    assert len({start_name(plan, arm_plan(plan, arm.name), 0) for arm in plan.arm}) == names


@pytest.mark.parametrize(("context", "names"), [("sibling", 1), ("feedback", 2)])
def test_arms_whose_feedback_comes_from_other_rewards_start_apart_where_it_is_shown(context: str, names: int) -> None:
    arms = "[{ name = 'anchored' }, { name = 'free', set = { 'reward.name' = 'judgment' } }]"
    teacher = f"teacher.context='{context}'"
    plan = plans.load(EXAMPLE, [WARM, "warmstart.noted_share=0.5", "teacher.kind='frozen'", teacher, f"arm={arms}"])
    assert len({start_name(plan, arm_plan(plan, arm.name), 0) for arm in plan.arm}) == names


@pytest.mark.parametrize("sets", [("matrix.betas=[0.0, 0.02]", "arm=[{ name = 'anchored' }]"), ()])
def test_a_warm_start_that_is_shared_is_made_before_variants_part(
    sets: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = run(tmp_path, *sets, jobs=2)
    write_reports(job.folder, reward_self_test(rewards_of(job.plan))[1])
    there: list[bool] = []

    def look(work: Any, tasks: Sequence[variants.Task], *rest: Any) -> None:
        there.extend(job.folder.warmstart(f"seed-{task.seed}").is_dir() for task in tasks)

    monkeypatch.setattr(variants, "side_by_side", look)
    train_side_by_side(job, job.variants, tuple(job.env.scenarios("dev", 12, 1)))
    assert there == [True, True]
