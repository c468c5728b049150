"""What may not change what an episode of `retail` earns, and what may not raise it."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.cases import play
from askfirst.retail.calls import Call
from askfirst.retail.oracle import QUESTIONS, ask, optimal, tell
from askfirst.retail.scene_cases import question
from askfirst.retail.task import hidden_of
from askfirst.values import FrozenMap, Scenario, Score

ENV = plugins.load("envs", "retail")
REWARD, PUBLISHED = (plugins.load("rewards", name) for name in ("retail", "retail_published"))
LOOKS = (
    Call("think", {"thought": "hm"}),
    Call("calculate", {"expression": "1 + 1"}),
    Call("list_all_product_types", {}),
    Call("get_product_details", {"product_id": "11"}),
)
SCENES = st.integers(0, 39)
PLACES = st.integers(0, 20)


@cache
def scenarios() -> tuple[Scenario, ...]:
    return tuple(ENV.scenarios("dev", 40, 9, dict.fromkeys(ENV.STRATA, 1)))


def score(scenario: Scenario, said: tuple[str, ...]) -> Score:
    found = REWARD.score(scenario, play(ENV, scenario, said), FrozenMap())
    assert found.passed == (not found.failures)
    assert not found.passed or PUBLISHED.score(scenario, play(ENV, scenario, said), FrozenMap()).passed
    return found


def put(said: tuple[str, ...], at: int, text: str) -> tuple[str, ...]:
    place = at % len(said)
    return (*said[:place], text, *said[place:])


@settings(max_examples=20, deadline=None)
@given(SCENES, PLACES, st.sampled_from(LOOKS))
def test_looking_at_what_is_nobodys_changes_nothing(at: int, place: int, look: Call) -> None:
    scenario = scenarios()[at]
    assert score(scenario, put(optimal(scenario), place, look.text())).total == 1.0


@settings(max_examples=20, deadline=None)
@given(SCENES, st.sampled_from(("  {}\n", "<tool_call>{}</tool_call>", "\n<tool_call>\n{}\n</tool_call>\n")))
def test_white_space_and_the_marks_of_native_calls_change_nothing(at: int, around: str) -> None:
    scenario = scenarios()[at]
    assert score(scenario, tuple(around.format(text) for text in optimal(scenario))).total == 1.0


@settings(max_examples=40, deadline=None)
@given(SCENES, PLACES, st.sampled_from((*(ask(slot).text() for slot in QUESTIONS), question("And what else?"))))
def test_one_more_question_never_pays(at: int, place: int, more: str) -> None:
    """Nor does the same question earlier or later: then the other one is one too many."""
    scenario = scenarios()[at]
    found = score(scenario, put(optimal(scenario), place, more))
    assert found.total < 1.0
    assert not found.passed


@settings(max_examples=40, deadline=None)
@given(SCENES, PLACES)
def test_every_call_of_a_change_is_needed(at: int, place: int) -> None:
    """What has to be found out, asked, confirmed, made and told: without it, less. Reads alone may be left out."""
    scenario = scenarios()[at]
    said = optimal(scenario)
    left = place % len(said)
    found = score(scenario, (*said[:left], *said[left + 1 :], *(tell("Okay.").text(),) * 2))
    reads = '"get_' in said[left] and not hidden_of(scenario).task.outputs
    if reads or (left == len(said) - 1 and hidden_of(scenario).wanted):  # what news of a change say is not looked at
        assert found.passed
    else:
        assert not found.passed
        assert found.total < 1.0


@settings(max_examples=40, deadline=None)
@given(SCENES, st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_any_text_is_scored_within_bounds(at: int, texts: list[str]) -> None:
    scenario = scenarios()[at]
    low, high = REWARD.BOUNDS
    assert low <= score(scenario, tuple(texts)).total < high
