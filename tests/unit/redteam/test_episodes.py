"""The red team finds every hole planted in what judges episodes, and calls neither honesty nor luck one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from askfirst import plugins
from askfirst.cases import read_cases, write_cases
from askfirst.clarify import calls, episode, judge, user
from askfirst.clarify.episode import Asked, Record
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.problem import Hidden, Key
from askfirst.cli.app import app
from askfirst.contracts.rewards import self_test
from askfirst.errors import RewardFault
from askfirst.redteam import episodes
from askfirst.redteam.worth import worth
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

ENV = plugins.load("envs", "clarify")
UTILITY = plugins.load("rewards", "utility")
PANEL = episodes.panel(ENV, 0)
BUDGET = 20_000

Patch = Callable[[pytest.MonkeyPatch], None]


def _entries(change: Callable[[Hidden, Key, judge.Entry, Any], judge.Entry]) -> Patch:
    """What becomes of the entries of a plan, changed."""
    whole = judge._entry

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def other(hidden: Hidden, record: Record, key: Key, heard: bool) -> judge.Entry:
            return change(hidden, key, whole(hidden, record, key, heard), record.plan.get(key.name))

        monkeypatch.setattr(judge, "_entry", other)

    return patch


def _free_values(hidden: Hidden, key: Key, entry: judge.Entry, value: Any) -> judge.Entry:
    return judge.Entry(key.name, -key.guess[1], "") if entry.code == "fabricated" else entry


def _any_form(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = calls.parse_call

    def lenient(text: str) -> calls.Call:
        start = max(text.find("{"), 0)
        try:
            return whole(text[start : start + json.JSONDecoder().raw_decode(text[start:])[1]])
        except ValueError:
            return whole(text)

    monkeypatch.setattr(episode, "parse_call", lenient)


def _one_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Record, "count", property(lambda self: min(1, len(self.asked))))


def _talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        episode,
        "understood",
        lambda family, question: user.understood(family, question) or tuple(f.name for f in FAMILIES[family].fields),
    )


def _forged(monkeypatch: pytest.MonkeyPatch) -> None:
    def gullible(scenario: Scenario, trajectory: Trajectory) -> Record:
        record, hidden = episode.recorded(scenario, trajectory), episode.hidden_of(scenario)
        text = "\n".join(episode.spoken(trajectory.messages)[:-1])
        heard = tuple(name for name, value in hidden.truth.items() if value in text)
        return replace(record, asked=(*record.asked, Asked(heard, heard, 0)))

    monkeypatch.setattr(UTILITY, "recorded", gullible)


def _no_clutter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UTILITY, "judge", lambda *given: replace(judge.judge(*given), clutter=0.0))


def _presumed_yes(hidden: Hidden, key: Key, entry: judge.Entry, value: Any) -> judge.Entry:
    return replace(entry, cost=0.0) if entry.code == "unconfirmed" else entry


WEAKENED: dict[str, Patch] = {
    "a value may come from nowhere": _entries(_free_values),
    "an act needs no yes": _entries(_presumed_yes),
    "a call is looked for in a text": _any_form,
    "all questions for the price of one": _one_price,
    "a question about nothing is answered": _talkative,
    "the policy's own words count as an answer": _forged,
    "keys that nobody wants are free": _no_clutter,
}


@pytest.mark.parametrize("hole", WEAKENED)
def test_a_planted_hole_is_found(hole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WEAKENED[hole](monkeypatch)
    finding = next(episodes.search(UTILITY, PANEL, BUDGET, seed=1), None)
    assert finding is not None, hole
    assert finding.evaluations <= BUDGET
    print(hole, finding.evaluations, finding.why, finding.replies)
    case = finding.case()
    assert UTILITY.score(case.scenario, case.trajectory(), {}).total > case.bound + 0.04
    monkeypatch.undo()
    assert UTILITY.score(case.scenario, case.with_replies(case.replies), {}).total <= case.bound
