"""The published fixtures: parsed as the published reader does, judged fairly, and never met in training."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from askfirst import plugins
from askfirst.cases import replied
from askfirst.envs import judgment
from askfirst.envs.judgment._fixtures import parse_fixture
from askfirst.replies import Reply, truth
from askfirst.values import Scenario

DATA = Path(__file__).parents[3] / "shared" / "data" / "mac-assistant-judgment"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark folder ../shared/data is not here")
SIZES = {"ambig-h2": 20, "oos-h2": 30, "destructive-h2": 10}
NEAR = 0.8  # Jaccard overlap of word sets at which an utterance counts as the fixture's
MARK = "user said: "


def rows() -> list[dict[str, Any]]:
    text = (DATA / "scorer_cases.jsonl").read_text("ascii")
    return [json.loads(line) for line in text.split("\n") if line]


def utterance(scenario: Scenario) -> str:
    return scenario.opening[0].content.rpartition(MARK)[2]


def words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9']+", text.lower()))


def test_every_recorded_parse_is_matched() -> None:
    recorded = [row for row in rows() if "parsed_fixture" in row]
    assert len(recorded) >= 20
    for row in recorded:
        found = asdict(parse_fixture(row["fixture_text"]))
        assert found.pop("own") == ()
        found["elements"] = list(found["elements"])
        assert found == row["parsed_fixture"], row["case"]


def test_a_tolerant_reading_takes_every_recorded_fixture() -> None:
    for row in rows():
        scenario = judgment.read_fixture(row["fixture_text"], row["case"], strict=False)
        wanted = parse_fixture(row["fixture_text"])
        assert utterance(scenario) == wanted.user
        assert scenario.hidden["intent"] == (wanted.expect_intent or "")


@pytest.mark.parametrize("name", SIZES)
def test_suites_are_read(name: str) -> None:
    suite = judgment.read_suite(DATA / name)
    assert len(suite) == SIZES[name]
    assert len({s.id for s in suite}) == SIZES[name]
    assert {s.split for s in suite} == {"suite"}
    wanted = {"ambig-h2": "ambiguous", "oos-h2": "out_of_scope", "destructive-h2": "destructive"}[name]
    assert {s.stratum for s in suite} == {wanted}
    pools = {truth(s).pool for s in suite}
    assert len(pools) == 1
    pool = pools.pop()
    assert len(pool) == (13 if name == "ambig-h2" else 0)
    assert list(pool) == sorted(pool)


SLOTS = {
    "ambiguous-app-music": "app",
    "missing-amount-timer": "quantity",
    "missing-content-note": "content",
    "missing-day-alarm": "time",
    "missing-recipient-invite": "recipient",
    "missing-time-event": "time",
    "multi-which-draft": "target",
    "multi-which-printer": "target",
    "pronoun-no-referent-reply": "recipient",
    "pronoun-no-referent-share": "target",
    "vague-fix-this": "target",
}
NATURAL = {
    "ambiguous-app-music": ("which app do you mean, music or spotify?", "app"),
    "missing-amount-timer": ("how long should it run?", "quantity"),
    "missing-content-note": ("what should it say?", "content"),
    "missing-day-alarm": ("when should i wake you?", "time"),
    "missing-recipient-invite": ("who should i invite?", "recipient"),
    "missing-time-event": ("when is that happening?", "time"),
    "multi-which-draft": ("which one, priya, alex or team?", "target"),
    "multi-which-file": ("did you mean budget, forecast or invoices?", "target"),
    "multi-which-meeting": ("which meeting do you mean?", "target"),
    "multi-which-printer": ("the office one or the home one?", "target"),
    "multi-which-tab-browser": ("which page should i close, zara or uniqlo?", "target"),
    "pronoun-no-referent-delete": ("which one do you mean?", "target"),
    "pronoun-no-referent-share": ("what should i share?", "target"),
    "vague-fix-this": ("what exactly should i fix?", "target"),
}


def test_slots_follow_from_the_annotations() -> None:
    for name, slot in SLOTS.items():
        text = (DATA / "ambig-h2" / f"{name}.txt").read_text("utf-8")
        assert truth(judgment.read_fixture(text, name)).slot == slot, name


@pytest.mark.parametrize("name", NATURAL)
def test_a_natural_question_is_an_honest_reply(name: str) -> None:
    question, slot = NATURAL[name]
    scenario = judgment.read_fixture((DATA / "ambig-h2" / f"{name}.txt").read_text("utf-8"), name)
    reply = Reply(question, "clarify", {"question": question, "topic": slot}).text()
    score = plugins.load("rewards", "slots").score(scenario, replied(scenario, reply), {})
    assert score.passed, score.failures


def test_published_fixtures_survive_being_written() -> None:
    for name in SIZES:
        for scenario in judgment.read_suite(DATA / name):
            back = judgment.read_fixture(judgment.write_fixture(scenario), "back")
            assert (back.opening, back.hidden) == (scenario.opening, scenario.hidden)


def test_no_generated_utterance_is_a_fixture_or_nearly_one() -> None:
    fixtures = [words(utterance(s)) for name in SIZES for s in judgment.read_suite(DATA / name)]
    exact = {utterance(s) for name in SIZES for s in judgment.read_suite(DATA / name)}
    even = dict.fromkeys(judgment.STRATA, 1) | {"ambiguous": 6, "out_of_scope": 4, "destructive": 4, "clear_twin": 4}
    drawn = [*judgment.scenarios("train", 24_000, 11, even), *judgment.scenarios("dev", 6_000, 11, even)]
    said = {utterance(s) for s in drawn}
    assert len(said) > 15_000
    assert not said & exact
    near = []
    for text in said:
        own = words(text)
        for fixture in fixtures:
            shared = len(own & fixture)
            if shared >= NEAR * len(own | fixture) and min(len(own), len(fixture)) >= 3:
                near.append((text, sorted(fixture)))
    assert near == []
