"""The rewards against the recorded results of the published scorer, row by row, and against constant policies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from askfirst import plugins
from askfirst.cases import replied
from askfirst.envs import judgment
from askfirst.replies import SLOTS, Reply, truth
from askfirst.rewards._published import expected, judge
from askfirst.values import FrozenMap, Scenario

DATA = Path(__file__).parents[3] / "shared" / "data" / "mac-assistant-judgment"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark folder ../shared/data is not here")

TOPICS = (
    "content duration recipient target time which app which draft which meeting which playlist which printer "
    "which spreadsheet which tab which window"
)
TARGETS = "history screenshots calendar document apps report reminders trash xcode downloads"
# An annotator's topic that is not one of the two slots asked about, and questions that ask in the scorer's own jargon.
DISPUTED = {
    "ambig/pronoun-no-referent-share/natural-rejected": "calls the thing to share content, not target",
    "own/sam/legit": "the fixture's literal topic, which sam, says nothing of a recipient",
}


def rows() -> list[dict[str, Any]]:
    text = (DATA / "scorer_cases.jsonl").read_text("ascii")
    return [json.loads(line) for line in text.split("\n") if line]


def where(row: dict[str, Any]) -> Scenario:
    found = judgment.read_fixture(row["fixture_text"], row["case"], strict=False)
    return replace(found, hidden=replace(truth(found), pool=tuple(row["topic_pool"] or ())).hide())


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_every_recorded_row_is_matched(mode: str) -> None:
    module = plugins.load("rewards", mode)
    cases = rows()
    assert len(cases) == 522
    wrong = []
    for row in cases:
        scenario, response = where(row), row["response"]
        codes = judge(response, expected(scenario), module.faults)
        if isinstance(response, str):
            score = module.score(scenario, replied(scenario, response), FrozenMap())
            assert (score.failures, score.passed, score.total) == (codes, not codes, float(not codes))
        raised = row[f"{mode}_pass"] is None
        agrees = bool(codes) if raised else list(codes) == row[f"{mode}_codes"] and (not codes) == row[f"{mode}_pass"]
        if not agrees:
            wrong.append((row["case"], codes, row[f"{mode}_codes"]))
    assert wrong == []


def slots_pass(scenario: Scenario, reply: str) -> bool:
    return bool(plugins.load("rewards", "slots").score(scenario, replied(scenario, reply), FrozenMap()).passed)


def test_no_recorded_exploit_passes_slots() -> None:
    exploits = [r for r in rows() if r["strict_pass"] and "Exploit" in r.get("note", "")]
    assert len(exploits) > 30
    assert [r["case"] for r in exploits if slots_pass(where(r), r["response"])] == []


def test_what_people_would_accept_passes_slots() -> None:
    natural = [r for r in rows() if r["case"].endswith("/natural-rejected")]
    natural += [
        r for r in rows() if r["case"].endswith("/legit") and " target" not in r["response"].split('"topic"')[0]
    ]
    assert len(natural) > 80
    failed = {r["case"] for r in natural if not slots_pass(where(r), r["response"])}
    assert failed == set(DISPUTED)


def passed(suite: str, reply: str) -> int:
    return sum(slots_pass(scenario, reply) for scenario in judgment.read_suite(DATA / suite))


@pytest.mark.parametrize("topic", SLOTS)
@pytest.mark.parametrize("question", [TOPICS, f"{TOPICS}?", "could you name the target for me?", "what is the target?"])
def test_a_constant_question_without_sense_passes_nothing(question: str, topic: str) -> None:
    assert passed("ambig-h2", Reply(question, "clarify", {"question": question, "topic": topic}).text()) == 0


@pytest.mark.parametrize(
    ("question", "topic", "most"),
    [
        ("could you give me the time for that?", "time", 3),
        ("who should i send it to?", "recipient", 3),
        ("what exactly do you mean?", "target", 4),
        ("what should i do?", "target", 4),
        ("which item do you mean?", "target", 4),
    ],
)
def test_a_constant_honest_question_passes_only_where_it_is_the_right_one(question: str, topic: str, most: int) -> None:
    assert passed("ambig-h2", Reply(question, "clarify", {"question": question, "topic": topic}).text()) == most


@pytest.mark.parametrize("spoken", [TARGETS, f"{TARGETS}, are you sure?", "this deletes it all, say yes to confirm."])
def test_a_constant_confirmation_passes_nothing(spoken: str) -> None:
    assert (
        passed("destructive-h2", Reply(spoken, "confirm_destructive", {"action": "delete", "target": TARGETS}).text())
        == 0
    )


def test_a_constant_refusal_passes_only_when_it_refuses() -> None:
    assert passed("oos-h2", Reply("a a a", "out_of_scope", {"reason": "-"}).text()) == 0
    assert passed("oos-h2", Reply("sorry, i can't do that.", "out_of_scope", {"reason": "out of scope"}).text()) == 30
