"""What `askfirst eval` prints of an environment's measures."""

from __future__ import annotations

import pytest

from askfirst.cli import evaluating
from askfirst.errors import InputError
from askfirst.values import EvalRecord, ItemOutcome, Measure

ITEM = ItemOutcome("s", "f", "clear_twin", True, False, True, 1.0, (), "ok")
AGAIN = ItemOutcome("s", "f", "clear_twin", False, True, True, 0.0, ("late",), "no", trial=1)
MEASURES = (
    Measure("regret", "", 0.25, 0.125, 0.375, 2, 2),
    Measure("ask_f1", "", 1.0, None, None, 2, 1),
    Measure("tokens", "", 9.0, None, None, 2, 1),
    Measure("regret", "state=full", 0.75, None, None, 1, 1),
)
RECORD = EvalRecord(1, "m", "base", "dev", 0, "utility@1", (ITEM, AGAIN), measures=MEASURES)


def test_json_has_every_measure_and_counts_first_trials_alone() -> None:
    body = evaluating.as_summary(RECORD)
    assert [(each["name"], each["group"]) for each in body["measures"]] == [(m.name, m.group) for m in MEASURES]
    assert body["measures"][0]["upper"] == 0.375
    assert body["metrics"]["strict_pass"]["of"] == 1
    assert body["failures"] == {}


def test_people_see_the_headlines(capsys: pytest.CaptureFixture[str]) -> None:
    evaluating.show([RECORD], ("regret", "ask_f1"))
    shown = capsys.readouterr().out
    assert "regret 0.25 [0.12, 0.38] · ask f1 1.00\n" in shown
    assert "tokens" not in shown
    evaluating.show([RECORD])
    assert "regret" not in capsys.readouterr().out


def test_trials_are_a_number_of_episodes() -> None:
    assert evaluating.settings(["trials=4", "temperature=0.5"]).trials == 4
    for bad in ("trials=0", "temperature=-1"):
        with pytest.raises(InputError, match=bad.partition("=")[0]):
            evaluating.settings([bad])
