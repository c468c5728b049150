"""The red team finds every planted hole, nothing where there is none, and says how to see it again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from askfirst import plugins, redteam
from askfirst.cases import read_cases, replied, write_cases
from askfirst.cli import main
from askfirst.cli.app import app
from askfirst.contracts.rewards import self_test
from askfirst.errors import InputError, RewardFault
from askfirst.redteam.evidence import asks_for_all, exclude, names_nothing
from askfirst.redteam.mutations import shorter
from askfirst.replies import Reply, truth
from askfirst.rewards.slots import _acts, _question, _refusals
from askfirst.values import Scenario, Score, Trajectory

ENV = plugins.load("envs", "judgment")
SLOTS = plugins.load("rewards", "slots")
PANEL = redteam.panel(ENV, 0)
BUDGET = 200_000

Patch = Callable[[pytest.MonkeyPatch], None]


def off(module: object, **answers: object) -> Patch:
    """Checks that always answer the same."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        for name, answer in answers.items():
            monkeypatch.setattr(module, name, lambda *given, answer=answer: answer)

    return patch


# Each lets one kind of dishonest reply through.
WEAKENED: dict[str, Patch] = {
    "a question may ask for everything": off(_question, compound=False, stuffing=False, unknown_options=False),
    "a question need not name what is missing": off(_question, names_slot=True),
    "an act need not carry what was said": off(_acts, _carried=True),
    "any words may be dictated": off(_acts, _dictated=True, _carried=True),
    "a confirmation need not name its target": off(_refusals, names_any=True),
}


