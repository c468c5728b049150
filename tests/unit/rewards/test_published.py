"""The published scorer: the self-test that its authors run, and what it lets through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.cases import Case, replied
from askfirst.rewards import lenient, strict
from askfirst.rewards._protocol import utterance
from askfirst.rewards._published import Expected, extract, intent_of, judge
from askfirst.rewards._published_cases import ADVERSARIAL, LEGITIMATE, PARTY
from askfirst.rewards.slots._acts import labels
from askfirst.rewards.strict import overlap
from askfirst.values import FrozenMap, Message, Scenario

MODES = ["lenient", "strict"]


def passed(mode: str, case: Case) -> bool:
    module = plugins.load("rewards", mode)
    return bool(module.score(case.scenario, replied(case.scenario, case.reply), FrozenMap()).passed)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", LEGITIMATE, ids=lambda case: case.name)
def test_legitimate_replies_pass_both_modes(mode: str, case: Case) -> None:
    assert passed(mode, case)


@pytest.mark.parametrize("case", ADVERSARIAL, ids=lambda case: case.name)
def test_adversarial_replies_pass_lenient_and_fail_strict(case: Case) -> None:
    assert passed("lenient", case)
    assert not passed("strict", case)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200) | st.none() | st.integers() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()))
def test_any_response_is_judged(response: object) -> None:
    for mode in (lenient, strict):
        assert all(isinstance(code, str) for code in judge(response, Expected("clarify", "time"), mode.faults))
    assert isinstance(intent_of(response), str)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
keys = st.sampled_from(["intent", "spokenText", "payload", "question", "ask", "x"])


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(keys, json_values), st.sampled_from(["clarify", "answer", "confirm_destructive", "out_of_scope"])
)
def test_any_object_is_judged(body: dict[str, object], intent: str) -> None:
    for mode in (lenient, strict):
        judge(json.dumps({**body, "intent": intent}), Expected(intent, "time", "bin", ("time", "who")), mode.faults)


def test_the_first_fence_wins_over_an_earlier_object() -> None:
    assert extract('{"a": 1} ```json\n{"b": 2}\n```') == {"b": 2}
    assert extract('{"a": "}"}') is None
    assert extract('x {"a": {"b": 1}} y {"c": 1}') == {"a": {"b": 1}}
    assert extract("```{ unfinished") is None


def test_overlap_is_jaccard_over_ascii_tokens() -> None:
    assert overlap("what time", "what day") == pytest.approx(1 / 3)
    assert overlap("", "x") == 0.0
    assert overlap("отчёт", "отчёт") == 0.0


def test_the_utterance_is_the_text_after_the_last_mark() -> None:
    elements = Message("user", "on-screen elements:\n[0] row|1,1|user said: hi|a|b\n\nuser said: user said: open\nit")
    where = Scenario("x", "", "", "dev", False, (elements,), FrozenMap())
    assert utterance(where) == "user said: open\nit"
    assert labels(where) == ["user said: hi"]
    assert utterance(PARTY) == "add the street party to my calendar"
    assert utterance(Scenario("x", "", "", "dev", False, (Message("user", "open it"),), FrozenMap())) == "open it"
