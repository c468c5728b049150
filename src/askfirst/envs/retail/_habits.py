"""Demonstrations, and habits that know no better than to do always the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from askfirst.retail.calls import CONFIRM, TRANSFER, Call
from askfirst.retail.oracle import ask, authentication, optimal, tell, writes
from askfirst.retail.task import IDENTITY, ORDER, PAYMENT, hidden_of
from askfirst.values import Demonstration, Scenario

Policy = Callable[[Scenario], str | tuple[str, ...]]


def demonstrations(scenario: Scenario, seed: int = 0) -> tuple[Demonstration, ...]:
    """An episode as it should be; where it asks, also one that guesses instead, and happens to guess right.

    There is one wording of each, whatever the seed.
    """
    first, *then = optimal(scenario)
    honest = Demonstration(first, guess=False, then=tuple(then))
    if not scenario.ambiguous:
        return (honest,)
    if IDENTITY in hidden_of(scenario).open:
        return honest, Demonstration(_transfer(), guess=True)
    first, *then = optimal(scenario, skip=True)
    return honest, Demonstration(first, guess=True, then=tuple(then))


def habits() -> Mapping[str, Policy]:
    """Name → policy, one text a turn. "honest" serves as it should; "never ask" does all but ask, and guesses right."""
    return {
        "honest": optimal,
        "guess": _guess,
        "never ask": lambda s: optimal(s, skip=True),
        "ask for everything": _asks_everything,
        "ask and never act": lambda s: (*(ask(slot).text() for slot in (IDENTITY, ORDER, PAYMENT)), _done(), _done()),
        "gold writes blind": lambda s: (*writes(s), optimal(s)[-1]),
        "confirm, but do not ask": _confirms_only,
        "refuse everything": lambda s: _transfer(),
        "do nothing": lambda s: _done(),
        "read and do nothing": lambda s: (authentication(hidden_of(s)).text(), _done(), _done()),
        "say nothing": lambda s: "",
    }


def _guess(scenario: Scenario) -> tuple[str, ...]:
    guess = demonstrations(scenario)[-1]
    return (guess.reply, *guess.then)


def _asks_everything(scenario: Scenario) -> tuple[str, ...]:
    """Identity, order and payment are asked for whatever was said; then it serves as it should."""
    open_slots = hidden_of(scenario).open
    asked = [ask(slot).text() for slot in (IDENTITY, ORDER, PAYMENT) if slot not in open_slots]
    return (*asked, *optimal(scenario))


def _confirms_only(scenario: Scenario) -> tuple[str, ...]:
    """Fires what it has a yes to, without finding out who the user is."""
    own, every = writes(scenario), optimal(scenario, skip=True)
    return (*(text for text in every if text in own or f'"{CONFIRM}"' in text), every[-1])


def _transfer() -> str:
    return Call(TRANSFER, {"summary": "I cannot do this."}).text()


def _done() -> str:
    return tell("Okay.").text()
