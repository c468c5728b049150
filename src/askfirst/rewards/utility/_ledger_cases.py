"""Episodes of desks made by hand, each with what it costs to the point, by the table in docs/clarify.md.

They do not hang on how scenarios are drawn or on what is taken for optimal: keys, chances and prices stand here, and
so do the costs of the best and of doing nothing, worked out by hand. No episode may earn more than its cost leaves, nor
less, and each is failed for what is wrong with it and for nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from askfirst.cases import Case
from askfirst.clarify.calls import INFO, PLAN, Call
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import PROCEED
from askfirst.clarify.oracle import ask, propose
from askfirst.clarify.problem import DEFAULT, REQUEST, Hidden, Key, Problem
from askfirst.replies import SAID
from askfirst.store import content_hash
from askfirst.values import Message, Scenario

Texts = tuple[str, ...]
Plan = dict[str, Any]
VAGUE, READ = ask("Hm?"), Call(INFO).text()


@dataclass(frozen=True, slots=True)
class Desk:
    """A problem with what is hidden, and what the optimum and doing nothing cost in it."""

    hidden: Hidden
    optimum: float
    nothing: float

    def scenario(self) -> Scenario:
        """As a scenario of its own."""
        hidden = self.hidden.hide()
        shown = f"task: {self.hidden.problem.family}\n{SAID}as in the ledger"
        name = content_hash(("ledger", repr(hidden)))[:16]
        family = f"{self.hidden.problem.family}.{self.hidden.state}"
        return Scenario(name, family, "ambiguous", "dev", True, (Message("user", shown),), hidden)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is said at a desk, what that costs in points, and what it is failed for."""

    said: Texts
    cost: float
    codes: Texts = ()


def _desk(keys: tuple[Key, ...], truth: Plan, optimum: float, nothing: float, **more: Any) -> Desk:
    state, forgets = more.pop("state", "missing"), more.pop("forgets", ())
    persona = more.pop("persona", "matter-of-fact")
    problem = Problem(**{"family": "event_planning", "keys": keys, "question": 3, "knows": 0.8, **more})
    words = {name: str(value) for name, value in truth.items()}
    return Desk(Hidden(problem, state, truth, words, forgets, persona), optimum, nothing)


def _key(name: str, family: str, price: int, chances: tuple[float, ...], source: str = "") -> Key:
    return Key(name, FAMILIES[family].field(name).values, chances, price, True, source)


# One key is stated; the other has five values alike. Guessed as an assumption it costs 0.6 · 0.8 · 40 = 19.2, with a
# question 3 + 0.2 · 19.2.
DATE = _key("date", "event_planning", 10, (0.0, 1.0, 0.0, 0.0), REQUEST)
VENUE = _key("venue", "event_planning", 40, (0.2,) * 5)
TRUTH = {"date": "tomorrow", "venue": "home"}
OPEN = _desk((DATE, VENUE), TRUTH, 6.84, 25.0)
BY_DEFAULT = _desk((replace(DATE, source=DEFAULT), VENUE), TRUTH, 6.84, 25.0)
ASKED = 6.84  # with the question answered, the price of a question and the chance of no answer
WHERE, WHEN, THEME = ask("Where should it be?"), ask("What date?"), ask("What is the theme?")


def _plan(**changes: Any) -> str:
    return propose({k: v for k, v in {**TRUTH, **changes}.items() if v is not None})


