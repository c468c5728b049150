"""Scenarios from draws: a goal of a family, and the request for it in one of the states of specification.

A state says what the request does with one key, the target:

    full           it is stated
    missing        it is not stated, and worth a question
    priced         it is not stated, and not worth the price of a question
    candidates     two values are named, and which of them is left open
    contradictory  two values are stated
    false_premise  a value is stated that is not possible
    inferable      it is not stated, and there is a default
    unknown        it is not stated, and the user says to know nothing about it
    destructive    all is stated, and an act that cannot be undone is not confirmed
    out_of_scope   the request is no task of the family

Chances: a key that is neither stated nor has a default has the chances of the line `usually`, the rest shared equally,
or equal ones; of two values that are named, each has one half; a value that is not possible has none. The hidden values
are drawn by these chances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from askfirst.clarify.family import CONFIRM, NO, PROCEED, YES, Family, Field, part, ways_of
from askfirst.clarify.persona import PERSONAS, of_split
from askfirst.clarify.problem import BUDGET, DEFAULT, REQUEST, Hidden, Key, Problem
from askfirst.replies import SAID
from askfirst.store import content_hash
from askfirst.values import Message, Scenario

T = TypeVar("T")

PAIRED = ("missing", "candidates", "contradictory", "false_premise", "destructive")  # each has a clear twin
OTHERS = ("inferable", "unknown", "priced", "out_of_scope")
FULL, OTHER_TWIN = "full", "other_twin"
# Prices in points by split: no price of a question or a key occurs in two splits.
QUESTION: Mapping[str, tuple[int, ...]] = {"train": (2, 3, 4, 6), "dev": (5, 8), "sealed": (7, 9)}
HIGH: Mapping[str, tuple[int, ...]] = {"train": (40, 60, 80), "dev": (50, 90), "sealed": (70, 100)}
LOW: Mapping[str, tuple[int, ...]] = {"train": (6, 10, 12), "dev": (8, 14), "sealed": (4, 16)}
USUAL = (0.5, 0.6)
SURE = 0.9  # of what usually holds where asking is not worth it, and of a yes to an act

# Wordings around the facts; places decide the split.
CANDIDATES = ("either {a} or {b}", "{a} or else {b}", "{a}, unless it was {b}", "maybe {a}, maybe {b}")
REPEATED = ("As I said: {b}.", "Like I told you, {b}.", "As already mentioned, {b}.", "To say it once more: {b}.")
CLUELESS = (
    "I have no idea about {noun}.",
    "About {noun} I know nothing.",
    "Nobody has told me about {noun}.",
    "I cannot say anything about {noun}.",
)
ALSO = ("Also {act}.", "And {act}.", "Then {act}.", "While you are at it, {act}.")


@dataclass(frozen=True, slots=True)
class Goal:
    """What a user wants: values and words of the keys, what the request does with them, and the prices.

    `chances` are of keys that are not stated as they are; `defaults` and `usual` are shown as notes.
    """

    family: Family
    split: str
    template: str
    fields: tuple[Field, ...]
    target: Field
    prices: Mapping[str, int]
    question: int
    knows: float
    order: tuple[str, ...]
    truth: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    chances: dict[str, tuple[float, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()  # sentences after the facts
    mentioned: Mapping[str, str] = field(default_factory=dict)  # what stands among the facts instead of the words
    forgets: tuple[str, ...] = ()
    source: str = REQUEST
    answerable: bool = True
    spoken: tuple[str, ...] = ()
    persona: str = ""


class Draws:
    """Draws from one stream."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self._rng.random() * len(options))]

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return bool(self._rng.random() < p)

    def weighted(self, options: Sequence[T], chances: Sequence[float]) -> T:
        """One of the options by their chances, which add up to 1."""
        point, total = self._rng.random(), 0.0
        for option, p in zip(options, chances, strict=True):
            total += p
            if point < total:
                return option
        return max(zip(chances, options, strict=True), key=lambda pair: pair[0])[1]

    def shuffled(self, options: Sequence[T]) -> tuple[T, ...]:
        """The options in random order."""
        return tuple(options[i] for i in self._rng.permutation(len(options)))


def pair(family: Family, state: str, split: str, draws: Draws) -> tuple[Scenario, Scenario]:
    """A scenario of a paired state and its twin, in which the target is stated."""
    goal = _goal(family, state, split, draws)
    open_goal, clear_goal = _states(goal, state, draws)
    twin = content_hash((family.name, state, _shown(open_goal), _shown(clear_goal)))[:16]
    return (
        replace(_scenario(open_goal, state, "ambiguous"), twin=twin),
        replace(_scenario(clear_goal, FULL, "clear_twin"), twin=twin),
    )


def single(family: Family, state: str, split: str, draws: Draws) -> Scenario:
    """A scenario of one of the other states."""
    return other_pair(family, state, split, draws)[0]


