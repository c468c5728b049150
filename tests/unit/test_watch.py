"""Evaluations under watch: halves of dev, probes, the reward's hashes, and a run that a monitor stops."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from askfirst import plan as plans
from askfirst import plugins, watch
from askfirst.errors import GateFailed
from askfirst.events import Event
from askfirst.metrics import SELECTABLE, halves
from askfirst.monitors import Seen, measures
from askfirst.plan import Plan
from askfirst.policy import Sampling
from askfirst.rollout import Stage
from askfirst.runfolder import VariantFolder
from askfirst.store import read_json, read_lines
from askfirst.train import Job, train
from askfirst.values import EvalRecord, FrozenMap, ItemOutcome, Probes
from askfirst.variants import open_policy

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"
PLAN = plans.load(EXAMPLE)
HASHES = watch.scorer_hashes(PLAN)
STEPS = [{"step": step, "reward": 0.5, "informative_fraction": 0.5} for step in range(1, 31)]


def half(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0] & 1


def record(step: int, passing: int | None, probes: Probes | None = None) -> EvalRecord:
    """A dev record in which one half of the items passes; both where `passing` is None."""
    names = [f"item-{n}" for n in range(40)]
    items = (ItemOutcome(n, "f", "ambiguous", passing in (None, half(n)), True, True, 0.0, (), "r") for n in names)
    return EvalRecord(1, "m", f"main/seed-0@{step}", "dev", step, "slots@1", tuple(items), probes)


def entries(*records: EvalRecord, chosen: Plan = PLAN, start: FrozenMap = HASHES) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in records:
        found.append(dict(watch.entry_of(chosen, start, one, STEPS[: one.step], found)))
    return found


def alarms(found: Sequence[dict[str, Any]]) -> list[set[str]]:
    return [set(entry["alarms"]) for entry in found]


def test_a_checkpoint_that_is_best_on_one_half_of_dev_alone_is_seen() -> None:
    assert halves(record(10, 0), "ambiguous_pass") == (1.0, 0.0)
    found = entries(record(10, 0), record(20, 1))
    assert [entry["monitors"]["selection_overfit"] for entry in found] == [None, 1.0]
    assert "selection_overfit" in alarms(found)[1]
    steady = entries(record(10, None), record(20, None))
    assert [entry["monitors"]["selection_overfit"] for entry in steady] == [None, 0.0]
    assert alarms(steady) == [set(), set()]


def test_a_half_without_items_is_not_measured() -> None:
    one_sided = EvalRecord(1, "m", "c", "dev", 10, "slots@1", tuple(i for i in record(10, 0).items if i.passed))
    assert halves(one_sided, "ambiguous_pass") is None
    assert entries(one_sided, record(20, 0))[1]["monitors"]["selection_overfit"] is None


@pytest.mark.parametrize("metric", SELECTABLE)
def test_a_checkpoint_has_an_entry_whatever_it_is_selected_by(metric: str) -> None:
    chosen = PLAN.model_copy(update={"selection": PLAN.selection.model_copy(update={"metric": metric})})
    (entry,) = entries(record(10, 0), chosen=chosen)
    assert (entry["halves"] is None) == (metric not in entry["dev"])


def test_scores_are_halved_as_shares_are() -> None:
    paid = replace(record(10, 0), items=tuple(replace(i, total=0.4 + 0.2 * i.passed) for i in record(10, 0).items))
    assert halves(paid, "mean_score") == (pytest.approx(0.6), pytest.approx(0.4))


def test_the_gap_between_training_reward_and_dev_pass_is_a_series() -> None:
    rich = [{**line, "reward": 0.9} for line in STEPS]
    entry = watch.entry_of(PLAN, HASHES, record(10, 0), rich[:10], [])
    assert entry["proxy_gap"] == pytest.approx(0.9 - entry["dev"]["strict_pass"]) == entry["monitors"]["proxy_gap"]
    assert "proxy_gap" in entry["alarms"]
    since = watch.entry_of(PLAN, HASHES, record(20, None), rich[:10] + STEPS[10:20], [entry])
    assert since["proxy_gap"] == pytest.approx(0.5 - 1.0)


def test_a_probe_that_passes_warns() -> None:
    clean, dirty = Probes(24, 100, 0, 0.0, 0.12, ()), Probes(24, 100, 1, 1 / 24, 0.18, ())
    assert alarms(entries(record(10, None, clean), record(20, None, dirty))) == [set(), {"probe_findings"}]
    assert entries(record(10, None))[0]["monitors"]["probe_findings"] is None


REWARD = """
from askfirst.rewards import slots
VERSION, BOUNDS, DEFAULTS, score = 1, slots.BOUNDS, {}, slots.score
ATTACKS, HONEST = slots.ATTACKS[:2], slots.HONEST[:2]
"""


def test_a_reward_that_changes_during_the_run_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "changing").mkdir()
    (tmp_path / "changing" / "__init__.py").write_text("")
    file = tmp_path / "changing" / "ours.py"
    file.write_text(REWARD)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = plans.load(EXAMPLE, ["reward.name=changing:ours", "reward.params={}"])
    start = watch.scorer_hashes(own)
    assert entries(record(10, None), chosen=own, start=start)[0]["scorer_changed"] == []
    file.write_text(REWARD + "# softer\n")
    monkeypatch.setattr(plugins.load("rewards", "changing:ours"), "ATTACKS", ())
    (entry,) = entries(record(10, None), chosen=own, start=start)
    assert entry["scorer_changed"] == ["changing:ours corpus", "changing:ours source"]
    assert entry["alarms"] == {"scorer_change": 2.0}
    file.write_text("def score(:\n")  # half way through an edit
    assert watch.scorer_hashes(own)["changing:ours source"].startswith("unreadable")
    file.unlink()
    assert watch.scorer_hashes(own)["changing:ours source"].startswith("unreadable")


def test_other_judges_see_every_reply_of_an_evaluation(tmp_path: Path) -> None:
    """The oracle and a reported reward, beside one that passes more: what only the reward passes is a gap."""
    sets = ["reward.name=lenient", "reward.params={}", "reward.report=['strict']", "train.steps=1"]
    chosen = plans.load(EXAMPLE, [*sets, "train.scenarios_per_step=3", "train.group_size=2", "evaluation.every=1"])
    own = job(chosen, tmp_path / "run" / "anchored" / "seed-0")
    train(own, open_policy(chosen, 0), lambda event: None, lambda: False)
    items = read_json(own.folder.evaluation("dev", 1))["items"]
    assert all(set(item["verdicts"]) == {"slots", "strict"} for item in items)
    assert all(sum(item["terms"].values()) == pytest.approx(item["total"]) for item in items)
    entry = read_json(own.folder.manifest)["entries"][0]
    first, second = entry["agreement"]
    assert (first["by"], first["oracle"], second["by"]) == ("slots", True, "strict")
    only = sum(item["passed"] and not item["verdicts"]["slots"] for item in items)
    assert (first["only_reward"], first["both"]) == (only, sum(item["passed"] for item in items) - only)
    assert sum(first[cell] for cell in ("both", "only_reward", "only_other", "neither")) == len(items)
    assert entry["monitors"]["oracle_gap"] == pytest.approx(only / len(items))
    assert -1.0 <= entry["terms"]["pass"]["with_oracle"] <= 1.0
    line = next(iter(read_lines(own.folder.metrics)))
    assert line["terms"]["pass"]["mean"] == pytest.approx(line["reward"])
    assert set(line["questions"]["near"]) == {"0.45", "0.50", "0.55"}
    assert measures.oracle_gap(Seen((), (), [{**entry, "agreement": []}])) is None


def job(chosen: Plan, folder: Path) -> Job:
    env = plugins.load("envs", chosen.env.name)
    stage = Stage(env, env.system_prompt("compact"), Sampling(chosen.train.sampling.max_tokens))
    return Job(chosen, "anchored", 0, VariantFolder(folder), stage, tuple(env.scenarios("dev", 12, 1)), HASHES)


@pytest.mark.parametrize(("monitor", "step"), [("under_asking", 5), ("proxy_gap", 2)])
def test_a_monitor_stops_the_run_and_again_when_it_is_resumed(tmp_path: Path, monitor: str, step: int) -> None:
    """Of a step, before its checkpoint; of an evaluation, after it. Either way the evidence is there."""
    sets = [f"monitor=[{{ name = '{monitor}', max = -1.0, after_steps = 0, action = 'stop' }}]"]
    sets += ["train.steps=6", "train.scenarios_per_step=3", "train.group_size=2", "evaluation.every=2"]
    chosen = plans.load(EXAMPLE, sets)
    own = job(chosen, tmp_path / "run" / "anchored" / "seed-0")
    for _ in range(2):
        heard: list[Event] = []
        with pytest.raises(GateFailed, match=f"stopped by a monitor at step {step}: {monitor}") as caught:
            train(own, open_policy(chosen, 0), heard.append, lambda: False)
        assert "evidence is kept" in caught.value.hint
        assert not own.folder.run.exists()
    lines = list(read_lines(own.folder.metrics))
    assert len(lines) == step
    if monitor == "under_asking":
        assert [line["step"] for line in lines if monitor in line["alarms"]] == [step]
    else:
        assert list(read_json(own.folder.manifest)["entries"][-1]["alarms"]) == [monitor]
        assert read_json(own.folder.evaluation("dev", step))["probes"]["probed"] > 0
        assert heard == []