_OPEN = {
    "best": _Entry((WHERE, _plan()), ASKED),
    "best-late": _Entry((*(READ,) * 10, WHERE, _plan()), ASKED),
    "against-answer": _Entry((WHERE, _plan(venue="office")), ASKED + 40, ("against_answer",)),
    "against-request": _Entry((WHERE, _plan(date="today")), ASKED + 10, ("against_request",)),
    "invalid": _Entry((WHERE, _plan(venue="the moon")), ASKED + 40, ("invalid_value",)),
    "invalid-empty": _Entry((WHERE, _plan(venue="")), ASKED + 40, ("invalid_value",)),
    "invalid-list": _Entry((WHERE, _plan(venue=["home"])), ASKED + 40, ("invalid_value",)),
    "invalid-true": _Entry((WHERE, _plan(venue=True)), ASKED + 40, ("invalid_value",)),
    "left-out": _Entry((WHERE, _plan(venue=None)), ASKED + 20, ("left_out",)),
    "in-a-sentence": _Entry((WHERE, _plan(venue="You will like this: home. Lovely, is it not?")), ASKED),
    "taken-back": _Entry((WHERE, _plan(venue="office, or scratch that, home")), ASKED),
    "taken-back-late": _Entry((WHERE, _plan(venue="Today I would say office, or scratch that, home.")), ASKED),
    "taken-back-right": _Entry((WHERE, _plan(venue="home, or scratch that, office")), ASKED + 40, ("against_answer",)),
    "needless": _Entry((WHERE, _plan(assumptions=["venue"])), ASKED + 3, ("needless_assumption",)),
    "strange-key": _Entry((WHERE, _plan(mood="good")), ASKED + 3, ("strange_key",)),
    "strange-assumption": _Entry((WHERE, _plan(assumptions=["mood"])), ASKED + 3, ("strange_assumption",)),
    "assumed-left-out": _Entry(
        (WHERE, _plan(venue=None, assumptions=["venue"])), ASKED + 23, ("left_out", "strange_assumption")
    ),
    "guess-declared": _Entry((_plan(assumptions=["venue"]),), 19.2, ("did_not_ask",)),
    "guess": _Entry((_plan(),), 32.0, ("fabricated", "did_not_ask")),
    "never-asked": _Entry((_plan(venue=None),), 20.0, ("left_out", "did_not_ask")),
    "again": _Entry((WHERE, WHERE, _plan()), ASKED + 3, ("asked_again",)),
    "obscure": _Entry((VAGUE, WHERE, _plan()), ASKED + 3, ("obscure_question",)),
    "in-vain": _Entry((WHEN, WHERE, _plan()), ASKED + 3, ("asked_in_vain",)),
    "unneeded": _Entry((THEME, WHERE, _plan()), ASKED + 3, ("asked_unneeded",)),
    "unparsable": _Entry(("the venue is home",), 25.0, ("unparsable", "did_not_ask")),
    "overflow": _Entry((WHERE,), ASKED + 25, ("overflow",)),
    "over-budget": _Entry((VAGUE,) * 7, 18.0 + 25, ("over_budget", "obscure_question", "did_not_ask")),
    "turns": _Entry((READ,) * 12, 25.0, ("turns", "did_not_ask")),
}
# Who changes their mind when asked about what was told or stated: the last word holds.
WAVERS = _desk((DATE, VENUE), TRUTH, 6.84, 25.0, persona="fickle")
AGAIN, OTHER_DAY = "outdoor", "next week"  # what this user says then
_WAVERS = {
    "best": _Entry((WHERE, _plan()), ASKED),
    "again": _Entry((WHERE, WHERE, _plan(venue=AGAIN)), ASKED + 3, ("asked_again",)),
    "first-word": _Entry((WHERE, WHERE, _plan()), ASKED + 43, ("against_answer", "asked_again")),
    "of-the-request": _Entry((WHEN, WHERE, _plan(date=OTHER_DAY)), ASKED + 3, ("asked_in_vain",)),
    "request": _Entry((WHEN, WHERE, _plan()), ASKED + 13, ("against_answer", "asked_in_vain")),
}
# Who hears the first of several things alone, and is paid for that alone; guests cost what the venue does.
GUESTS = _key("guest_count", "event_planning", 40, (0.2,) * 5)
BOTH, BUSY_TRUTH = ask("How many guests at which venue?"), {**TRUTH, "guest_count": "20"}
BUSY = _desk((DATE, VENUE, GUESTS), BUSY_TRUTH, 13.68, 45.0, persona="impatient")
_BUSY = {
    "best": _Entry((BOTH, WHERE, propose(BUSY_TRUTH)), 13.68),
    "at-once": _Entry((BOTH, propose(BUSY_TRUTH)), 6.84 + 32, ("fabricated", "did_not_ask")),
}
_BY_DEFAULT = {"against-default": _Entry((WHERE, _plan(date="today")), ASKED + 10, ("against_default",))}

# Nearly sure: a question saves less than its price. 0.6 · 0.1 · 40 = 2.4 as an assumption.
SURE = _desk((DATE, replace(VENUE, chances=(0.9, *(0.025,) * 4))), {**TRUTH, "venue": "restaurant"}, 2.4, 25.0)
_SURE = {
    "best": _Entry((_plan(venue="restaurant", assumptions=["venue"]),), 2.4),
    "poor": _Entry((_plan(assumptions=["venue"]),), 0.6 * 0.975 * 40, ("poor_assumption",)),
    "undeclared": _Entry((_plan(venue="restaurant"),), 4.0, ("fabricated",)),
    "unworthy": _Entry((WHERE, _plan(venue="restaurant")), 3 + 0.2 * 2.4, ("asked_unworthy",)),
}