def other_pair(family: Family, state: str, split: str, draws: Draws) -> tuple[Scenario, Scenario]:
    """A scenario of one of the other states and its twin, in which the target is stated; that of a request out of
    scope is one for the same plan, fully stated."""
    goal = _goal(family, state, split, draws)
    own_goal, clear_goal = _other_states(goal, state, draws)
    own, clear = _scenario(own_goal, state, state), _scenario(clear_goal, FULL, OTHER_TWIN)
    twin = content_hash((family.name, state, _shown(own_goal), _shown(clear_goal)))[:16]
    return replace(own, twin=twin), replace(clear, twin=twin)


def _other_states(goal: Goal, state: str, draws: Draws) -> tuple[Goal, Goal]:
    """The goal in one of the other states, and the same with a stated target."""
    target = goal.target.name
    if state == "out_of_scope":
        said = draws.pick(goal.family.split(goal.family.beyonds, goal.split))
        return replace(goal, template=said, order=(), chances=_equal(goal.fields), notes=()), goal
    if state == "inferable":
        held = replace(goal, notes=(*goal.notes, f"unless said otherwise: {target} = {goal.truth[target]}"))
        known = _one(goal.target, goal.truth[target])
        return replace(held, source=DEFAULT, mentioned={target: ""}, chances={target: known}), held
    found = _open(goal, goal.target, draws, SURE if state == "priced" and _high(goal) else None)
    clear = replace(goal, truth=found.truth, words=found.words, notes=found.notes)
    if state == "unknown":
        sentence = draws.pick(part(CLUELESS, goal.split)).format(noun=goal.target.noun)
        forgets = tuple(dict.fromkeys((*found.forgets, target)))
        found = replace(found, after=(sentence,), answerable=False, forgets=forgets)
    return found, clear


def _goal(family: Family, state: str, split: str, draws: Draws) -> Goal:
    """Fields, prices, values and words; everything is stated."""
    extras = [f for f in family.fields if not f.required]
    extra = draws.pick(extras) if extras and draws.chance(0.5) else None
    fields = tuple(f for f in family.fields if f.required or f is extra)
    target = draws.pick([f for f in fields if f.critical])
    if state == "destructive":
        fields, target = (*fields, PROCEED), PROCEED
    dear = state == "priced"
    question = max(QUESTION[split]) if dear else draws.pick(QUESTION[split])
    prices = {f.name: draws.pick(LOW[split]) for f in fields}
    if not (dear and draws.chance(0.5)):
        prices[target.name] = draws.pick(HIGH[split])
    truth = {f.name: draws.pick(f.values) for f in fields}
    if state == "destructive":
        truth[CONFIRM] = YES if draws.chance(SURE) else NO
    words = {f.name: draws.pick(ways_of(family, f, truth[f.name], split)) for f in fields}
    persona = draws.pick(of_split(split))
    knows = draws.pick(PERSONAS[persona].knows)
    stated = [f for f in fields if f is not target]
    decoy = draws.pick(stated) if draws.chance(0.25) else None
    note = f"unless said otherwise: {decoy.name} = {draws.pick(decoy.values)}" if decoy and decoy is not PROCEED else ""
    return Goal(
        family=family,
        split=split,
        template=draws.pick(family.split(family.says, split)),
        fields=fields,
        target=target,
        prices=prices,
        question=question,
        knows=knows,
        order=draws.shuffled([f.name for f in fields if f is not PROCEED]),
        truth=truth,
        words=words,
        notes=(note,) if note else (),
        forgets=tuple(f.name for f in fields if not draws.chance(knows)),
        persona=persona,
    )


def _states(goal: Goal, state: str, draws: Draws) -> tuple[Goal, Goal]:
    """The goal with an open target, and the same with a stated one."""
    target, name = goal.target, goal.target.name
    if state == "destructive":
        act = draws.pick(part(ALSO, goal.split)).format(act=draws.pick(goal.family.split(goal.family.acts, goal.split)))
        held = replace(goal, notes=(*goal.notes, f"usually: {name} = {YES} ({SURE:.0%})"), after=(act,))
        yes = goal.words[name]
        confirmed = replace(held, after=(act, f"{yes[:1].upper()}{yes[1:]}."))
        return replace(held, chances={name: tuple(SURE if v == YES else 1 - SURE for v in target.values)}), confirmed
    if state == "missing":
        return _missing(goal, draws)
    value, others = goal.truth[name], [v for v in target.values if v != goal.truth[name]]
    other = draws.pick(others)
    said = draws.pick(ways_of(goal.family, target, other, goal.split))
    if state == "false_premise":
        held = replace(goal, notes=(*goal.notes, f"not possible: {name} = {other}"))
        possible = tuple(0.0 if v == other else 1 / len(others) for v in target.values)
        return replace(held, mentioned={name: said}, chances={name: possible}, spoken=(f"{name}: {said}",)), held
    first, second = draws.shuffled((goal.words[name], said))
    halves = tuple(0.5 if v in (value, other) else 0.0 for v in target.values)
    held = replace(goal, chances={name: halves}, spoken=(f"{name}: {said}",))
    if state == "candidates":
        phrase = draws.pick(part(CANDIDATES, goal.split)).format(a=first, b=second)
        return replace(held, mentioned={name: phrase}), goal
    again = draws.pick(part(REPEATED, goal.split))
    return (
        replace(held, mentioned={name: first}, after=(again.format(b=second),)),
        replace(goal, after=(again.format(b=goal.words[name]),)),
    )


