"""A policy as the user: other words, the same record; what it makes up is not heard."""

from __future__ import annotations

import pytest

from askfirst import plugins
from askfirst.cases import play
from askfirst.clarify.calls import INFO, Call
from askfirst.clarify.episode import recorded
from askfirst.clarify.oracle import optimal
from askfirst.clarify.problem import hidden_of
from askfirst.clarify.voice import Voiced
from askfirst.values import Message, Scenario

ENV = plugins.load("envs", "clarify")


def asking() -> Scenario:
    """A scenario with one question that gets an answer about the venue."""
    drawn = ENV.scenarios("train", 400, 0, {"ambiguous": 1}, {"missing": 1.0})
    return next(s for s in drawn if _answered(s))


def _answered(scenario: Scenario) -> bool:
    record = recorded(scenario, play(ENV, scenario, optimal(scenario)))
    return [dict(each.told).keys() for each in record.asked] == [{"venue"}]


def voiced(says: str) -> Voiced:
    """The environment with a user who says that to everything."""
    policy = plugins.load("backends", "scripted").Scripted([plugins.load("backends", "scripted").Line("", says)])
    return Voiced(ENV, policy)


def test_other_words_give_the_same_record() -> None:
    scenario = asking()
    value = hidden_of(scenario).truth["venue"]
    env = voiced(f"It is going to be {value}, dear!")
    own, other = (play(e, scenario, optimal(scenario)) for e in (ENV, env))
    assert other.messages[2].content == f"It is going to be {value}, dear!\nquestions left: 5"
    assert own.messages[2] != other.messages[2]
    assert recorded(scenario, own) == recorded(scenario, other)
    assert (env.kept, env.thrown) == (1, 0)


@pytest.mark.parametrize("says", ["I will not tell.", "At home, in a restaurant, at the office or outdoors.", ""])
def test_what_tells_less_or_more_than_the_user_is_thrown_away(says: str) -> None:
    scenario = asking()
    env = voiced(says)
    assert play(env, scenario, optimal(scenario)) == play(ENV, scenario, optimal(scenario))
    assert (env.kept, env.thrown) == (0, 1)


def test_other_keys_may_not_be_told() -> None:
    scenario = asking()
    env = voiced(f"It is {hidden_of(scenario).truth['venue']}, next week.")
    play(env, scenario, optimal(scenario))
    assert (env.kept, env.thrown) == (0, 1)


def test_the_rest_is_the_environment() -> None:
    scenario = asking()
    env, info = voiced("anything"), (*ENV.start(scenario), Message("assistant", Call(INFO).text()))
    assert env.MAX_TURNS == ENV.MAX_TURNS
    assert env.step(scenario, info) == ENV.step(scenario, info)
