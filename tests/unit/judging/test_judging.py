"""Judges at work: in rollouts, in the records of a training run, in evaluations, and what they sum up to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from askfirst import judging, plugins, provenance, train, watch
from askfirst import plan as plans
from askfirst.contracts.reported import scorer_of
from askfirst.errors import BackendFault, InputError, PluginError
from askfirst.evaluate import Label, evaluate
from askfirst.judgement import Judgement
from askfirst.judging import labelled as labels
from askfirst.policy import Completion, ModelSpec, SampleRequest, Sampling
from askfirst.rollout import Stage
from askfirst.runfolder import VariantFolder
from askfirst.sections import JudgeModel
from askfirst.store import read_as, read_lines, write_lines
from askfirst.values import EvalRecord, FrozenMap, Message, Rollout, StopReason

EXAMPLE = Path(__file__).parents[3] / "examples" / "e2e.toml"


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


# ---- a model that judges


FAIR = '{"invalid_tool_use": 1, "ungrounded_claims": 0, "clarification_before_action": 1, "feedback": "keep to it"}'


def script(path: Path, *lines: dict[str, str]) -> str:
    """A model of backend `scripted`, which says the same to the same."""
    write_lines(path, lines)
    return str(path)


def rollouts(count: int = 2) -> list[Rollout]:
    return [labelled.rollout for labelled in labels.labelled("dev")[:count]]


def test_a_model_is_asked_once_and_what_it_said_is_kept(tmp_path: Path) -> None:
    model = script(tmp_path / "fair.jsonl", {"contains": "", "reply": FAIR})
    section = JudgeModel(name="model", model=model, backend="scripted", max_tokens=400)
    seen = [*rollouts(), rollouts()[0]]
    judge = judging.Judge.named(section, tmp_path / "judge.jsonl")
    one = judge(seen)
    assert [found.flagged for found in one] == [("ungrounded_claims",)] * 3
    assert one[0].judge == f"model@1({model})"
    kept = list(read_lines(tmp_path / "judge.jsonl"))
    assert len(kept) == 2  # the third episode is the first again
    write_lines(tmp_path / "judge.jsonl", [{**line, "text": line["text"].replace("keep", "hold")} for line in kept])
    again = judging.Judge.named(section, tmp_path / "judge.jsonl")
    assert [found.feedback for found in again(seen)] == ["hold to it"] * 3  # it reads, and does not ask
    assert len(list(read_lines(tmp_path / "judge.jsonl"))) == 2


def test_what_was_said_before_a_model_broke_down_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "AT_ONCE", 2)
    model = script(tmp_path / "some.jsonl", {"contains": "zzz", "reply": FAIR})
    section = JudgeModel(name="model", model=model, backend="scripted", max_tokens=400)
    judge = judging.Judge.named(section, tmp_path / "judge.jsonl")
    assert judge.speaker is not None
    policy = judge.speaker.policy
    seen = rollouts(5)
    last = policy.encode(labels_prompt(seen[4]))

    def sample(requests: Sequence[SampleRequest], *given: object) -> list[list[Completion]]:
        if last in [request.prompt_ids for request in requests]:
            raise BackendFault("the line went dead")
        return [[Completion(policy.encode_reply(FAIR), (), StopReason.END)] for _ in requests]

    monkeypatch.setattr(policy, "sample", sample)
    with pytest.raises(BackendFault):
        judge(seen)
    assert len(list(read_lines(tmp_path / "judge.jsonl"))) == 4


def labels_prompt(rollout: Rollout) -> tuple[Message, ...]:
    prompt: tuple[Message, ...] = plugins.load("judges", "model").prompt(rollout.scenario, rollout.trajectory)
    return prompt


def test_what_a_model_says_wrongly_is_counted_and_not_scored(tmp_path: Path) -> None:
    model = script(tmp_path / "vague.jsonl", {"contains": "", "reply": "Looks good, 1/1!"})
    vague = judging.Judge.named(JudgeModel(name="model", model=model, backend="scripted", max_tokens=400))
    found = judging.summary(vague(rollouts()), [True, True])
    assert (found.episodes, found.unparsable, found.mean, found.gap) == (2, 2, None, None)
    model = script(tmp_path / "fair.jsonl", {"contains": "", "reply": FAIR})
    short = judging.Judge.named(JudgeModel(name="model", model=model, backend="scripted", max_tokens=3))
    assert [each.unparsable for each in short(rollouts())] == [judging.CUT_OFF] * 2


def test_a_file_of_replies_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "judge.jsonl", [{"version": 1, "key": "k"}])
    with pytest.raises(InputError, match=r"judge\.jsonl:1"):
        judging.Replies(tmp_path / "judge.jsonl")


def test_a_judge_that_needs_a_model_says_so() -> None:
    with pytest.raises(PluginError, match="needs a model"):
        judging.Judge.named(JudgeModel(name="model"))


def test_an_evaluation_is_read_by_both_judges_and_training_by_one(tmp_path: Path) -> None:
    model = script(tmp_path / "fair.jsonl", {"contains": "", "reply": FAIR})
    held_out = f'{{name = "model", model = "{model}", backend = "scripted", max_tokens = 400}}'
    plan = plans.load(EXAMPLE, ['judge.name="rules"', f"judge.held_out={held_out}"])
    env = plugins.load("envs", plan.env.name)
    policy = plugins.load("backends", "tabular").open_policy(ModelSpec("tabular"), 0)
    own = scorer_of(plan, tmp_path / "kept")
    stage = Stage(env, "", Sampling(400))
    record = evaluate(stage, policy, own, env.scenarios("dev", 4, 1), Label("tabular", "base", "dev"))
    assert [(judged.judge, judged.episodes) for judged in record.judged] == [("rules@1", 4), (f"model@1({model})", 4)]
    assert record.judged[1].mean == pytest.approx(2 / 3)
    assert not (tmp_path / "kept" / "judge.jsonl").exists()
    assert (tmp_path / "kept" / "held_out.jsonl").is_file()


def test_prompt_and_model_of_a_judge_stand_in_the_record(tmp_path: Path) -> None:
    model = script(tmp_path / "fair.jsonl", {"contains": "", "reply": FAIR})
    section = f'{{name = "model", model = "{model}", backend = "scripted"}}'
    plan = plans.load(EXAMPLE, [f"judge={section}"])
    found = provenance.collect(plan, ())
    assert set(found["models"]) == {model, "tabular"}
    assert len(found["prompts"]["model/judge"]) == 64