def _missing(goal: Goal, draws: Draws) -> tuple[Goal, Goal]:
    usual = draws.pick(USUAL) if draws.chance(0.3) else None
    found = _open(goal, goal.target, draws, usual)
    if draws.chance(0.3):
        found = _open(found, draws.pick([f for f in goal.fields if f is not goal.target]), draws, None)
    # What is hidden of the open goal was drawn by its chances, and the twin states just that.
    return found, replace(goal, truth=found.truth, words=found.words, notes=found.notes)


def _open(goal: Goal, one: Field, draws: Draws, usual: float | None) -> Goal:
    """The goal with a field that is not stated, its value drawn anew by the chances that are shown."""
    name, chances = one.name, _equal((one,))[one.name]
    note: tuple[str, ...] = ()
    if usual is not None:
        most = draws.pick(one.values)
        chances = tuple(usual if v == most else (1 - usual) / (len(one.values) - 1) for v in one.values)
        note = (f"usually: {name} = {most} ({usual:.0%})",)
    value = draws.weighted(one.values, chances)
    words = draws.pick(ways_of(goal.family, one, value, goal.split))
    return replace(
        goal,
        truth={**goal.truth, name: value},
        words={**goal.words, name: words},
        chances={**goal.chances, name: chances},
        mentioned={**goal.mentioned, name: ""},
        notes=(*(n for n in goal.notes if f": {name} = " not in n), *note),
    )


def _high(goal: Goal) -> bool:
    return goal.prices[goal.target.name] in HIGH[goal.split]


def _equal(fields: Sequence[Field]) -> dict[str, tuple[float, ...]]:
    return {f.name: (1 / len(f.values),) * len(f.values) for f in fields}


def _one(one: Field, value: str) -> tuple[float, ...]:
    return tuple(float(v == value) for v in one.values)


def _shown(goal: Goal) -> str:
    """The opening: family, keys with prices and values, notes, the price of a question, and the request."""
    facts = [goal.mentioned.get(name, goal.words[name]) for name in goal.order]
    told = ", ".join(filter(None, facts))
    before, _, after = goal.template.partition("{facts}")
    text = before + (told[:1].upper() + told[1:] if before.rstrip().endswith((".", "?")) else told) + after
    return "\n".join(
        (
            f"task: {goal.family.title}",
            *(f"{f.name} ({goal.prices[f.name]}): {' | '.join(f.values)}" for f in goal.fields),
            *goal.notes,
            f"a question: {goal.question} ({BUDGET} left, {goal.knows:.0%} answered)",
            SAID + " ".join((text, *goal.after)),
        )
    )


def _scenario(goal: Goal, state: str, stratum: str) -> Scenario:
    stated = {f.name: _one(f, goal.truth[f.name]) for f in goal.fields}
    beyond = state == "out_of_scope"
    keys = tuple(
        Key(
            f.name,
            f.values,
            goal.chances.get(f.name, stated[f.name]),
            goal.prices[f.name],
            goal.answerable or f is not goal.target,
            "" if 1.0 not in goal.chances.get(f.name, (1.0,)) else goal.source if f is goal.target else REQUEST,
        )
        for f in goal.fields
    )
    problem = Problem(goal.family.name, keys, goal.question, goal.knows, beyond)
    told: tuple[dict[str, str], dict[str, str], tuple[str, ...]] = ({}, {}, ())
    if not beyond:
        told = goal.truth, goal.words, goal.forgets
    hidden = Hidden(problem, state, *told, goal.persona).hide()
    opening = (Message("user", _shown(goal)),)
    spoken = () if beyond else tuple(f"{name}: {said}" for name, said in goal.words.items())
    prices = (f"price of a question: {goal.question}", *(f"price of a key: {p}" for p in goal.prices.values()))
    name, persona = goal.family.name, f"persona: {goal.persona}"
    return Scenario(
        id=content_hash((name, opening[0].content, repr(hidden)))[:16],
        family=f"{name}.{state}",
        stratum=stratum,
        split=goal.split,
        ambiguous=stratum == "ambiguous",
        opening=opening,
        hidden=hidden,
        template=f"{name}: {goal.template}",
        values=tuple(dict.fromkeys((*(f"{name}.{said}" for said in (*spoken, *goal.spoken)), *prices, persona))),
    )
