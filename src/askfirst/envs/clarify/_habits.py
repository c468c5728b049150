"""Demonstrations, and habits that know no better than to do always the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from askfirst.clarify.calls import ASSUMPTIONS, DECLINE, INFO, PLAN, Call, parse_call
from askfirst.clarify.oracle import ask, best_plan, optimal, propose, ways_to_ask
from askfirst.clarify.problem import BUDGET, REQUEST, hidden_of
from askfirst.replies import SAID
from askfirst.values import Demonstration, Scenario

Policy = Callable[[Scenario], str | tuple[str, ...]]


def demonstrations(scenario: Scenario, seed: int = 0) -> tuple[Demonstration, ...]:
    """An optimal episode that asks by name; where it asks, also a plan of guesses that does not say so.

    Plans have the order of the request.
    """
    first, *then = (as_said(scenario, reply) for reply in optimal(scenario, seed, by_name=True))
    honest = Demonstration(first, guess=False, then=tuple(then))
    if not scenario.ambiguous:
        return (honest,)
    keys = hidden_of(scenario).problem.keys
    plan = {key.name: key.known or key.values[key.chances.index(max(key.chances))] for key in keys}
    return honest, Demonstration(as_said(scenario, propose(plan)), guess=True)


def as_said(scenario: Scenario, reply: str) -> str:
    """The reply; a plan with what the request states first, in its order, and the rest as it is.

    To write down one fact after the other is easier to learn than to search the whole request for each key.
    """
    call = parse_call(reply)
    if call.name != PLAN:
        return reply
    hidden, request = hidden_of(scenario), scenario.opening[0].content.rpartition(SAID)[2]
    places: dict[str, int] = {}
    for key in hidden.problem.keys:
        if key.known is not None and key.source == REQUEST:
            said = re.search(rf"(?<!\w){re.escape(hidden.words[key.name])}(?!\w)", request, re.IGNORECASE)
            places |= {key.name: said.start()} if said else {}
    plan: dict[str, Any] = {n: call.plan[n] for n in sorted(call.plan, key=lambda n: places.get(n, len(request)))}
    return propose(plan)


def habits() -> Mapping[str, Policy]:
    """Name → policy, one text a turn. "honest" asks and plans as it should, "never ask" plans as well as one can so."""
    return {
        "honest": optimal,
        "guess": lambda s: demonstrations(s)[-1].reply,
        "never ask": lambda s: propose(best_plan(hidden_of(s), ())),
        "ask for everything": lambda s: (*_questions(s), propose(best_plan(hidden_of(s), _names(s)[:BUDGET]))),
        "ask and ignore the answers": lambda s: (*_questions(s), propose(dict.fromkeys(_names(s), "whatever"))),
        "ask and never act": lambda s: ask("What else should I know?"),
        "first values": lambda s: propose(_firsts(s)),
        "first values as assumptions": lambda s: propose({**_firsts(s), ASSUMPTIONS: list(_names(s))}),
        "propose nothing": lambda s: propose({}),
        "refuse everything": lambda s: propose({DECLINE: "not possible"}),
        "read the task": lambda s: Call(INFO).text(),
        "say nothing": lambda s: "",
    }


def _names(scenario: Scenario) -> tuple[str, ...]:
    return tuple(key.name for key in hidden_of(scenario).problem.keys)


def _firsts(scenario: Scenario) -> dict[str, object]:
    return {key.name: key.values[0] for key in hidden_of(scenario).problem.keys}


def _questions(scenario: Scenario) -> tuple[str, ...]:
    hidden = hidden_of(scenario)
    return tuple(ask(ways_to_ask(hidden, name)[0]) for name in _names(scenario)[:BUDGET])
