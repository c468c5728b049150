"""A run trains only on the reward that its self-test report speaks for: with this source, these cases, and green."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from askfirst import matrix, planfile, plugins, variants
from askfirst import plan as plans
from askfirst.contracts.reported import modules, require_reports, rewards_of, write_reports
from askfirst.contracts.rewards import self_test
from askfirst.contracts.selftest import scorer_hash
from askfirst.errors import GateFailed, InputError
from askfirst.runfolder import RunFolder
from askfirst.store import plain, write_json

EXAMPLE = Path(__file__).parents[3] / "examples" / "e2e.toml"
CUPS = "pairpkg.rewards:cups"
SHAPED = ("shaped", {"base": "toypkg.rewards:base"})
BASE = """
from askfirst.rewards import slots
from askfirst.rewards.slots import BOUNDS, DEFAULTS, VERSION, intent_of, score

ATTACKS, HONEST = slots.ATTACKS[:3], slots.HONEST[:3]
"""
SETS = (
    "reward.name=toypkg.rewards:base", "reward.params={}", "train.steps=1", "evaluation.every=1",
    "evaluation.dev_items=8",
)  # fmt: skip


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a reward of a third party: `slots` under another name."""
    folder = tmp_path / "toypkg" / "rewards"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "base.py").write_text(BASE)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [n for n in sys.modules if n.startswith("toypkg")]:
        monkeypatch.delitem(sys.modules, name)
    return folder / "base.py"


def reported(tmp_path: Path, *rewards: tuple[str, dict]) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    write_reports(run, [self_test(module, params) for module, params in modules(rewards)])
    require_reports(run, rewards)
    return run


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rewards/cups.py", "total = float(passed)", "total = float(bool(passed))"),
        ("rewards/cups.py", '("which one?", "blue")', '("which one?", "green")'),
        ("words.py", '"no"', '"nay"'),
    ],
)
def test_a_reward_that_was_edited_is_refused(pair, tmp_path: Path, file: str, old: str, new: str) -> None:
    pair()
    run = reported(tmp_path, (CUPS, {}))
    pair(file, old, new)
    with pytest.raises(GateFailed, match=r"the source of reward 'pairpkg.rewards:cups' changed after its self-test"):
        require_reports(run, [(CUPS, {})])


def test_a_module_that_the_reward_does_not_import_is_nothing_to_it(pair, tmp_path: Path) -> None:
    pair()
    run = reported(tmp_path, (CUPS, {}))
    pair("envs/two.py", "take the cup", "hand me the cup")
    require_reports(run, [(CUPS, {})])


def test_a_shaped_reward_is_refused_when_its_base_was_edited(base: Path, tmp_path: Path) -> None:
    before = scorer_hash(plugins.load("rewards", "shaped"), SHAPED[1])
    run = reported(tmp_path, SHAPED)
    base.write_text(BASE + "# kinder\n")
    assert scorer_hash(plugins.load("rewards", "shaped"), SHAPED[1]) != before
    with pytest.raises(GateFailed, match="the source of reward 'shaped' changed"):
        require_reports(run, [SHAPED])


def test_the_default_base_is_tested_and_hashed_as_well() -> None:
    assert [plugins.name_of(module) for module, _ in modules([("shaped", {})])] == ["shaped", "slots"]
    shaped = plugins.load("rewards", "shaped")
    assert scorer_hash(shaped) == scorer_hash(shaped, {"base": "slots"}) != scorer_hash(shaped, {"base": "strict"})


def test_other_bounds_are_other_cases(tmp_path: Path) -> None:
    run = reported(tmp_path, ("shaped", {"base": "strict"}))
    with pytest.raises(GateFailed, match="the cases of reward 'shaped' changed"):
        require_reports(run, [("shaped", {"base": "strict", "partial": 0.2})])


def test_without_a_green_report_nothing_is_trained_on(pair, tmp_path: Path) -> None:
    pair()
    run, report = RunFolder(tmp_path / "run"), self_test(plugins.load("rewards", CUPS))
    with pytest.raises(GateFailed, match="no self-test report"):
        require_reports(run, [(CUPS, {})])
    write_json(run.selftest, {"version": 1, "reports": []})
    with pytest.raises(GateFailed, match="no self-test report of version 2"):
        require_reports(run, [(CUPS, {})])
    write_reports(run, [])
    with pytest.raises(GateFailed, match="tested none"):
        require_reports(run, [(CUPS, {})])
    write_reports(run, [replace(report, broken=("attack x earned 1",))])
    with pytest.raises(GateFailed, match="red: attack x earned 1"):
        require_reports(run, [(CUPS, {})])
    write_json(run.selftest, {"version": 2, "reports": [{**plain(report), "attacks": "many"}]})
    with pytest.raises(InputError, match=r"reports\.0\.attacks"):
        require_reports(run, [(CUPS, {})])


def test_the_rewards_of_arms_are_tested_too() -> None:
    document = planfile.edit(planfile.read(EXAMPLE), ["reward.report=['lenient']"])
    document["arm"][1]["set"] = {"reward.name": "strict", "reward.params": {}}
    found = rewards_of(plans.validate(document, "x"))
    oracle = {"slots"}  # of the environment, which judges evaluations
    assert {name for name, _ in found} == {"shaped", "strict", "lenient", *oracle}


def test_a_worker_refuses_a_reward_that_changed_after_the_gate(base: Path, tmp_path: Path) -> None:
    plan = plans.load(EXAMPLE, SETS)
    run = reported(tmp_path, ("toypkg.rewards:base", {}))
    base.write_text(BASE + "# kinder\n")
    task = variants.Task(plan, run.root, "free", 0, 1)
    with pytest.raises(GateFailed, match=r"the source of reward 'toypkg.rewards:base' changed"):
        variants.train_task(task, lambda event: None, lambda: False)
    assert not run.variant("free", 0).root.exists()


def test_a_run_does_not_go_on_with_another_reward(base: Path, tmp_path: Path) -> None:
    """The run was stopped after its self-test, and the reward is edited before it is resumed."""
    run = reported(tmp_path, ("toypkg.rewards:base", {}), ("slots", {}))
    plan, out = plans.load(EXAMPLE, SETS), run.root
    job = variants.Run(plan, run, "", SETS, (), lambda event: None, lambda: False)
    matrix.freeze(job)
    matrix.freeze(job)  # nothing has changed
    base.write_text(BASE + "# kinder\n")
    arguments = ["run", str(EXAMPLE), "--out", str(out), "--resume", *(a for s in SETS for a in ("--set", s))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "askfirst", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "the source of reward 'toypkg.rewards:base' changed after its self-test" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (out / "free").exists()