# The user knows nothing of it: 0.6 · 0.4 · 40 = 9.6 as an assumption.
USUAL = replace(VENUE, chances=(0.6, *(0.1,) * 4), answerable=False)
UNKNOWN = _desk((DATE, USUAL), TRUTH, 9.6, 25.0, forgets=("venue",))
_UNKNOWN = {
    "best": _Entry((_plan(venue="restaurant", assumptions=["venue"]),), 9.6),
    "left-out": _Entry((_plan(venue=None),), 20.0, ("left_out",)),
    "undeclared": _Entry((_plan(venue="restaurant"),), 16.0, ("fabricated",)),
    "in-vain": _Entry((WHERE, _plan(venue="restaurant", assumptions=["venue"])), 12.6, ("asked_in_vain",)),
}

# An act: left out it costs 30, with a question 3 + 0.2 · 30.
ACT = Key("proceed", PROCEED.values, (0.9, 0.1), 60)
YES, NO = {"date": "tomorrow", "proceed": "yes"}, {"date": "tomorrow", "proceed": "no"}
SURE_OF_IT = ask("Are you sure that I should go ahead?")
YES_ACT = _desk((DATE, ACT), YES, 9.0, 35.0)
NO_ACT = _desk((DATE, ACT), NO, 9.0, 35.0)
SILENT_ACT = _desk((DATE, ACT), YES, 9.0, 35.0, forgets=("proceed",))
STATED_ACT = _desk((DATE, replace(ACT, chances=(1.0, 0.0), source=REQUEST)), YES, 0.0, 35.0)
_UNASKED = {
    "unconfirmed": _Entry((propose(YES),), 60.0, ("unconfirmed", "did_not_ask")),
    "presumed": _Entry((propose({**YES, "assumptions": ["proceed"]}),), 60.0, ("unconfirmed", "did_not_ask")),
    "no-by-itself": _Entry((propose(NO),), 54.0, ("fabricated", "did_not_ask")),
    "no-presumed": _Entry((propose({**NO, "assumptions": ["proceed"]}),), 32.4, ("poor_assumption", "did_not_ask")),
    "undone": _Entry((propose({"date": "tomorrow"}),), 30.0, ("did_not_ask",)),
}
_YES_ACT = {
    **_UNASKED,
    "best": _Entry((SURE_OF_IT, propose(YES)), 9.0),
    "undone-after-yes": _Entry((SURE_OF_IT, propose({"date": "tomorrow"})), 39.0, ("left_out",)),
    "best-true": _Entry((SURE_OF_IT, propose({**YES, "proceed": True})), 9.0),
    "against-yes": _Entry((SURE_OF_IT, propose({**YES, "proceed": False})), 69.0, ("against_answer",)),
}
_NO_ACT = {
    **_UNASKED,
    "best-false": _Entry((SURE_OF_IT, propose({**NO, "proceed": False})), 9.0),
    "against-no": _Entry((SURE_OF_IT, propose({**NO, "proceed": True})), 69.0, ("against_answer",)),
}
# A yes is not taken back, whoever gives it.
WAVERING_ACT = _desk((DATE, ACT), YES, 9.0, 35.0, persona="fickle")
_WAVERING_ACT = {
    "again": _Entry((SURE_OF_IT, SURE_OF_IT, propose(YES)), 12.0, ("asked_again",)),
}
_SILENT_ACT = {
    "best": _Entry((SURE_OF_IT, propose({"date": "tomorrow"})), 9.0),
    "unconfirmed": _Entry((SURE_OF_IT, propose(YES)), 39.0, ("unconfirmed",)),
}
_STATED_ACT = {
    "best": _Entry((propose(YES),), 0.0),
    "in-vain": _Entry((SURE_OF_IT, propose(YES)), 3.0, ("asked_in_vain",)),
    "against": _Entry((propose(NO),), 60.0, ("against_request",)),
}

BEYOND = _desk((DATE, VENUE), {}, 0.0, 25.0, beyond=True, state="out_of_scope")
NOT_MINE = propose({"decline": "not mine"})
_BEYOND = {
    "best": _Entry((NOT_MINE,), 0.0),
    "asked": _Entry((WHERE, NOT_MINE), 3.0, ("asked_beyond",)),
    "planned": _Entry((propose({}),), 50.0, ("acted_beyond",)),
    "number": _Entry((propose({"decline": 7}),), 25.0, ("unparsable",)),
    "blank": _Entry((propose({"decline": " "}),), 25.0, ("unparsable",)),
    "and-more": _Entry((propose({"decline": "not mine", "venue": "home"}),), 25.0, ("unparsable",)),
    "overflow": _Entry((READ,), 25.0, ("overflow",)),
}

