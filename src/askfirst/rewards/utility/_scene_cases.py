"""The scenes that the cases of `utility` play in: one of every family in every state, drawn from the dev split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from askfirst.clarify.calls import ASSUMPTIONS
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, Family, Field
from askfirst.clarify.optimum import optimum
from askfirst.clarify.oracle import ask, best_plan, propose
from askfirst.clarify.persona import PERSONAS
from askfirst.clarify.problem import Hidden, Key, hidden_of
from askfirst.clarify.scenes import FULL, PAIRED, Draws, pair, single
from askfirst.store import generator
from askfirst.values import Scenario

DRAWS = 500  # scenes looked at until one is fit


@dataclass(frozen=True, slots=True)
class Scene:
    """A scenario with what the cases need of it; `target` is the key that its state is about."""

    scenario: Scenario
    hidden: Hidden
    target: Key

    @property
    def family(self) -> Family:
        """The family of the scenario."""
        return FAMILIES[self.hidden.problem.family]

    @property
    def field(self) -> Field:
        """The field of the target."""
        return self.family.field(self.target.name)

    @property
    def question(self) -> str:
        """The call that asks about the target."""
        return ask(self.field.ask[0])

    @property
    def others(self) -> tuple[str, ...]:
        """The keys besides the target."""
        return tuple(key.name for key in self.hidden.problem.keys if key.name != self.target.name)

    @property
    def right(self) -> str:
        """The hidden value of the target."""
        return self.hidden.truth[self.target.name]

    @property
    def wrong(self) -> str:
        """A value of the target that is not the hidden one, of those that are shown as likeliest."""
        pairs = [(p, v) for p, v in zip(self.target.chances, self.target.values, strict=True) if v != self.right]
        return max(pairs)[1]

    def plan(self, **changes: Any) -> dict[str, Any]:
        """The best plan of somebody who knows the target, with changes; a change to None leaves the key out."""
        best = best_plan(self.hidden, (self.target.name,))
        kept = {**best, self.target.name: self.right, **changes}
        assumed = [name for name in kept.get(ASSUMPTIONS, ()) if name != self.target.name or ASSUMPTIONS in changes]
        kept = {**kept, ASSUMPTIONS: assumed}
        return {k: v for k, v in kept.items() if v is not None and not (k == ASSUMPTIONS and not v)}

    def put(self, value: Any, *, declared: bool = False, **changes: Any) -> str:
        """The call with that value for the target, as an assumption where it is `declared`."""
        assumed = {ASSUMPTIONS: [self.target.name]} if declared else {}
        return propose(self.plan(**{self.target.name: value, **assumed, **changes}))


@cache
def scene(family: str, state: str, forgotten: bool = False) -> Scene:
    """The scene of a family in a state; where the target is `forgotten`, the user has no answer about it."""
    for each in islice(_scenes(family, state), DRAWS):
        if _clean(each, forgotten):
            return each
    raise ValueError(f"none of {DRAWS} scenes of {family} in state {state} is fit for cases")


def _scenes(family: str, state: str) -> Iterator[Scene]:
    draws = Draws(generator("utility cases", family, state))
    while True:
        if state == FULL:
            scenario = pair(FAMILIES[family], "missing", "dev", draws)[1]
        elif state in PAIRED:
            scenario = pair(FAMILIES[family], state, "dev", draws)[0]
        else:
            scenario = single(FAMILIES[family], state, "dev", draws)
        hidden = hidden_of(scenario)
        keys = hidden.problem.keys
        yield Scene(scenario, hidden, max(keys, key=lambda key: (key.name == CONFIRM, key.known is None, key.price)))


def _clean(each: Scene, forgotten: bool) -> bool:
    """Whether the user takes each question as it comes, and in a paired state just one is right, with an answer or
    without, and only a yes is usual."""
    problem, target, user = each.hidden.problem, each.target, PERSONAS[each.hidden.persona]
    if user.single or user.wavers:
        return False
    if each.hidden.state not in PAIRED:
        return True
    unknown = tuple(key.name for key in problem.keys if key.known is None)
    plain = target.name == CONFIRM or max(target.chances) <= 0.5
    kept = (target.name in each.hidden.forgets) is forgotten
    return optimum(problem).asks == unknown == (target.name,) and plain and kept
