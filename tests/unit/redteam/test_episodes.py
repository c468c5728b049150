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
from askfirst.cases import Case, play, read_cases
from askfirst.clarify import calls, episode, judge, user
from askfirst.clarify.episode import Asked, Record
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.optimum import optimum
from askfirst.clarify.oracle import ask, propose
from askfirst.clarify.persona import PERSONAS
from askfirst.clarify.problem import Hidden, Key, Problem, hidden_of
from askfirst.cli.app import app
from askfirst.errors import RewardFault
from askfirst.redteam import episodes
from askfirst.redteam.moves import shorter
from askfirst.redteam.worth import least, worth
from askfirst.values import FrozenMap, Message, Scenario, Score, Trajectory

ENV = plugins.load("envs", "clarify")
UTILITY = plugins.load("rewards", "utility")
PANEL = episodes.panel(ENV, 0)
BUDGET = 20_000

Patch = Callable[[pytest.MonkeyPatch], None]


def _entries(change: Callable[[Hidden, Key, judge.Entry, Any], judge.Entry]) -> Patch:
    """What becomes of the entries of a plan, changed."""
    whole = judge._entry

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def other(hidden: Hidden, record: Record, key: Key) -> judge.Entry:
            return change(hidden, key, whole(hidden, record, key), record.plan.get(key.name))

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
        told = tuple((name, value) for name, value in hidden.truth.items() if value in text)
        heard = tuple(name for name, _ in told)
        return replace(record, asked=(*record.asked, Asked(heard, heard, 0, told)))

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


SLOW = ("a question about nothing is answered", "the policy's own words count as an answer")
HOLES = [pytest.param(hole, marks=pytest.mark.thorough if hole in SLOW else ()) for hole in WEAKENED]


