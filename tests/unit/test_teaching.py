"""What a teacher is shown, how a trajectory is scored behind it, and what a step makes of that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from askfirst import plan as plans
from askfirst import plugins, teaching
from askfirst.backends.scripted import Line, Scripted
from askfirst.backends.tabular import Tabular
from askfirst.batches import make_rows
from askfirst.credit import Evidence
from askfirst.errors import EnvironmentFault, PlanError
from askfirst.judgement import Judgement
from askfirst.notes import BEGIN, Notes, parted, shown
from askfirst.policy import Choosing, Sampling, StepSettings, Teacher
from askfirst.replies import Reply
from askfirst.rollout import Batch, Draw, Scorer, Stage, rollouts
from askfirst.sections import TeacherSection, TrainSection
from askfirst.steps import Method, Objective, learn
from askfirst.store import generator
from askfirst.values import (
    Act,
    FrozenMap,
    Group,
    Message,
    Rollout,
    Scenario,
    Score,
    Segment,
    StopReason,
    Trajectory,
)

ENV = plugins.load("envs", "judgment")
STAGE = Stage(ENV, "", Sampling(400))
OPENING = (Message("system", "be brief"), Message("user", "user said: send the draft"))
SCENARIO = Scenario("s", "f", "ambiguous", "train", True, OPENING[1:], FrozenMap())
SECTION = TeacherSection(context="both")


def rollout(index: int, *said: str, passed: bool = False, failures: tuple[str, ...] = ()) -> Rollout:
    """An episode on Tabular's tokens: the policy's words, and between them those of the user."""
    policy = Tabular()
    messages, segments = OPENING, [Segment(policy.encode(OPENING), False)]
    for turn, text in enumerate(said):
        mine = turn % 2 == 0
        messages = (*messages, Message("assistant" if mine else "user", text))
        ids = (20, 300 + len(text), 0) if mine else policy.encode_next(messages)
        segments.append(Segment(ids, mine, (-0.7, 0.0, 0.0) if mine else ()))
    score = Score(float(passed), FrozenMap({"pass": float(passed)}), passed, failures, "r@1")
    return Rollout(SCENARIO, index, Trajectory(messages, tuple(segments), StopReason.END), Act("a"), score)


def notes(group: Group, **settings: object) -> list[Notes]:
    return teaching.notes_of([group], TeacherSection.model_validate({"context": "both", **settings}))


GROUP = Group(
    SCENARIO,
    (
        rollout(0, "i sent it", failures=("did_not_ask", "echo")),
        rollout(1, "which draft?", passed=True),
        rollout(2, "which draft?", passed=True),
        rollout(3, "which of the two?", passed=True),
    ),
)


def test_a_rollout_is_shown_a_sibling_in_other_words_than_its_own_and_what_was_wrong() -> None:
    found = notes(GROUP)
    assert found[0] == Notes("which draft?", "did not ask, echo")
    assert found[1] == found[2] == Notes("which of the two?")
    assert found[3] == Notes("which draft?")
    for own, each in zip(GROUP.rollouts, found, strict=True):
        assert own.trajectory.reply not in each.text("")


def test_the_plan_says_what_is_shown() -> None:
    assert notes(GROUP, context="sibling_else_feedback")[0] == Notes("which draft?")
    assert notes(GROUP, context="sibling")[0] == Notes("which draft?")
    assert notes(GROUP, context="feedback")[0] == Notes("", "did not ask, echo")
    assert not notes(GROUP, context="feedback")[1]
    assert notes(GROUP, threshold=2.0)[0] == Notes("", "did not ask, echo")
    alone = Group(SCENARIO, (GROUP.rollouts[0], rollout(1, "which draft?", passed=True)))
    assert not notes(alone)[1]  # a lone success has nothing to be shown
    judged = replace(GROUP.rollouts[0], judgement=Judgement("j@1", {"asks": 0}, "Ask first."))
    assert notes(Group(SCENARIO, (judged,)))[0] == Notes("", "Ask first.")


def test_notes_stand_in_the_last_message_and_are_told_from_it_again() -> None:
    given = Notes("which draft?", "echo")
    for before in (True, False):
        first, last = shown(OPENING, given, "now do it", before=before)
        assert first == OPENING[0]
        assert last.content.startswith(BEGIN) is before
        assert parted(last.content) == (OPENING[1].content, "which draft?")
    assert shown(OPENING, Notes(), "now do it", before=True) == OPENING
    assert parted("nothing [notes] to see") == ("nothing [notes] to see", "")
    with pytest.raises(EnvironmentFault, match="assistant"):
        shown((Message("assistant", "hm"),), given, "", before=True)


def test_a_dialogue_is_scored_as_the_same_segments_behind_another_opening() -> None:
    """Whatever comes between its turns is seen and not compared; its own tokens stand in their order."""
    said = ("which draft?", "the second", "sent it", "thanks", "bye")
    group = Group(SCENARIO, (rollout(0, *said, failures=("echo",)), rollout(1, "a", "b", "c", passed=True)))

    class Spy(Tabular):
        def logprobs(self, rows, reference=False):
            if reference:
                self.behind = list(rows)
            return [np.where(r.mask, -1.0 - np.arange(len(r.mask)) * (not reference), 0.0) for r in rows]

    policy = Spy()
    lesson = teaching.teach(policy, [group], SECTION, notes_both := notes(group))
    assert notes_both[0].solution == "assistant: a\nuser: b\nassistant: c"
    row = policy.behind[0]
    own = group.rollouts[0].trajectory.segments
    opening = policy.encode(shown(OPENING, notes_both[0], SECTION.closing, before=False))
    assert tuple(row.token_ids) == (*opening, *(t for s in own[1:] for t in s.token_ids))
    assert tuple(row.token_ids[row.mask]) == tuple(t for s in own if s.sampled for t in s.token_ids)
    assert (lesson.evidence[0].teacher[0] == -1.0).all()
    places = [i for s, start in zip(own, np.cumsum([0, *(len(s.token_ids) for s in own)])[:-1], strict=True)
              for i in range(start, start + len(s.token_ids)) if s.sampled]  # fmt: skip
    assert lesson.evidence[0].policy[0][:, 0].tolist() == [-1.0 - i for i in places]
    assert lesson.tokens == len(row.token_ids) + sum(len(s.token_ids) for s in own)


def batch(policy: Tabular, step: int = 0) -> Batch:
    return rollouts(STAGE, policy, Scorer.named("slots"), ENV.scenarios("train", 6, step), Draw(0, step, 6))


def method(rule: str = "sdpo_token", **teacher: object) -> Method:
    train = TrainSection.model_validate({"steps": 1, "lr": 0.01, "advantage": rule, "loss": "importance_sampling"})
    return Method.of(train, TeacherSection.model_validate({"context": "both", **teacher}))


def test_what_is_shown_nothing_learns_nothing_and_what_is_shown_a_critique_does() -> None:
    policy = Tabular()
    groups, chosen = batch(policy).groups, method()
    count = sum(len(g.rollouts) for g in groups)
    for section in (TeacherSection(kind=kind) for kind in ("frozen", "live", "ema", "trust_region")):
        silent = teaching.teach(policy, groups, section, [Notes()] * count)
        assert all((row.advantages == 0.0).all() for row in chosen.rows(groups, silent))
        assert silent.tokens == 0
    right = Reply("who?", "clarify", {"question": "who?", "topic": "recipient"}).text()
    told = teaching.teach(policy, groups, SECTION, [Notes(right)] * count)
    assert all((row.advantages != 0.0).any() for row in chosen.rows(groups, told))
    seen = chosen.measured(told, chosen.rows(groups, told))
    assert seen is not None
    assert seen.taught_fraction == seen.sibling_fraction == 1.0
    assert seen.feedback_fraction == 0.0
    assert seen.kl_nats > 0.0
    assert seen.moved_fraction > 0.0
    short = teaching.teach(policy, groups, TeacherSection(max_tokens=5), [Notes(right)] * count)
    assert (short.too_long, short.tokens) == (count, 0)


def test_identical_contexts_give_exactly_nothing() -> None:
    """A teacher that is asked behind the very same opening, before any step, is the policy to the bit."""
    policy = Tabular()
    rows = make_rows(batch(policy).groups, plugins.load("advantages", "dr_grpo"), {})
    own = policy.logprobs(rows)
    for kind in ("frozen", "live", "ema", "trust_region"):
        other = teaching.teacher_logprobs(policy, rows, Teacher(kind))
        assert all(np.array_equal(a, b) for a, b in zip(own, other, strict=True))


def test_the_advantages_of_a_group_reproduce_the_stock_gradient() -> None:
    policy = Tabular()
    groups, rule = batch(policy).groups, plugins.load("advantages", "dr_grpo")
    stock = make_rows(groups, rule, {})

    class Spread:
        @staticmethod
        def advantages(evidence, params):
            found = rule.advantages(evidence, params)
            return [np.full(len(lp), a) for a, lp in zip(found, evidence.policy, strict=True)]

    lesson = teaching.teach(policy, groups, SECTION, [Notes("x", "y")] * len(stock))
    ours = make_rows(groups, Spread, {}, lesson.evidence, lesson.alternatives)
    weights = [1.0 / len(stock)] * len(stock)
    found = [policy.update(rows, Objective(method(), rows, weights, True), StepSettings(0.0)) for rows in (stock, ours)]
    assert (found[0].value, found[0].grad_norm) == (found[1].value, found[1].grad_norm)
    assert found[0].grad_norm > 0


def test_rows_are_dropped_on_advantage_not_on_the_spread_of_rewards() -> None:
    policy, chosen = Tabular(), method(context="sibling")
    played = batch(policy)
    same = Score(1.0, FrozenMap({"pass": 1.0}), True, (), "r@1")
    level = tuple(Group(g.scenario, tuple(replace(r, score=same) for r in g.rollouts)) for g in played.groups)
    rows = chosen.rows(level, chosen.lesson(policy, level))
    update = learn(policy, Batch(level, ()), chosen, 0.01)
    assert update.learning.taught is not None
    assert update.learning.taught.sibling_fraction > 0
    assert 0 < update.learning.rows_dropped == sum(not (r.advantages != 0).any() for r in rows) < len(rows)
    assert update.learning.grad_norm > 0
    assert update.teacher_tokens > 0
    stock = learn(policy, Batch(level, ()), Method.of(TrainSection(steps=1, lr=0.01)), 0.01)
    assert (stock.learning.rows_dropped, stock.learning.taught, stock.teacher_tokens) == (len(rows), None, 0)


def test_an_average_teacher_follows_after_every_step_and_only_then() -> None:
    policy, chosen = Tabular(), method(kind="ema", rate=0.25)
    learn(policy, batch(policy), chosen, 0.01)
    assert np.array_equal(policy._average, 0.25 * policy._weights)
    other = Tabular()
    learn(other, batch(other), method(kind="frozen"), 0.01)
    assert other._average is None


@pytest.mark.parametrize("kind", ["frozen", "live", "ema", "trust_region"])
def test_teachers_of_the_tabular_policy(kind: str, tmp_path: Path) -> None:
    policy, other, rows = Tabular(), Tabular(), []
    for name in ("_weights", "_reference", "_average"):
        setattr(policy, name, generator("teacher", name).normal(size=policy._weights.shape))
    rows = make_rows(batch(policy).groups, plugins.load("advantages", "dr_grpo"), {})
    expected = {
        "frozen": policy._reference,
        "live": policy._weights,
        "ema": policy._average,
        "trust_region": 0.7 * policy._reference + 0.3 * policy._weights,
    }
    found = policy.teacher_logprobs(rows, Teacher(kind, 0.3))
    other._weights = expected[kind]
    for a, b in zip(found, other.logprobs(rows), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    policy.save(tmp_path)
    other.load(tmp_path)
    again = other.teacher_logprobs(rows, Teacher(kind, 0.3))
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))


def test_what_a_backend_lacks_is_refused() -> None:
    script = Scripted([Line("", "hello")])
    with pytest.raises(PlanError, match="no teacher 'ema'"):
        teaching.teacher_logprobs(script, [], Teacher("ema"))
    assert teaching.teacher_logprobs(script, [], Teacher("frozen")) == []
    assert not isinstance(Tabular(), Choosing)
    with pytest.raises(PlanError, match="alternatives"):
        learn(Tabular(), batch(Tabular()), method("sdpo_topk"), 0.01)
    with pytest.raises(PlanError, match=r"\[teacher\]"):
        Method.of(TrainSection(steps=1, lr=0.1, advantage="sdpo_token"))


def test_arms_may_differ_in_the_advantage_alone() -> None:
    plan = plans.load(Path(__file__).parents[2] / "examples" / "sdpo-judgment-tabular.toml")
    assert plans.contrast(plan) == ("train.advantage",)
    own = plans.resolved(plan)
    assert Method.of(own["grpo"].train, own["grpo"].teacher).teacher is None
    assert Method.of(own["sdpo"].train, own["sdpo"].teacher).teacher == plan.teacher


def test_alternatives_are_learnt_from_beside_the_token() -> None:
    """A row of two sampled tokens with two alternatives each: value and slope are those of six tokens."""
    evidence = Evidence(np.zeros(1), (np.full((3, 3), -1.0),), (np.full((3, 3), -1.0),))
    rule = type("R", (), {"advantages": staticmethod(lambda e, p: [np.arange(9.0).reshape(3, 3)])})
    group = Group(SCENARIO, (rollout(0, "which?"),))
    (row,) = make_rows([group], rule, {}, [evidence], [np.array([[7, 8]] * 3)])
    assert row.alternatives is not None
    assert row.sampler_logprobs[row.mask][0].tolist() == [-0.7, -1.0, -1.0]
    lp = np.where(row.mask[:, None], -1.0, 0.0) * np.ones((1, 3))
    value, slope = Objective(method(), [row], [0.5], True)(0, lp)
    assert value == pytest.approx(-0.5 * 36)
    assert slope[row.mask].ravel() == pytest.approx(-0.5 * np.arange(9.0))
    assert not slope[~row.mask].any()
