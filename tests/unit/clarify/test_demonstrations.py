"""What demonstrations write down first is what the request says first."""

from __future__ import annotations

from askfirst import plugins
from askfirst.clarify.calls import ASSUMPTIONS, parse_call
from askfirst.clarify.oracle import best_plan, optimal, propose
from askfirst.clarify.problem import REQUEST, hidden_of
from askfirst.envs.clarify._habits import as_said


def test_demonstrations_plan_in_the_order_of_the_request_and_earn_the_same() -> None:
    env, others = plugins.load("envs", "clarify"), 0
    for scenario in env.scenarios("train", 120, seed=4):
        hidden, request = hidden_of(scenario), scenario.opening[0].content.rpartition("user said: ")[2].lower()
        shown = env.demonstrations(scenario)[0]
        plan = parse_call((shown.reply, *shown.then)[-1]).plan
        by_schema = parse_call(optimal(scenario)[-1]).plan
        assert dict(plan) == dict(by_schema)
        stated = [k.name for k in hidden.problem.keys if k.known is not None and k.source == REQUEST]
        places = [request.index(hidden.words[name].lower()) for name in plan if name in stated]
        assert places == sorted(places)
        assert list(plan)[: len(stated)] == [name for name in plan if name in stated]
        others += list(plan) != list(by_schema)
    assert others >= 60


def test_what_no_request_states_stays_behind_in_its_order() -> None:
    env = plugins.load("envs", "clarify")
    (scenario,) = env.scenarios("train", 1, 3, {"out_of_scope": 1.0})
    plan = best_plan(hidden_of(scenario), ())
    assert as_said(scenario, propose(plan)) == propose(plan)
    assert list(plan)[-1] == ASSUMPTIONS