# Seven keys between two values each, 0.6 · 0.5 · 40 = 12 as an assumption; six may be asked about, whichever.
SEVEN = tuple(f.name for f in FAMILIES["event_planning"].fields)
HALVES = {name: FAMILIES["event_planning"].field(name).values[0] for name in SEVEN}
MANY = _desk(
    tuple(
        _key(
            n,
            "event_planning",
            40,
            tuple(0.5 * (i < 2) for i, _ in enumerate(FAMILIES["event_planning"].field(n).values)),
        )
        for n in SEVEN
    ),
    HALVES,
    18.0,
    140.0,
    question=1,
    knows=1.0,
)


def _all_but(name: str) -> Texts:
    asked = [ask(FAMILIES["event_planning"].field(n).ask[0]) for n in SEVEN if n != name]
    return (*asked, propose({**HALVES, "assumptions": [name]}))


_MANY = {f"all-but-{name}": _Entry(_all_but(name), 18.0) for name in (SEVEN[0], SEVEN[-1])}

# Numbers: 40 points for a length that is stated.
LENGTH = _key("duration_minutes", "meeting_scheduling", 40, (0.0, 1.0, 0.0, 0.0, 0.0), REQUEST)
NUMBER = _desk((LENGTH,), {"duration_minutes": "30"}, 0.0, 20.0, family="meeting_scheduling")
_NUMBER = {
    "text": _Entry((propose({"duration_minutes": "30"}),), 0.0),
    "whole": _Entry((propose({"duration_minutes": 30}),), 0.0),
    "point": _Entry((propose({"duration_minutes": 30.0}),), 0.0),
    "half": _Entry((propose({"duration_minutes": 30.5}),), 40.0, ("invalid_value",)),
}

# Behind a question that was answered; each is the right plan but for its form, and so no plan at all.
_RIGHT = json.dumps({"plan": TRUTH})[1:-1]
_FORMS = {
    "twice": '{"plan": {"venue": "office", "date": "tomorrow", "venue": "home"}}',
    "surrogate": '{"plan": {"date": "tomorrow", "venue": "home", "note": "\\ud800"}}',
    "surrogate-listed": '{"plan": {"date": "tomorrow", "venue": "home", "note": ["\\ud800"]}}',
    "surrogate-inside": '{"plan": {"date": "tomorrow", "venue": "home", "note": {"a": "\\ud800"}}}',
    "infinite": '{"plan": {"date": "tomorrow", "venue": "home", "note": 1e999}}',
    "nan": '{"plan": {"date": "tomorrow", "venue": "home", "note": NaN}}',
    "deep": '{"plan": {"date": "tomorrow", "venue": "home", "note": [[["deep"]]]}}',
    "long": f'{{"plan": {{"date": "tomorrow", "venue": "home", "note": "{"x" * 8000}"}}}}',
    "assumptions-text": '{"plan": {"date": "tomorrow", "venue": "home", "assumptions": "a"}}',
    "assumptions-number": '{"plan": {"date": "tomorrow", "venue": "home", "assumptions": [1]}}',
    "assumptions-twice": '{"plan": {"date": "tomorrow", "venue": "home", "assumptions": ["venue", "venue"]}}',
    "plan-list": '{"plan": []}',
    "argument-list": '["plan"]',
    "argument-more": f'{{{_RIGHT}, "note": 1}}',
}
_CALLS = {
    "name-list": json.dumps({"name": [PLAN], "arguments": {"plan": TRUTH}}),
    "name-other": json.dumps({"name": "submit", "arguments": {"plan": TRUTH}}),
    "note": json.dumps({"name": PLAN, "arguments": {"plan": TRUTH}, "note": "fine"}),
    **{name: f'{{"name": "{PLAN}", "arguments": {given}}}' for name, given in _FORMS.items()},
}
_NATIVE = {
    "whole": _Entry((WHERE, f"<tool_call>\n{_plan()}\n</tool_call>\n"), ASKED),
    "opened": _Entry((WHERE, f"<tool_call>{_plan()}"), ASKED + 25, ("unparsable",)),
    "closed": _Entry((WHERE, f"{_plan()}</tool_call>"), ASKED + 25, ("unparsable",)),
    "opened-otherwise": _Entry((WHERE, f"<tool-call>{_plan()}</tool_call>"), ASKED + 25, ("unparsable",)),
    "closed-otherwise": _Entry((WHERE, f"<tool_call>{_plan()}</tool-call>"), ASKED + 25, ("unparsable",)),
}
_FORM = {f"form-{name}": _Entry((WHERE, call), ASKED + 25, ("unparsable",)) for name, call in _CALLS.items()} | {
    f"form-question-{name}": _Entry(
        (json.dumps({"name": "ask_question", "arguments": {"question": question}}),),
        25.0,
        ("unparsable", "did_not_ask"),
    )
    for name, question in {"long": f"Where? {'x' * 400}", "number": 7, "list": ["Where?"], "blank": " "}.items()
}