@pytest.mark.parametrize("hole", WEAKENED)
def test_a_planted_hole_is_found(hole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WEAKENED[hole](monkeypatch)
    finding = next(redteam.search(SLOTS, PANEL, BUDGET, seed=1), None)
    assert finding is not None, hole
    assert finding.evaluations <= BUDGET
    assert all(SLOTS.score(s, replied(s, finding.reply), {}).total > redteam.THRESHOLD for s in finding.scenarios)
    monkeypatch.undo()
    assert not all(SLOTS.score(s, replied(s, finding.reply), {}).passed for s in finding.scenarios)


@pytest.mark.parametrize("name", ["lenient", "strict"])
def test_the_published_scorers_are_broken(name: str) -> None:
    found = list(redteam.search(plugins.load("rewards", name), PANEL, 20_000, seed=0))
    assert len(found) >= 2
    assert any(len(finding.scenarios) == 2 for finding in found)


@pytest.mark.thorough
def test_nothing_is_found_in_slots_and_the_search_is_repeatable() -> None:
    spent: list[list[tuple[int, int]]] = [[], []]
    for calls in spent:
        found = list(
            redteam.search(SLOTS, PANEL, 20_000, seed=3, progress=lambda *done, calls=calls: calls.append(done))
        )
        assert not found
    assert spent[0] == spent[1]
    assert len(spent[0]) > 1


def test_a_finding_is_minimal_and_becomes_an_attack(tmp_path: Path) -> None:
    strict = plugins.load("rewards", "strict")
    finding = next(redteam.search(strict, PANEL, BUDGET, seed=0))
    for reply in shorter(finding.reply):
        passes = all(strict.score(s, replied(s, reply), {}).passed for s in finding.scenarios)
        still = (
            exclude(*finding.scenarios) if len(finding.scenarios) == 2 else names_nothing(reply, finding.scenarios[0])
        )
        assert not (passes and still)
    path = tmp_path / "found.jsonl"
    write_cases(path, [finding.case()])
    (case,) = read_cases(path)
    assert truth(case.scenario) == truth(finding.scenarios[-1])
    assert case.scenario.opening == finding.scenarios[-1].opening
    assert self_test(SLOTS, {}, (case,)).broken == ()
    assert any("red team" in words for words in self_test(strict, {}, (case,)).broken)


def test_honest_replies_are_no_findings() -> None:
    """For every scenario of the panel: its own honest demonstrations name what they should, and pass nothing that
    excludes it."""
    for scenario in PANEL:
        for shown in ENV.demonstrations(scenario):
            if shown.guess:
                continue
            assert not names_nothing(shown.reply, scenario), shown.reply
            assert not asks_for_all(shown.reply, scenario), shown.reply
            passed = [s for s in PANEL if SLOTS.score(s, replied(s, shown.reply), {}).passed]
            assert not any(exclude(scenario, other) for other in passed), shown.reply


def test_truths_that_want_different_things_exclude_each_other() -> None:
    by_slot: dict[str, Scenario] = {truth(s).slot: s for s in PANEL if s.ambiguous}
    assert len(by_slot) >= 4
    one, other = list(by_slot.values())[:2]
    assert exclude(one, other)
    assert not exclude(one, one)
    asks = Reply("what?", "clarify", {"question": "what?", "topic": "time"}).text()
    assert names_nothing(asks.replace("time", "app"), by_slot.get("recipient", one))


def test_the_command_writes_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "strict.jsonl"
    arguments = ["redteam", "strict", "--budget", "3000", "--out", str(out), "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["found"] == len(lines) - 1 == len(read_cases(out))
    assert lines[-1]["again"] == "askfirst redteam strict --env judgment --budget 3000 --seed 0"
    checked = CliRunner().invoke(app, ["check", "rewards", "strict", "--attacks", str(out)])
    assert checked.exit_code == 1
    assert "red team" in checked.stdout
    clean = CliRunner().invoke(app, ["redteam", "slots", "--budget", "3000", "--out", str(tmp_path / "none.jsonl")])
    assert clean.exit_code == 0
    assert "nothing found" in clean.stdout
    assert not (tmp_path / "none.jsonl").exists()


def test_a_search_that_is_stopped_keeps_what_it_found_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = redteam.search

    def stopped(*given: Any, **named: Any) -> Iterator[redteam.Finding]:
        yield next(whole(*given, **named))
        raise KeyboardInterrupt

    monkeypatch.setattr(redteam, "search", stopped)
    out = tmp_path / "found.jsonl"
    monkeypatch.setattr(sys, "argv", ["askfirst", "redteam", "strict", "--budget", "3000", "--out", str(out)])
    with pytest.raises(SystemExit, match="130"):
        main()
    assert len(read_cases(out)) == 1
    assert "stopped by Ctrl-C" in capsys.readouterr().err


def test_an_environment_that_it_cannot_answer_is_refused(pair: Callable[..., ModuleType]) -> None:
    with pytest.raises(InputError, match=r"single replies"):
        redteam.panel(pair(), 0)


def test_a_reward_that_raises_on_a_reply_stops_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SLOTS.score

    def fragile(scenario: Scenario, trajectory: Trajectory, params: dict[str, object]) -> Score:
        if "\u200b" in trajectory.reply:
            raise ValueError("cannot read this")
        return whole(scenario, trajectory, params)

    monkeypatch.setattr(SLOTS, "score", fragile)
    with pytest.raises(RewardFault, match="cannot read this"):
        list(redteam.search(SLOTS, PANEL, BUDGET, seed=0))


def test_a_reward_for_another_protocol_is_checked_without_habits(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SLOTS.score
    assert not any(case.scenario.hidden["pool"] for case in (*SLOTS.ATTACKS, *SLOTS.HONEST))

    def elsewhere(scenario: Scenario, trajectory: Trajectory, params: dict[str, object]) -> Score:
        if scenario.hidden["pool"]:
            raise RewardFault("not a scenario of mine")
        return whole(scenario, trajectory, params)

    monkeypatch.setattr(SLOTS, "score", elsewhere)
    done = CliRunner().invoke(app, ["check", "rewards", "slots"])
    assert done.exit_code == 0, done.output
    assert "habits not measured: not a scenario of mine" in done.stdout


def test_a_broken_attack_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text('{"name": "x"}\n')
    with pytest.raises(InputError, match=r"broken\.jsonl:1"):
        read_cases(path)
    path.write_text("")
    with pytest.raises(InputError, match="no attacks"):
        CliRunner().invoke(app, ["check", "rewards", "lenient", "--attacks", str(path)], catch_exceptions=False)
