"""What the simulated user understands, by the labelled questions, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from askfirst.clarify import bank
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import PROCEED, resolve
from askfirst.clarify.persona import PERSONAS, of_split
from askfirst.clarify.problem import Hidden, Key, Problem
from askfirst.clarify.user import Asking, answer, heard_of, tells, understood

TRUTH = {"venue": "home", "guest_count": "20", "date": "today"}
WORDS = {"venue": "at my place", "guest_count": "for twenty of us", "date": "later today"}
KEYS = tuple(Key(name, (value,), (1.0,), 10) for name, value in TRUTH.items())
HIDDEN = Hidden(Problem("event_planning", KEYS, 3, 0.9), "missing", TRUTH, WORDS, ("date",))


def test_the_bank_is_large_and_of_every_family() -> None:
    known = [bank.questions(split) for split in bank.SPLITS]
    assert sum(map(len, known)) >= 400
    for questions in known:
        assert {q.family for q in questions} == set(FAMILIES)
    for each in (*known[0], *known[1]):
        names = {f.name for f in (*FAMILIES[each.family].fields, PROCEED)}
        assert each.about <= names, each
    texts = [(q.family, q.question) for questions in known for q in questions]
    assert len(set(texts)) == len(texts)


def test_questions_that_nothing_was_tuned_on_are_understood() -> None:
    found = bank.measure(bank.questions("test"))
    assert found.precision >= 0.97
    assert found.recall >= 0.95


def test_the_measure_counts_what_is_missed_and_what_is_made_up() -> None:
    asked = [
        bank.Labelled("event_planning", "Where is it?", frozenset({"venue", "date"})),
        bank.Labelled("event_planning", "What is the budget?", frozenset()),
    ]
    found = bank.measure(asked)
    assert (found.precision, found.recall, len(found.wrong)) == (0.5, 0.5, 2)
    with pytest.raises(ValueError, match="no question"):
        bank.measure([])


@pytest.mark.parametrize("family", FAMILIES)
def test_its_own_questions_ask_for_just_what_they_should(family: str) -> None:
    for each in (*FAMILIES[family].fields, PROCEED):
        assert [understood(family, way) for way in each.ask] == [(each.name,)] * len(each.ask)
        assert understood(family, f"{each.name}?") == (each.name,)


def test_of_cues_that_overlap_the_longer_one_counts() -> None:
    assert understood("meeting_scheduling", "When does it start on the day?") == ("time",)
    assert understood("meeting_scheduling", "How many minutes do we need?") == ("duration_minutes",)
    assert understood("pet_sitting", "Where should the pet stay?") == ("place",)
    assert understood("event_planning", "At home or in a restaurant?") == ("venue",)


@pytest.mark.parametrize("text", ["", "at home", "I will take the venue.", "?", "where", "~" * 400, "a" * 400 + "?"])
def test_what_is_no_question_asks_for_nothing(text: str) -> None:
    assert understood("event_planning", text) == ()


def test_it_says_what_it_is_asked_and_nothing_else() -> None:
    at = Asking("x", "train")
    said = answer(HIDDEN, at, ("venue",))
    assert "at my place" in said.lower()
    assert "twenty" not in said
    assert answer(HIDDEN, at, ("date",)) == "I do not know."
    assert answer(HIDDEN, at, ("theme",)) == "I do not mind about the theme."
    assert answer(HIDDEN, at, ("proceed",)) == "There is nothing to confirm."
    assert answer(HIDDEN, at, ()) in PERSONAS["matter-of-fact"].puzzled
    assert tells(HIDDEN, at, ("venue", "date", "theme", "proceed")) == (("venue", "home"),)
    both = answer(HIDDEN, at, ("venue", "guest_count"))
    assert both.startswith("The venue: ")
    assert "The number of guests: " in both
    assert not any(name in both for name in ("guest_count", "event_type"))


def test_every_answer_can_be_copied_into_a_plan() -> None:
    number = 0
    for family in FAMILIES.values():
        for each in family.fields:
            for value in each.values:
                for way in (value, *each.ways(value)):
                    name, persona = tuple(PERSONAS.items())[number % len(PERSONAS)]
                    problem = Problem(family.name, (), 3, 0.9)
                    hidden = Hidden(problem, "missing", {each.name: value}, {each.name: way}, (), name)
                    for attempt in range(4):  # another carrier, and a slip or none
                        at = Asking(f"{number}.{attempt}", "dev" if family.unseen else persona.split)
                        said = answer(hidden, at, (each.name,))
                        assert resolve(each, said) == value, said
                        assert tells(hidden, at, (each.name,)) == ((each.name, value),)
                    number += 1


def user(persona: str, **more: Any) -> Hidden:
    """A user of that persona who wants a party at home."""
    truth = {"venue": "home", "date": "today"}
    return Hidden(EVENT, "missing", truth, WORDS, persona=persona, **{"forgets": (), **more})


EVENT = Problem(
    "event_planning",
    (
        Key("venue", ("restaurant", "home", "office", "outdoor", "rented hall"), (0.2,) * 5, 50),
        Key("date", ("today", "tomorrow", "this week", "next week"), (1.0, 0.0, 0.0, 0.0), 8, True, "request"),
    ),
    5,
    0.9,
)
WORDS = {"venue": "at home", "date": "today"}


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_persona_answers_alike_every_time_and_belongs_to_one_split(persona: str) -> None:
    at = Asking("x", PERSONAS[persona].split)
    one, other = (answer(user(persona), at, ("venue",)) for _ in range(2))
    assert one == other
    assert tells(user(persona), at, ("venue",)) == (("venue", "home"),)
    assert "today" not in one.lower().replace("today i would say", "")
    silent = user(persona, forgets=("venue",))
    assert tells(silent, at, ("venue",)) == ()
    assert answer(silent, at, ("venue",)) in PERSONAS[persona].unknown
    assert [split for split in ("train", "dev", "sealed") if persona in of_split(split)] == [PERSONAS[persona].split]


def test_personas_share_no_words_around_an_answer() -> None:
    seen: dict[str, str] = {}
    for each in PERSONAS.values():
        for text in {*each.carriers, *each.unknown, *each.puzzled, each.slip} - {"{}.", ""}:
            assert seen.setdefault(text, each.split) == each.split, text


@pytest.mark.parametrize("persona", [n for n, p in PERSONAS.items() if p.wavers])
def test_who_wavers_changes_their_mind_when_asked_again(persona: str) -> None:
    split, family = PERSONAS[persona].split, FAMILIES["event_planning"]
    again, stated = Asking("x", split, {"venue": "home"}), Asking("x", split)
    [(_, other)] = tells(user(persona), again, ("venue",))
    assert other != "home"
    assert resolve(family.field("venue"), answer(user(persona), again, ("venue",))) == other
    [(_, other)] = tells(user(persona), stated, ("date",))
    assert other != "today"
    assert resolve(family.field("date"), answer(user(persona), stated, ("date",))) == other


def test_who_does_not_waver_does_not() -> None:
    assert tells(user("terse"), Asking("x", "train", {"venue": "home"}), ("venue",)) == (("venue", "home"),)


def test_some_hear_one_thing_at_a_time() -> None:
    about = ("venue", "date")
    assert heard_of(user("impatient"), about, 6) == ("venue",)
    assert heard_of(user("impatient"), about, 0) == ()
    assert heard_of(user("terse"), about, 6) == about
    assert heard_of(user("terse"), about, 1) == ("venue",)
