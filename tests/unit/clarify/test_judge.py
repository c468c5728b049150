"""Costs by chance are realised costs on average, and every code stands for what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from askfirst import plugins
from askfirst.cases import read_cases, write_cases
from askfirst.clarify.calls import DECLINE
from askfirst.clarify.episode import Asked, Record, recorded
from askfirst.clarify.judge import Verdict, judge
from askfirst.clarify.problem import DEFAULT, REQUEST, Hidden, Key, Problem, hidden_of
from askfirst.values import FrozenMap

VENUES = ("restaurant", "home", "office", "outdoor", "rented hall")
EVEN = (0.2,) * 5
KNOWN = Key("date", ("today", "tomorrow", "this week", "next week"), (0.0, 1.0, 0.0, 0.0), 10, True, REQUEST)
OPEN = Key("venue", VENUES, EVEN, 40)
PROBLEM = Problem("event_planning", (KNOWN, OPEN), 3, 0.8)
TRUTH = {"date": "tomorrow", "venue": "home"}
WORDS = {"date": "tomorrow", "venue": "at home"}
HIDDEN = Hidden(PROBLEM, "missing", TRUTH, WORDS, ())
ASKED = Asked(("venue",), ("venue",), 1)


def judged(plan: Mapping[str, Any], *asked: Asked, hidden: Hidden = HIDDEN, ending: str = "planned") -> Verdict:
    answered = [[n for n in a.heard if n in hidden.truth and n not in hidden.forgets] for a in asked]
    told = [tuple((n, hidden.truth[n]) for n in names) for names in answered]
    return judge(hidden, Record(tuple(replace(a, told=t) for a, t in zip(asked, told, strict=True)), plan, ending))


def realised(hidden: Hidden, plan: Mapping[str, Any], questions: int) -> float:
    """What an episode really costs, by the table of costs and the hidden values."""
    cost = float(hidden.problem.question * questions)
    for key in hidden.problem.keys:
        value = plan.get(key.name)
        share = 0.6 if key.name in plan.get("assumptions", ()) else 1.0
        cost += 0.5 * key.price if value is None else share * key.price * (value != hidden.truth[key.name])
    return cost


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("guess", ["home", None])
@pytest.mark.parametrize("declared", [False, True])
def test_the_cost_is_the_realised_one_less_luck(asks: bool, guess: str | None, declared: bool) -> None:
    by_chance = by_luck = 0.0
    for venue, p in zip(VENUES, EVEN, strict=True):
        for forgets, q in (((), 0.8), (("venue",), 0.2)):
            hidden = replace(HIDDEN, truth={**TRUTH, "venue": venue}, forgets=forgets)
            answered = asks and not forgets
            plan: dict[str, Any] = {"date": "tomorrow", "venue": venue if answered else guess}
            if declared and not answered and guess:
                plan["assumptions"] = ["venue"]
            verdict = judged(plan, *([ASKED] if asks else []), hidden=hidden)
            by_chance += p * q * (verdict.regret + verdict.optimum)
            by_luck += p * q * realised(hidden, plan, int(asks))
    assert by_chance == pytest.approx(by_luck)


def test_luck_earns_nothing() -> None:
    lucky, unlucky = (judged({"date": "tomorrow", "venue": venue}) for venue in ("home", "office"))
    assert lucky == unlucky
    assert lucky.failures == ("fabricated", "did_not_ask")


CODES: list[tuple[dict[str, Any], tuple[Asked, ...], tuple[str, ...]]] = [
    ({"date": "tomorrow", "venue": "at home."}, (ASKED,), ()),
    ({"date": "tomorrow", "venue": "office"}, (ASKED,), ("against_answer",)),
    ({"date": "today", "venue": "home"}, (ASKED,), ("against_request",)),
    ({"date": "tomorrow", "venue": "the moon"}, (ASKED,), ("invalid_value",)),
    ({"date": "tomorrow"}, (ASKED,), ("left_out",)),
    ({"date": "tomorrow", "venue": "home", "assumptions": ["venue"]}, (ASKED,), ("needless_assumption",)),
    ({"date": "tomorrow", "venue": "home", "assumptions": ["venue"]}, (), ("did_not_ask",)),
    ({"date": "tomorrow", "venue": "home", "mood": "good"}, (ASKED,), ("strange_key",)),
    ({"date": "tomorrow", "venue": "home", "assumptions": ["mood"]}, (ASKED,), ("strange_assumption",)),
    ({"date": "tomorrow", "venue": "home"}, (ASKED, ASKED), ("asked_again",)),
    ({"date": "tomorrow", "venue": "home"}, (ASKED, Asked((), (), 1)), ("obscure_question",)),
    ({"date": "tomorrow", "venue": "home"}, (ASKED, Asked(("date",), ("date",), 1)), ("asked_in_vain",)),
    ({"date": "tomorrow", "venue": "home"}, (ASKED, Asked(("theme",), ("theme",), 1)), ("asked_unneeded",)),
]


@pytest.mark.parametrize(("plan", "asked", "codes"), CODES)
def test_each_fault_has_its_code(plan: dict[str, Any], asked: tuple[Asked, ...], codes: tuple[str, ...]) -> None:
    verdict = judged(plan, *asked)
    assert verdict.failures == codes
    assert (verdict.regret > 1e-9) is bool(codes)


def test_a_default_that_is_not_taken() -> None:
    key = replace(KNOWN, source=DEFAULT)
    hidden = replace(HIDDEN, problem=replace(PROBLEM, keys=(key, OPEN)))
    assert judged({"date": "today", "venue": "home"}, ASKED, hidden=hidden).failures == ("against_default",)


def test_a_poor_assumption_and_a_question_that_is_too_dear() -> None:
    usual = replace(OPEN, chances=(0.9, 0.025, 0.025, 0.025, 0.025))
    hidden = replace(HIDDEN, problem=replace(PROBLEM, keys=(KNOWN, usual)), forgets=("venue",))
    plan: dict[str, Any] = {"date": "tomorrow", "venue": "home", "assumptions": ["venue"]}
    assert judged(plan, hidden=hidden).failures == ("poor_assumption",)
    assert judged({**plan, "venue": "restaurant"}, hidden=hidden).failures == ()
    assert judged({**plan, "venue": "restaurant"}, ASKED, hidden=hidden).failures == ("asked_unworthy",)


def test_an_act_needs_a_yes() -> None:
    act = Key("proceed", ("yes", "no"), (0.9, 0.1), 60)
    hidden = replace(HIDDEN, problem=replace(PROBLEM, keys=(KNOWN, act)), truth={"date": "tomorrow", "proceed": "yes"})
    asked = Asked(("proceed",), ("proceed",), 1)
    assert judged({"date": "tomorrow", "proceed": "yes"}, asked, hidden=hidden).failures == ()
    for assumed in ([], ["proceed"]):
        plan = {"date": "tomorrow", "proceed": "yes", "assumptions": assumed}
        verdict = judged(plan, hidden=hidden)
        assert verdict.failures == ("unconfirmed", "did_not_ask")
        assert verdict.wrong == 30.0  # all of the price, where leaving it out costs half
    unsure = replace(hidden, forgets=("proceed",))
    assert judged({"date": "tomorrow", "proceed": "yes"}, asked, hidden=unsure).failures == ("unconfirmed",)
    assert judged({"date": "tomorrow"}, asked, hidden=unsure).failures == ()


@pytest.mark.parametrize("ending", ["declined", "unparsable", "over_budget", "overflow", "turns", "unfinished"])
def test_doing_nothing_is_the_zero_and_says_why(ending: str) -> None:
    verdict = judged({DECLINE: "no"} if ending == "declined" else {}, ending=ending)
    assert verdict.regret == pytest.approx(verdict.scale)
    assert verdict.failures == (ending, "did_not_ask")


def test_what_is_beyond_the_task_is_declined() -> None:
    hidden = replace(HIDDEN, problem=replace(PROBLEM, beyond=True))
    assert judged({DECLINE: "no"}, ending="declined", hidden=hidden).failures == ()
    assert judged({}, hidden=hidden).failures == ("acted_beyond",)
    assert judged({DECLINE: "no"}, ASKED, ending="declined", hidden=hidden).failures == ("asked_beyond",)
    assert judged({}, ending="turns", hidden=hidden).failures == ("turns",)


def test_there_is_a_failure_exactly_where_there_is_regret() -> None:
    utility = plugins.load("rewards", "utility")
    for case in (*utility.ATTACKS[::3], *utility.HONEST[::3]):
        verdict = judge(hidden_of(case.scenario), recorded(case.scenario, case.trajectory()))
        assert verdict.regret >= -1e-9
        assert bool(verdict.failures) is (verdict.regret > 1e-9), case.name


def test_episodes_of_an_attack_file_are_judged_as_they_were(tmp_path: Path) -> None:
    utility = plugins.load("rewards", "utility")
    cases = [*utility.ATTACKS[::60], *utility.HONEST[::60]]
    write_cases(tmp_path / "attacks.jsonl", cases)
    for before, after in zip(cases, read_cases(tmp_path / "attacks.jsonl"), strict=True):
        scores = [utility.score(c.scenario, c.trajectory(), FrozenMap()) for c in (before, after)]
        assert scores[0] == scores[1]
