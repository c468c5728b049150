"""Optimal episodes."""

from __future__ import annotations

from typing import Any

from askfirst.calls import ASK
from askfirst.clarify.calls import ASSUMPTIONS, DECLINE, PLAN, Call
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, PROCEED
from askfirst.clarify.optimum import optimum
from askfirst.clarify.problem import Hidden, hidden_of
from askfirst.clarify.scenes import Draws
from askfirst.store import generator
from askfirst.values import Scenario


def optimal(scenario: Scenario, seed: int = 0, by_name: bool = False) -> tuple[str, ...]:
    """An optimal episode, one call a turn: the questions that are worth their price, then the best plan.

    `by_name`: questions name the key as the opening does, so that who has read it can ask about any family.
    """
    hidden, draws = hidden_of(scenario), Draws(generator("clarify", "demonstration", scenario.id, seed))
    if hidden.problem.beyond:
        return (propose({DECLINE: "this is not a task of mine"}),)
    asks = optimum(hidden.problem).asks
    questions = [ask(naming(name) if by_name else draws.pick(ways_to_ask(hidden, name))) for name in asks]
    return (*questions, propose(best_plan(hidden, asks)))


def best_plan(hidden: Hidden, asked: tuple[str, ...]) -> dict[str, Any]:
    """The best plan after asking about these keys: what is known, and the best guesses as assumptions."""
    plan: dict[str, Any] = {}
    assumed: list[str] = []
    for key in hidden.problem.keys:
        answered = key.name in asked and key.name in hidden.truth and key.name not in hidden.forgets
        if key.known is not None or answered:
            plan[key.name] = hidden.truth[key.name]
        elif key.guess[0] is not None:
            plan[key.name] = key.guess[0]
            assumed.append(key.name)
    return {**plan, ASSUMPTIONS: assumed} if assumed else plan


def naming(name: str) -> str:
    """A question about a key by its name."""
    return PROCEED.ask[-1] if name == CONFIRM else f"What is the {name.replace('_', ' ')}?"


def ways_to_ask(hidden: Hidden, name: str) -> tuple[str, ...]:
    """Questions about a key."""
    return FAMILIES[hidden.problem.family].field(name).ask


def ask(question: str) -> str:
    """The call that asks."""
    return Call(ASK, question).text()


def propose(plan: dict[str, Any]) -> str:
    """The call that ends with a plan."""
    return Call(PLAN, plan=plan).text()
