"""When other words for a request still ask for the same, and which rule says that they do not."""

from __future__ import annotations

import pytest

from askfirst import plugins
from askfirst.generated.rules import Names, broken, names_of, request_of, resaid
from askfirst.replies import Truth
from askfirst.values import Message, Scenario

ENV = plugins.load("envs", "judgment")


@pytest.fixture(scope="module")
def names() -> Names:
    return names_of(ENV)


def scenario(said: str, truth: Truth, values: tuple[str, ...] = ()) -> Scenario:
    opening = (Message("user", f"user said: {said}"),)
    return Scenario("s", "f", "s", "train", truth.intent == "clarify", opening, truth.hide(), values=values)


IRON = scenario("remind me to iron the shirts", Truth("clarify", slot="time"), ("iron the shirts",))
TEXT = scenario("text priya at 5 that rain is due", Truth("action", mentions=(("rain is due",),)), ("priya", "5"))
FILE = scenario("compress the file", Truth("clarify", candidates=(("pond liner",), ("copper",)), topic="which file"))
HELD = [
    (IRON, "i need a reminder to iron the shirts"),
    (TEXT, "at 5 let Priya know by text that rain is due"),
    (FILE, "make the file smaller"),
]
BROKEN = [
    ("empty", IRON, "ok"),
    ("not_one_line", IRON, "remind me please\nto iron the shirts"),
    ("unchanged", IRON, "Remind me to iron the shirts!"),
    ("too_long", IRON, "remind me to iron the shirts " + "so that they are as good as new " * 4),
    ("markup", IRON, 'well: "remind me to iron the shirts"'),
    ("canary", IRON, "remind me to iron the shirts askfirst-canary-1"),
    ("tells_the_intent", IRON, "out of scope, but remind me to iron the shirts"),
    ("lost_value", IRON, "remind me to do the ironing"),
    ("lost_value", TEXT, "at 5 text her that rain is due"),
    ("lost_detail", TEXT, "at 5 text priya about the weather"),
    ("lost_detail", FILE, "zip it up"),
    ("lost_number", TEXT, "text priya that rain is due"),
    ("new_number", IRON, "remind me tomorrow to iron the shirts"),
    ("new_number", IRON, "at 7 remind me to iron the shirts"),
    ("new_name", IRON, "please get Sally to iron the shirts and remind me"),
    ("new_name", IRON, "remind me to iron the shirts with mom"),
    ("new_value", IRON, "remind me to iron the shirts in osaka"),
    ("new_value", FILE, "compress the file in outlook"),
    ("says_what_is_missing", FILE, "compress the copper file"),
]


@pytest.mark.parametrize(("of", "text"), HELD)
def test_other_words_for_the_same_hold(of: Scenario, text: str, names: Names) -> None:
    assert broken(of, text, names) == ()
    again = resaid(of, text, "judgment")
    assert (request_of(again), again.hidden, again.values) == (text, of.hidden, of.values)
    assert again.id != of.id


@pytest.mark.parametrize(("rule", "of", "text"), BROKEN)
def test_a_rule_is_broken_by(rule: str, of: Scenario, text: str, names: Names) -> None:
    assert rule in broken(of, text, names)
