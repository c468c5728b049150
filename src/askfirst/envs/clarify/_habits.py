"""Demonstrations, and habits that know no better than to do always the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from askfirst.clarify.calls import ASSUMPTIONS, DECLINE, INFO, Call
from askfirst.clarify.oracle import as_said, ask, best_plan, optimal, propose, ways_to_ask
from askfirst.clarify.problem import BUDGET, hidden_of
from askfirst.values import Demonstration, Scenario

Policy = Callable[[Scenario], str | tuple[str, ...]]


def demonstrations(scenario: Scenario, seed: int = 0) -> tuple[Demonstration, ...]:
    """An optimal episode that asks by name; where it asks, also a plan of guesses that does not say so."""
    first, *then = optimal(scenario, seed, by_name=True)
    honest = Demonstration(first, guess=False, then=tuple(then))
    if not scenario.ambiguous:
        return (honest,)
    keys = hidden_of(scenario).problem.keys
    plan = {key.name: key.known or key.values[key.chances.index(max(key.chances))] for key in keys}
    return honest, Demonstration(propose(as_said(scenario, plan)), guess=True)


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
