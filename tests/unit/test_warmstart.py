"""The supervised stage: who is shown what, and when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askfirst import plugins
from askfirst.cases import play
from askfirst.contracts.policies import episode, policies
from askfirst.errors import EnvironmentFault
from askfirst.judging import Judge
from askfirst.notes import FEEDBACK, SOLVED
from askfirst.policy import ModelSpec, Sampling
from askfirst.replies import parse_reply
from askfirst.rollout import Scorer, Stage, judged
from askfirst.sections import TeacherSection, WarmstartSection
from askfirst.teaching import feedback
from askfirst.warmstart import (
    CrossEntropy,
    Noting,
    criticism,
    demonstration_rows,
    demonstration_scenarios,
    dialogue_row,
    with_notes,
)

ENV = plugins.load("envs", "judgment")
STAGE = Stage(ENV, ENV.system_prompt("compact"), Sampling(64))
SECTION = WarmstartSection(steps=10, batch=40, guessing_share=1.0, guesses_after=0.5)


def asked(section: WarmstartSection, step: int) -> list[bool]:
    """Whether each ambiguous demonstration of a step asks."""
    policy = plugins.load("backends", "tabular").open_policy(ModelSpec("tabular"), 0)
    rows = demonstration_rows(STAGE, policy, section, (step, 3))
    replies = [policy.decode(tuple(row.token_ids[row.mask].tolist())) for row in rows]
    scenarios = demonstration_scenarios(ENV, section.batch, 3)
    return [parse_reply(r).intent == "clarify" for r, s in zip(replies, scenarios, strict=True) if s.ambiguous]


def test_guesses_come_after_their_share_of_the_steps() -> None:
    assert all(asked(SECTION, 4))
    assert not any(asked(SECTION, 5))


def test_a_share_of_the_demonstrations_guesses() -> None:
    some = asked(SECTION.model_copy(update={"guesses_after": 0.0, "guessing_share": 0.5, "batch": 200}), 0)
    assert 0.3 < np.mean(some) < 0.7


def test_half_of_the_scenarios_are_ambiguous_and_the_rest_is_of_every_kind() -> None:
    drawn = demonstration_scenarios(ENV, 80, 1)
    assert sum(s.ambiguous for s in drawn) == 40
    assert {s.stratum for s in drawn} >= {"ambiguous", "clear_twin", "out_of_scope", "destructive", "action"}


def test_cross_entropy_is_the_mean_over_the_demonstrated_tokens() -> None:
    policy = plugins.load("backends", "tabular").open_policy(ModelSpec("tabular"), 0)
    rows = demonstration_rows(STAGE, policy, SECTION, (0, 1))[:3]
    loss = CrossEntropy(rows)
    logprobs = [np.where(row.mask, -0.5 * (i + 1), 0.0) for i, row in enumerate(rows)]
    tokens = [int(row.mask.sum()) for row in rows]
    value = sum(loss(i, lp)[0] for i, lp in enumerate(logprobs))
    assert value == pytest.approx(sum(0.5 * (i + 1) * n for i, n in enumerate(tokens)) / sum(tokens))
    nudge = 1e-6
    for i, lp in enumerate(logprobs):
        where = int(rows[i].mask.argmax())
        moved = lp.copy()
        moved[where] += nudge
        assert loss(i, lp)[1][where] == pytest.approx((loss(i, moved)[0] - loss(i, lp)[0]) / nudge, rel=1e-4)
        assert (loss(i, lp)[1][~rows[i].mask] == 0).all()


def test_a_demonstrated_episode_is_a_row_of_all_its_turns() -> None:
    env = plugins.load("envs", "clarify")
    policy = plugins.load("backends", "scripted").Scripted([plugins.load("backends", "scripted").Line("", "x")])
    stage = Stage(env, "", Sampling(64))
    scenario = env.scenarios("train", 1, 0, {"ambiguous": 1})[0]
    [shown] = [d for d in env.demonstrations(scenario) if not d.guess]
    replies = (shown.reply, *shown.then)
    assert len(replies) > 1
    row = dialogue_row(stage, policy, scenario, replies)
    said = policy.encode_reply(replies[0]), policy.encode_reply(replies[-1])
    assert tuple(row.token_ids[row.mask])[: len(said[0])] == said[0]
    assert tuple(row.token_ids[row.mask])[-len(said[1]) :] == said[1]
    assert row.mask.sum() == sum(len(policy.encode_reply(r)) for r in replies)
    one_turn = dialogue_row(stage, policy, scenario, replies[:1])
    assert tuple(one_turn.token_ids) == tuple(row.token_ids[: len(one_turn.token_ids)])
    with pytest.raises(EnvironmentFault, match="after the end of its episode"):
        dialogue_row(stage, policy, scenario, (*replies, replies[-1]))


def test_a_share_is_shown_a_sibling_that_passed_and_does_as_it_did() -> None:
    env = plugins.load("envs", "clarify")
    policy = plugins.load("backends", "scripted").Scripted([plugins.load("backends", "scripted").Line("", "x")])
    stage = Stage(env, "", Sampling(64))
    section = SECTION.model_copy(update={"guesses_after": 0.0, "batch": 60, "noted_share": 0.5})
    teacher = TeacherSection(context="sibling", closing="Do so.", place="before")
    rows = demonstration_rows(stage, policy, section, (0, 3), Noting(teacher, Scorer.named("utility")))
    noted = honest = 0
    for scenario, row in zip(demonstration_scenarios(env, 60, 3), rows, strict=True):
        text = policy.decode(tuple(row.token_ids.tolist()))
        if "[notes]" not in text:
            continue
        noted += 1
        before, _, after = text.partition("Do so.\n[end of notes]")
        assert env.start(scenario)[-1].content in after
        [good] = {(d.reply, *d.then) for d in env.demonstrations(scenario) if not d.guess}
        assert all(reply in before for reply in good)
        assert row.mask.sum() == sum(len(policy.encode_reply(reply)) for reply in good)
        honest += scenario.ambiguous
    assert 20 <= noted <= 40
    assert honest >= 8
    unnoted = demonstration_rows(
        stage, policy, section.model_copy(update={"noted_share": 0.0}), (0, 3), Noting(teacher, Scorer.named("utility"))
    )
    assert not any("[notes]" in policy.decode(tuple(row.token_ids.tolist())) for row in unnoted)


@pytest.mark.parametrize(
    ("context", "found"),
    [
        ("sibling", {(True, False)}),
        ("feedback", {(False, True)}),
        ("sibling_else_feedback", {(True, False), (False, True)}),
        ("both", {(True, False), (False, True), (True, True)}),
    ],
)
def test_notes_show_what_the_teacher_of_the_plan_is_shown(context: str, found: set[tuple[bool, bool]]) -> None:
    env = plugins.load("envs", "retail")
    scorer = replace(Scorer.named("retail"), judge=Judge(plugins.load("judges", "rules")))
    noting = Noting(TeacherSection(context=context), scorer)
    random, seen = np.random.default_rng(0), set()
    for scenario in env.scenarios("train", 12, 3):
        text = with_notes(Stage(env, "", Sampling(64)), scenario, noting, random)[-1].content
        seen.add((SOLVED in text, FEEDBACK in text))
        [honest] = {(d.reply, *d.then) for d in env.demonstrations(scenario) if not d.guess}
        assert (SOLVED in text) is (honest[-1] in text)
    assert seen == found


def test_feedback_is_what_the_judge_says_of_a_habit_that_fails() -> None:
    env = plugins.load("envs", "retail")
    scorer = replace(Scorer.named("retail"), judge=Judge(plugins.load("judges", "rules")))
    [scenario] = env.scenarios("train", 1, 3, {"ambiguous": 1.0})
    said = {criticism(env, scenario, scorer, np.random.default_rng(seed)) for seed in range(30)}
    episodes = [episode(env, scenario, habit(scenario)) for habit in policies(env).values()]
    rollouts = [judged(env, scorer, scenario, 0, each) for each in episodes]
    failed = [rollout for rollout in rollouts if not rollout.score.passed]
    assert len(said) > 2
    assert said <= {judgement.feedback for judgement in scorer.judge(failed)}
    by_reward = criticism(env, scenario, replace(scorer, judge=None), np.random.default_rng(0))
    assert by_reward in {feedback(rollout) for rollout in failed}


def test_demonstrated_episodes_of_clarify_are_whole_and_optimal() -> None:
    env, utility = plugins.load("envs", "clarify"), Scorer.named("utility")
    for scenario in env.scenarios("train", 20, 3):
        for each in env.demonstrations(scenario):
            score = utility.score(scenario, play(env, scenario, (each.reply, *each.then)))
            assert score.passed is not each.guess