@pytest.mark.parametrize("hole", HOLES)
def test_a_planted_hole_is_found(hole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WEAKENED[hole](monkeypatch)
    finding = next(episodes.search(UTILITY, PANEL, BUDGET, seed=1), None)
    assert finding is not None, hole
    assert finding.evaluations <= BUDGET
    case = finding.case()
    total = UTILITY.score(case.scenario, case.trajectory(), {}).total
    assert total > max(case.bound + 0.04, episodes.THRESHOLD)
    for said in shorter(finding.replies):  # nothing in it can be left out, or it is by luck alone that it earns
        fewer = UTILITY.score(case.scenario, case.with_replies(said), {}).total
        most = worth(case.scenario, case.with_replies(said).messages)
        assert fewer <= max(most.most, 0.0) + episodes.EXCESS or most.guessed or most.kinds - _kinds(case)
    monkeypatch.undo()
    assert UTILITY.score(case.scenario, case.with_replies(case.replies), {}).total <= case.bound


def _kinds(case: Case) -> frozenset[str]:
    return worth(case.scenario, case.with_replies(case.replies).messages).kinds


@pytest.mark.thorough
def test_nothing_is_found_in_utility_and_the_search_is_repeatable() -> None:
    spent: list[list[tuple[int, int]]] = [[], []]
    for calls_ in spent:
        assert not list(
            episodes.search(UTILITY, PANEL, 4000, seed=3, progress=lambda *done, calls_=calls_: calls_.append(done))
        )
    assert spent[0] == spent[1]
    assert len(spent[0]) > 1


@pytest.mark.thorough
def test_luck_is_no_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward of realised costs pays a guess that is right, and makes one that is wrong pay for it."""

    def realised(hidden: Hidden, key: Key, entry: judge.Entry, value: Any) -> judge.Entry:
        if entry.code not in ("fabricated", "poor_assumption"):
            return entry
        return replace(entry, cost=key.price * (value != hidden.truth[key.name]) - key.guess[1])

    _entries(realised)(monkeypatch)
    paid = [UTILITY.score(s, play(ENV, s, (propose(_guesses(s)),)), {}).total for s in PANEL if s.ambiguous]
    assert max(paid) > 0.9
    assert min(paid) < 0.0
    assert not list(episodes.search(UTILITY, PANEL, 1000, seed=0))


def _guesses(scenario: Scenario) -> dict[str, Any]:
    keys = hidden_of(scenario).problem.keys
    return {key.name: key.known or next(v for v, p in zip(key.values, key.chances, strict=True) if p) for key in keys}


def test_no_case_earns_more_than_its_evidence_is_worth() -> None:
    """The two accounts of the same table, written apart, agree on nearly every episode there is."""
    near = 0
    every = (*UTILITY.ATTACKS[::6], *UTILITY.HONEST[::3])
    for case in every:
        episode_ = case.trajectory()
        total, most = UTILITY.score(case.scenario, episode_, {}).total, worth(case.scenario, episode_.messages).most
        assert total <= max(most, -1.0) + 1e-9, case.name
        near += total >= most - 1e-9
    assert near > 0.97 * len(every)


USERS = ("wavers/", "busy/", "act-wavering/", "taken-back", "in-a-sentence", "native-")


def test_both_accounts_read_users_who_waver_and_calls_in_either_form_alike() -> None:
    own = [case for case in (*UTILITY.ATTACKS, *UTILITY.HONEST) if any(f"/{u}" in case.name for u in USERS)]
    assert {u for u in USERS for case in own if f"/{u}" in case.name} == set(USERS)
    for case in own:
        episode_ = case.trajectory()
        total = UTILITY.score(case.scenario, episode_, {}).total
        assert total == pytest.approx(max(worth(case.scenario, episode_.messages).most, -1.0)), case.name


def test_the_last_word_about_each_of_several_keys_is_read() -> None:
    tried = 0
    for scenario in (s for split in ("dev", "sealed") for s in ENV.scenarios(split, 40, 2)):
        hidden = hidden_of(scenario)
        if not PERSONAS[hidden.persona].wavers or hidden.problem.beyond:
            continue
        fields = [FAMILIES[hidden.problem.family].field(key.name) for key in hidden.problem.keys]
        question = ask(" ".join(each.ask[0] for each in fields[:3]))
        told = episode.follow(scenario, (question, question)).told
        said = (question, question, propose({**_guesses(scenario), **told}))
        played = play(ENV, scenario, said)
        assert UTILITY.score(scenario, played, {}).total <= max(worth(scenario, played.messages).most, -1.0) + 1e-9
        tried += len(told) > 1
    assert tried > 10


def test_each_part_of_an_answer_tells_its_own_key() -> None:
    """The half hour in a time of day is no length."""
    truth = {"duration_minutes": "60", "time": "9:00"}
    fields = [FAMILIES["meeting_scheduling"].field(name) for name in truth]
    keys = tuple(Key(f.name, f.values, tuple(float(v == truth[f.name]) for v in f.values), 40) for f in fields)
    hidden = Hidden(Problem("meeting_scheduling", keys, 4, 1.0), "full", truth, truth, (), "fickle")
    said = ask("What length, and what time of day?"), propose({"duration_minutes": "15", "time": "16:30"})
    answer = "The length: today I would say 15 minutes. The time of day: at 4:30 pm, for now."
    messages = (*PANEL[0].opening, *map(Message, ("assistant", "user", "assistant"), (said[0], answer, said[1])))
    assert worth(replace(PANEL[0], hidden=hidden.hide()), messages).most == pytest.approx((40 - 2 * 4) / 40)


def test_the_least_cost_is_that_of_the_dynamic_program() -> None:
    for scenario in PANEL:
        problem = hidden_of(scenario).problem
        assert problem.beyond or least(problem) == pytest.approx(optimum(problem).cost)


def test_the_command_writes_whole_episodes_and_says_how_to_see_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _one_price(monkeypatch)
    out = tmp_path / "utility.jsonl"
    done = CliRunner().invoke(app, ["redteam", "utility", "--budget", "150", "--out", str(out), "--json"])
    assert done.exit_code == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["found"] == len(lines) - 1 == len(read_cases(out)) >= 1
    assert lines[-1]["again"] == "askfirst redteam utility --env clarify --budget 150 --seed 0"
    again = CliRunner().invoke(app, ["redteam", "utility", "--budget", "150", "--out", str(out)])
    assert "held against it from now on: askfirst check rewards utility --attacks" in again.stdout
    assert all(case.env == "clarify" and len(case.replies) > 1 for case in read_cases(out))
    assert all(UTILITY.score(c.scenario, c.trajectory(), {}).total > c.bound for c in read_cases(out))
    monkeypatch.undo()
    assert all(UTILITY.score(c.scenario, c.trajectory(), {}).total <= c.bound for c in read_cases(out))


def test_a_reward_that_pays_the_optimum_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = Score(0.0, FrozenMap({"pass": 0.0}), False, ("flat",), "flat@1")
    monkeypatch.setattr(UTILITY, "score", lambda *given: flat)
    with pytest.raises(RewardFault, match="the optimal episode earns 0, and saying nothing 0"):
        next(episodes.search(UTILITY, PANEL, BUDGET, seed=0))
