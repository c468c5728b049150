"""What the simulated user understands, by the labelled questions, and what it says."""

from __future__ import annotations

import pytest

from askfirst.clarify import bank
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import PROCEED, resolve
from askfirst.clarify.problem import Hidden, Key, Problem
from askfirst.clarify.user import PUZZLED, answer, understood

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
    said = answer(HIDDEN, "x", ("venue",), more=False)
    assert "at my place" in said.lower()
    assert "twenty" not in said
    assert answer(HIDDEN, "x", ("date",), more=False) == "I do not know."
    assert answer(HIDDEN, "x", ("theme",), more=False) == "I do not mind about the theme."
    assert answer(HIDDEN, "x", ("proceed",), more=False) == "There is nothing to confirm."
    assert answer(HIDDEN, "x", (), more=False) in PUZZLED
    both = answer(HIDDEN, "x", ("venue", "guest_count"), more=True)
    assert both.startswith("The venue: ")
    assert "The number of guests: " in both
    assert both.endswith("That is enough of questions.")
    assert not any(name in both for name in ("guest_count", "event_type"))


def test_every_answer_can_be_copied_into_a_plan() -> None:
    for family in FAMILIES.values():
        for each in family.fields:
            for value, ways in each.said.items():
                for way in (value, *ways):
                    for scenario in "abcdefgh":  # another carrier each
                        problem = Problem(family.name, (), 3, 0.9)
                        hidden = Hidden(problem, "missing", {each.name: value}, {each.name: way}, ())
                        assert resolve(each, answer(hidden, scenario, (each.name,), more=False)) == value
