"""The published ClarifyRL rewards: amounts by hand, quirks, and what they pay for each exploit beside `utility`."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from benchmarks import clarifyrl_holes

from askfirst import plugins
from askfirst.cases import Case
from askfirst.clarify.clarifyrl import Call, Setting, parts, replay, same, scope_of
from askfirst.clarify.exploits import EXPLOITS, PROPER, Exploit
from askfirst.contracts.policies import earnings, prefers_honesty
from askfirst.contracts.rewards import self_test
from askfirst.errors import RewardFault
from askfirst.values import FrozenMap, Score

CODE, CARD, UTILITY = (plugins.load("rewards", name) for name in ("clarifyrl_code", "clarifyrl_card", "utility"))
PARTY = Setting(
    {"event_type": "farewell", "guest_count": 20, "date": "tomorrow", "theme": "none"},
    ("event_type", "guest_count", "date"),
    ("event_type", "guest_count"),
    scope_of("event_planning"),
)
PLAN = '{"event_type": "farewell", "guest_count": 20, "date": "today", "venue": "home"}'


def paid(reward: ModuleType, each: Exploit, **params: object) -> Score:
    case = Case(each.name, each.family, each.scenario, each.said, 0.0, each.why, "clarify")
    found: Score = reward.score(case.scenario, case.trajectory(), FrozenMap(params))
    return found


def named(name: str) -> Exploit:
    return next(each for each in (*PROPER, *EXPLOITS) if each.name == name)


def test_components_by_hand() -> None:
    found = parts(PARTY, PLAN, ("guest_count", "venue"), 3)
    assert found.format == 1.0
    assert found.field_match == pytest.approx((2 + 2) / (2 + 2 + 2 + 1))
    assert found.info_gain == pytest.approx(1 / 3)
    assert found.efficiency == pytest.approx(0.5)
    assert found.hallucination == pytest.approx(1 - 2 / 4)
    assert found.code == pytest.approx(0.5 * 4 / 7 + 0.2 / 3 + 0.15 * 0.5 + 0.15 * 0.5)
    assert found.card == pytest.approx(0.6 * 4 / 7 + 0.2 * 0.5 + 0.2)


def test_the_gate_is_the_codes_alone() -> None:
    found = parts(PARTY, '{"event_type": "farewell", "guest_count": " "}', (), 0)
    assert (found.format, found.code) == (0.0, 0.0)
    assert found.card == pytest.approx(0.6 * 2 / 7 + 0.2)


@pytest.mark.parametrize(
    "plan", [None, "", "a party", "[]", "null", "```{}```", '{"n": ' + "1" * 5000 + "}", "[" * 9999]
)
def test_what_is_no_object_has_no_keys(plan: str | None) -> None:
    found = parts(PARTY, plan, (), 6)
    assert (found.format, found.field_match, found.efficiency, found.hallucination) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Next_Week", "next-week", True),
        ("  a   b ", "a b", True),
        ("2e1", 20, True),
        ("-20", 20, True),
        (None, "none", True),
        (True, "true", True),
        ("gmeet", "google-meet", True),
        ("gmeet", "meet", False),
        ("about 20", 20, False),
        (20.5, 20, False),
    ],
)
def test_equal_values(one: object, other: object, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


def test_an_episode_by_hand() -> None:
    ask, plan = "ask_question", Call("propose_plan", {"plan": PLAN})
    question = {"question": "?"}
    calls = [
        Call(ask, question, ("guest_count",)),
        Call("no_such_tool"),  # is paid what the call before it was paid
        Call(ask, question),
        Call(ask, question, ("guest_count",)),
        Call("get_task_info"),
        Call("propose_plan", {"plan": {}}),
        plan,
        plan,
    ]
    found = replay(PARTY, calls, 10)
    score = 0.5 * 4 / 7 + 0.2 / 3 + 0.15 * 0.5 + 0.15 * 0.25
    assert [step.reward for step in found.steps] == pytest.approx([0.05, 0.05, 0.02, -0.02, 0.0, 0.0, score, 0.0])
    assert [step.failed for step in found.steps] == [False, True, False, False, False, True, False, False]
    assert [step.done for step in found.steps] == [False] * 6 + [True, True]
    assert (found.revealed, found.asked) == (("guest_count",), 3)
    assert replay(PARTY, calls[:-1], 10).trained_on == pytest.approx(score + 0.05)
    assert replay(PARTY, calls[:1], 10).trained_on == pytest.approx(0.05 - 0.1)
    assert replay(PARTY, [], 10).trained_on == pytest.approx(-0.1)


def test_a_seventh_question_or_the_last_step_ends_an_episode() -> None:
    question = Call("ask_question", {"question": "?"})
    found = replay(PARTY, [question] * 7, 10)
    assert ([step.reward for step in found.steps][-2:], found.asked) == ([0.02, -0.05], 6)
    assert [step.done for step in found.steps] == [False] * 6 + [True]
    late = replay(PARTY, [Call("get_task_info")] * 2 + [Call("propose_plan", {"plan": PLAN})], 3)
    assert late.parts is not None
    assert replay(PARTY, [Call("get_task_info")] * 3 + [Call("propose_plan", {"plan": PLAN})], 3).parts is None


@pytest.mark.parametrize("each", [*PROPER, *EXPLOITS], ids=lambda each: each.name)
def test_what_is_paid_is_what_is_recorded(each: Exploit) -> None:
    assert paid(CODE, each).total == pytest.approx(each.code, abs=1e-9)
    assert paid(CARD, each).total == pytest.approx(each.card, abs=1e-9)
    best = each in PROPER
    worth = paid(UTILITY, each)
    assert worth.passed is best
    assert (worth.total > 1 - 1e-9) is best


def test_amounts_by_hand() -> None:
    """Five keys, four of them critical: weights 2, 2, 2, 2 and 1."""
    proper, lucky = paid(CODE, named("proper/missing")), paid(CODE, named("guess/lucky"))
    assert proper.total == pytest.approx(0.5 + 0.2 / 4 + 0.15 * 5 / 6 + 0.15 / 5)
    assert lucky.total == pytest.approx(0.5 + 0.15)
    assert paid(CODE, named("garbage/critical")).total == pytest.approx(0.2 + 0.15 / 3 + 0.15)
    assert paid(CARD, named("garbage/unasked")).total == pytest.approx(0.2 + 0.2)
    assert paid(CODE, named("ignore/request")).total == pytest.approx(0.5 * 7 / 9 + 0.2 + 0.15 / 3 + 0.15 * 4 / 5)
    assert paid(CODE, named("beyond/plan")).total == pytest.approx(0.5 + 0.2 + 0.15)


def test_the_code_prefers_ignoring_a_request_to_taking_it_at_its_word() -> None:
    ignoring, proper = named("ignore/request"), named("proper/full")
    assert paid(CODE, ignoring).total > paid(CODE, proper).total
    assert paid(UTILITY, ignoring).total < 0 < paid(UTILITY, proper).total


def test_as_it_was_trained_with() -> None:
    useless = paid(CODE, named("useless/no-plan"), as_trained=True)
    assert useless.total == pytest.approx(0.02 - 0.1)
    assert useless.failures == ("no_plan",)
    planned = paid(CODE, named("guess/lucky"), as_trained=True)
    assert planned.total == pytest.approx(0.65 + 0.05)
    prose = paid(CODE, named("empty/prose"), as_trained=True)
    assert prose.total == pytest.approx(-0.1)
    assert self_test(CODE, FrozenMap({"as_trained": True})).broken == ()
    with pytest.raises(RewardFault, match="as_trained"):
        paid(CODE, named("empty/prose"), as_trained=1)


@pytest.mark.parametrize("reward", [CODE, CARD], ids=["code", "card"])
def test_no_run_starts_with_one(reward: ModuleType) -> None:
    env = plugins.load("envs", "clarify")
    found = earnings(reward, env, env.scenarios("train", 60, 4))
    with pytest.raises(RewardFault, match="'honest'"):
        prefers_honesty(found, (0.0, 1.0))


def test_the_table_in_the_documentation_is_what_the_command_prints() -> None:
    text = (Path(__file__).parents[3] / "docs" / "clarify.md").read_text("utf-8")
    assert "\n".join(clarifyrl_holes.table()) in text