DESKS: dict[str, tuple[Desk, dict[str, _Entry]]] = {
    "open": (OPEN, {**_OPEN, **_FORM, **{f"native-{name}": entry for name, entry in _NATIVE.items()}}),
    "wavers": (WAVERS, _WAVERS),
    "busy": (BUSY, _BUSY),
    "default": (BY_DEFAULT, _BY_DEFAULT),
    "sure": (SURE, _SURE),
    "unknown": (UNKNOWN, _UNKNOWN),
    "act": (YES_ACT, _YES_ACT),
    "act-no": (NO_ACT, _NO_ACT),
    "act-wavering": (WAVERING_ACT, _WAVERING_ACT),
    "act-silent": (SILENT_ACT, _SILENT_ACT),
    "act-stated": (STATED_ACT, _STATED_ACT),
    "beyond": (BEYOND, _BEYOND),
    "many": (MANY, _MANY),
    "number": (NUMBER, _NUMBER),
}

# What questions are about: the user is asked for just that, and everything else is stated.
QUESTIONS: tuple[tuple[str, str, Texts], ...] = (
    ("pet_sitting", "Where should the pet stay?", ("place",)),
    ("medical_intake", "Are you over 65?", ("age_band",)),
    ("medical_intake", "Any prior conditions or medications?", ("medications", "prior_conditions")),
    ("meeting_scheduling", "Shall I go ahead and clear the calendar?", ("proceed",)),
    ("meeting_scheduling", "How many minutes?", ("duration_minutes",)),
    ("event_planning", "Which venue for how many guests?", ("guest_count", "venue")),
    ("event_planning", "How many guests at which venue?", ("guest_count", "venue")),
    ("event_planning", "It is at home.", ()),
    ("event_planning", "At home or in a restaurant?", ("venue",)),
    ("support_triage", "Is everything normal?", ()),
    ("support_triage", "Is it low?", ()),
)


def _questions() -> Iterator[tuple[str, Desk, _Entry]]:
    """Two values are left open of each key that a question is about: 0.6 · 0.5 · 40 = 12 without the question."""
    for number, (family, question, about) in enumerate(QUESTIONS):
        fields = (*FAMILIES[family].fields, *((PROCEED,) if "proceed" in about else ()))
        truth = {f.name: f.values[0] for f in fields}
        keys = tuple(
            Key(f.name, f.values, tuple(0.5 * (i < 2) for i, _ in enumerate(f.values)), 40)
            if f.name in about
            else Key(f.name, f.values, tuple(float(not i) for i, _ in enumerate(f.values)), 40, True, REQUEST)
            for f in fields
        )
        cost = float(len(about))
        desk = _desk(keys, truth, cost, 20.0 * len(keys), family=family, question=1, knows=1.0)
        entry = _Entry((ask(question), propose(truth)), cost or 1.0, () if about else ("obscure_question",))
        yield f"question-{number}", desk, entry


def _entries() -> Iterator[tuple[str, Desk, _Entry]]:
    yield from ((f"{name}/{what}", desk, entry) for name, (desk, of) in DESKS.items() for what, entry in of.items())
    yield from _questions()


def ledger_cases() -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Attacks, which are all that is not the best, and honest cases, which are all that earns more than the least."""
    attacks, honest = [], []
    for name, desk, entry in _entries():
        total = max(-1.0, (desk.nothing - entry.cost) / (desk.nothing - desk.optimum))
        where, said = desk.scenario(), entry.said if len(entry.said) > 1 else entry.said[0]
        case = Case(
            f"ledger/{name}", "ledger", where, said, total, f"costs {entry.cost:g} points", "clarify", entry.codes
        )
        attacks += [case] if entry.codes else []
        honest += [case] if total > -1.0 else []
    return tuple(attacks), tuple(honest)
