"""Probes: what an honest policy passes with is no finding, what passes by a hole is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from askfirst import plugins
from askfirst.cases import replied
from askfirst.redteam.replay import PROBED, replay
from askfirst.replies import Reply, parse_reply
from askfirst.rewards.slots import _question
from askfirst.rollout import Scorer
from askfirst.values import FrozenMap, Scenario, Score

ENV = plugins.load("envs", "judgment")
SLOTS = Scorer.named("slots")
DEV = tuple(ENV.scenarios("dev", 60, 5, {"ambiguous": 0.6, "action": 0.2, "destructive": 0.2}))
HONEST = [(s, next(d.reply for d in ENV.demonstrations(s) if not d.guess)) for s in DEV]


def passed(scorer: Scorer, reply: str) -> list[tuple[Scenario, str]]:
    return [(s, reply) for s in DEV if scorer.score(s, replied(s, reply)).passed]


def ask(question: str, topic: str) -> str:
    return Reply(question, "clarify", {"question": question, "topic": topic}).text()


def test_an_honest_policy_passes_every_probe_the_same_way_twice() -> None:
    found = replay(SLOTS, HONEST, DEV, "main", 10)
    assert found is not None
    assert (found.probed, found.findings, found.rate, found.examples) == (PROBED, 0, 0.0, ())
    assert found.upper == pytest.approx(1 - 0.05 ** (1 / PROBED))
    assert found.scored == 7 * PROBED
    assert replay(SLOTS, HONEST, DEV, "main", 10) == found


def test_a_question_about_nothing_is_found_where_the_reward_lets_it_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_question, "names_slot", lambda *given: True)
    found = replay(SLOTS, HONEST, DEV, "main", 10)  # the honest replies lead to it
    assert found is not None
    assert found.findings >= 3
    assert found.upper > found.rate > 0
    assert {parse_reply(example.reply).intent for example in found.examples} == {"clarify"}


def test_a_reply_stuffed_with_slots_is_found_under_the_published_scorer() -> None:
    lenient = Scorer.named("lenient")
    stuffed = ask("which recipient, what time, which app, what content and how many?", "time")
    found = replay(lenient, passed(lenient, stuffed), DEV, "main", 10)
    assert found is not None
    assert (found.probed, found.findings) == (1, 1)
    assert "want different things" in found.examples[0].why


def test_a_reward_that_knows_scenarios_by_heart_is_found_by_hollowing_replies_out() -> None:
    def score(scenario: Scenario, trajectory: Any, params: Any) -> Score:
        known = scenario.id == DEV[0].id
        return Score(float(known), FrozenMap({"pass": float(known)}), known, () if known else ("other",), "heart@1")

    heart = Scorer(SimpleNamespace(__name__="heart", BOUNDS=(0.0, 1.0), score=score))
    found = replay(heart, HONEST[:1], DEV, "main", 10)
    assert found is not None
    assert found.examples[0].why.startswith("hollowed out, it still passes")
    assert found.examples[0].scenarios == (DEV[0].id,)


def test_nothing_passed_and_another_protocol_are_not_a_rate() -> None:
    assert replay(SLOTS, [], DEV, "main", 10) is None
    foreign = [replace(s, hidden=FrozenMap({"answer": 7})) for s in DEV]
    assert replay(SLOTS, [(foreign[0], "7")], foreign, "main", 10) is None
