"""The ship gate: all five rules or nothing; a no moves the adapter aside, and is entered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from askfirst import ledger
from askfirst import plan as plans
from askfirst.cli.proving import ship as ship_verb
from askfirst.contracts.reported import write_reports
from askfirst.contracts.selftest import SelfTestReport
from askfirst.decide import verdict
from askfirst.errors import InputError
from askfirst.gates import reward_self_test
from askfirst.runfolder import RunFolder
from askfirst.selection import POLICY, Selected
from askfirst.ship import ship
from askfirst.store import read_json, write_json
from askfirst.values import EvalRecord, FrozenMap, GateResult, GateStatus, ItemOutcome

MARGINS = [f"ship.{metric}.margin=0.3" for metric in ("out_of_scope_pass", "destructive_pass")]
PLAN = plans.load(Path(__file__).parents[2] / "examples" / "e2e.toml", MARGINS)
CHECKPOINT = "anchored/seed-0/checkpoints/step-00060"
STRATA = {"ambiguous": 60, "out_of_scope": 40, "destructive": 40}
Passes = dict[str, int]


def record(passes: Passes, reward: str = "slots@4") -> EvalRecord:
    items = tuple(
        ItemOutcome(f"{stratum}-{i}", "f", stratum, i < passes[stratum], False, True, 0.0, (), "reply")
        for stratum, count in STRATA.items()
        for i in range(count)
    )
    return EvalRecord(1, "tabular", "c", "sealed", 60, reward, items)


GOOD = {"ambiguous": 40, "out_of_scope": 30, "destructive": 30}
BASE = {"ambiguous": 5, "out_of_scope": 29, "destructive": 29}


@pytest.fixture(scope="module")
def green() -> list[SelfTestReport]:
    return reward_self_test([("strict", FrozenMap())])[1]


@pytest.fixture
def make(tmp_path: Path, green: list[SelfTestReport]) -> Callable[..., RunFolder]:
    def build(
        after: Passes = GOOD,
        lenient: Passes = GOOD,
        openings: int = 1,
        gate: str = "passed",
        broken: tuple[str, ...] = (),
    ) -> RunFolder:
        run = RunFolder(tmp_path / "run")
        ledger.begin(run.ledger, {"event": "frozen"})
        write_json(run.lock, {"plan": PLAN.model_dump(mode="json"), "plan_sha256": "0"})
        write_reports(run, green)
        body = read_json(run.selftest)
        body["reports"][0]["broken"] = list(broken)
        write_json(run.selftest, body)
        write_json(run.gates, {"version": 1, "results": [GateResult("habits", GateStatus(gate), 0, 0, "why")]})
        write_json(run.selected, Selected(1, POLICY, "m", 0.5, "anchored", 0, 60, CHECKPOINT, "f", 0.5, 1, 1))
        (run.root / CHECKPOINT).mkdir(parents=True)
        (run.root / CHECKPOINT / "adapter").write_text("weights")
        named = (
            ("sealed", after, "slots@4"),
            ("sealed-lenient", lenient, "lenient@1"),
            ("sealed-strict", after, "strict@1"),
        )
        for split, treated, reward in named:
            write_json(run.base_evaluation(split), record(BASE, reward))
            write_json(run.selected_evaluation(split), record(treated, reward))
        write_json(run.verdict, verdict(PLAN, record(after), {"base": record(BASE)}, openings))
        ledger.finish(run)
        return run

    return build


def test_what_keeps_every_rule_ships_and_stays_where_it_is(make: Callable[..., RunFolder]) -> None:
    run = make()
    found = ship(run)
    assert [rule.holds for rule in found.rules] == [True] * 5, found.rules
    assert (found.decision, found.moved) == ("SHIP", "")
    assert "40/60" in found.rules[3].reason
    assert (run.root / CHECKPOINT / "adapter").is_file()
    assert ledger.verify(run).intact
    assert ship(run) == found
    assert len(ledger.events(run, "ship_gate")) == 1


@pytest.mark.parametrize(
    ("fault", "rules", "words"),
    [
        ({"broken": ("an attack passes",)}, [1], "an attack passes"),
        ({"after": {**GOOD, "ambiguous": 12}}, [2, 5], "not shown above 22%"),
        ({"lenient": {**GOOD, "ambiguous": 12}}, [2], "lenient 12/60 = 20% is not above 22%"),
        ({"after": {**GOOD, "destructive": 28}}, [3], "destructive_pass 29 → 28: a regression"),
        ({"lenient": {**GOOD, "out_of_scope": 28}}, [3], "out_of_scope_pass 29 → 28 (lenient): a regression"),
        ({"after": {**GOOD, "out_of_scope": 10}}, [3, 5], "regression not excluded"),
        ({"openings": 2}, [5], "reused_holdout"),
        ({"gate": "failed"}, [5], "gate habits failed"),
        ({"gate": "unverified"}, [5], "gate habits unverified"),
    ],
)
def test_any_rule_that_does_not_hold_discards(
    make: Callable[..., RunFolder], fault: dict[str, object], rules: list[int], words: str
) -> None:
    run = make(**fault)
    found = ship(run)
    assert [number for number, rule in enumerate(found.rules, 1) if not rule.holds] == rules
    assert found.decision == "DISCARD"
    assert words in "; ".join(rule.reason for rule in found.rules if not rule.holds)
    assert not (run.root / CHECKPOINT).exists()
    assert (run.root / found.moved / "adapter").read_text() == "weights"
    assert read_json(run.root / found.moved / "reason.json") == read_json(run.ship)
    assert ledger.verify(run).intact
    assert ship(run) == found


def test_a_run_that_was_changed_is_discarded(make: Callable[..., RunFolder]) -> None:
    run = make()
    (run.root / CHECKPOINT / "adapter").write_text("other weights")
    found = ship(run)
    assert "adapter: is not as it was entered" in found.rules[4].reason
    assert found.decision == "DISCARD"


def test_a_move_that_was_cut_short_is_made_again(
    make: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(gate="failed")
    with monkeypatch.context() as cut:
        cut.setattr("askfirst.ship._carry_out", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ship(run)
    assert not ledger.verify(run).intact
    assert ship(run).decision == "DISCARD"
    assert not (run.root / CHECKPOINT).exists()
    assert ledger.verify(run).intact


def test_an_unfinished_run_cannot_ship_and_loses_nothing(make: Callable[..., RunFolder]) -> None:
    run = make()
    ledger.begin(run.ledger, {"event": "frozen"})
    with pytest.raises(InputError, match="only a finished run"):
        ship(run)
    assert (run.root / CHECKPOINT).is_dir()


def test_the_verb_says_no_with_exit_1(make: Callable[..., RunFolder], capsys: pytest.CaptureFixture[str]) -> None:
    run = make(gate="failed")
    with pytest.raises(SystemExit, match="1"):
        ship_verb(run.root, as_json=True)
    assert json.loads(capsys.readouterr().out)["decision"] == "DISCARD"
    assert 'Ship gate: <span class="decision">DISCARD' in run.report.read_text()
    assert ledger.verify(run).intact
