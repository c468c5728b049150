"""Judges at work: in rollouts, in the records of a training run, in evaluations, and what they sum up to."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import judging, plugins, train, watch
from askfirst import plan as plans
from askfirst.contracts.reported import scorer_of
from askfirst.judgement import Judgement
from askfirst.policy import ModelSpec, Sampling
from askfirst.rollout import Stage
from askfirst.runfolder import VariantFolder
from askfirst.store import read_as, read_lines
from askfirst.values import EvalRecord, FrozenMap

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"


def said(one: int, other: int, feedback: str = "") -> Judgement:
    return Judgement("j@1", FrozenMap({"grounded": one, "asks": other}), feedback)


UNREADABLE = Judgement("j@1", FrozenMap(), "", "not an object")


def test_a_summary_counts_what_could_not_be_read_and_nothing_else_of_it() -> None:
    found = judging.summary([said(1, 0, "ask"), UNREADABLE, said(1, 1), said(0, 0)], [False, True, True, False])
    assert (found.episodes, found.unparsable, found.critiqued) == (4, 1, 0.25)
    assert dict(found.scores) == {"grounded": pytest.approx(2 / 3), "asks": pytest.approx(1 / 3)}
    assert (found.mean, found.oracle) == (pytest.approx(0.5), pytest.approx(1 / 3))
    assert found.gap == pytest.approx(1 / 6)


def test_where_nothing_could_be_read_there_is_no_number() -> None:
    found = judging.summary([UNREADABLE], [True])
    assert (found.mean, found.oracle, found.gap, found.unparsable) == (None, None, None, 1)
    assert judging.summary([said(1, 1)], None).gap is None
    with pytest.raises(ValueError, match="no scores: not an object"):
        _ = UNREADABLE.mean
    with pytest.raises(ValueError, match="no judgement"):
        judging.summary([], None)


def test_a_run_records_what_its_judge_says(tmp_path: Path) -> None:
    sets = ["train.steps=1", "evaluation.every=1", "evaluation.dev_items=8", 'judge.name="rules"']
    plan = plans.load(EXAMPLE, sets)
    env = plugins.load("envs", plan.env.name)
    stage, dev = Stage(env, "", Sampling(400)), tuple(env.scenarios("dev", 8, 1))
    folder = VariantFolder(tmp_path / "seed-0")
    job = train.Job(plan, "anchored", 0, folder, stage, dev, watch.scorer_hashes(plan))
    policy = plugins.load("backends", "tabular").open_policy(ModelSpec("tabular"), 0)
    train.train(job, policy, lambda event: None, lambda: False)
    [line] = read_lines(folder.metrics)
    rollouts = list(read_lines(folder.last_rollouts))
    means = [sum(r["judgement"]["scores"].values()) / 3 for r in rollouts]
    assert line["judge"]["mean"] == pytest.approx(sum(means) / len(means))
    assert line["judge"]["gap"] == pytest.approx(line["judge"]["mean"] - line["strict_pass"])
    assert all(bool(r["judgement"]["feedback"]) is not r["score"]["passed"] for r in rollouts)
    [judged] = read_as(EvalRecord, folder.evaluation("dev", 1)).judged
    assert (judged.judge, judged.episodes) == ("rules@1", 8)


def test_a_plan_without_a_judge_has_none() -> None:
    assert scorer_of(plans.load(EXAMPLE)).judge is None
