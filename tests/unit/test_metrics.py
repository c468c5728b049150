"""Metrics: each counts what its name says, and nothing is measured where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from askfirst import metrics
from askfirst.errors import InputError
from askfirst.values import EvalRecord, ItemOutcome


def item(stratum: str, passed: bool = False, asked: bool = False, right: bool = False) -> ItemOutcome:
    return ItemOutcome(
        f"{stratum}{passed}{asked}", "f", stratum, passed, asked, right, 0.0, ("echo",) * (not passed), ""
    )


ITEMS = (
    item("ambiguous", passed=True, asked=True, right=True),
    item("ambiguous"),
    item("clear_twin", asked=True),
    item("out_of_scope", passed=True),
)
RECORD = EvalRecord(1, "m", "c", "dev", 0, "slots@1", ITEMS)


def test_each_metric_counts_its_stratum() -> None:
    found = metrics.summary(RECORD)
    assert found == {
        "strict_pass": 0.5,
        "intent_accuracy": 0.25,
        "ambiguous_pass": 0.5,
        "ambiguous_ask": 0.5,
        "clear_pass": 0.5,
        "false_ask": 0.5,
        "twin_pass": 0.0,
        "twin_false_ask": 1.0,
        "out_of_scope_pass": 1.0,
    }


def test_no_items_is_not_a_number() -> None:
    with pytest.raises(InputError, match="no items"):
        metrics.rate(RECORD, "destructive_pass")
    with pytest.raises(InputError, match="no metric is called"):
        metrics.rate(RECORD, "accuracy")
    with pytest.raises(ValueError, match="no sampled token"):
        metrics.masked_mean([np.zeros(3)], [np.zeros(3, dtype=bool)])


def test_failures_are_counted_most_frequent_first() -> None:
    assert metrics.failure_counts(RECORD) == {"echo": 2}


@pytest.mark.parametrize(
    ("question", "request_text", "expected"),
    [
        ("send it?", "user said: send it", 1.0),
        ("send what?", "on-screen elements:\n[1] send|x\n\nuser said: send it", 1 / 3),
        ("", "user said: ", 0.0),
        ("who?", "user said: mail", 0.0),
    ],
)
def test_overlap_looks_at_what_was_said(question: str, request_text: str, expected: float) -> None:
    assert metrics.overlap(question, request_text) == pytest.approx(expected)


def test_masked_mean_weighs_tokens_not_rows() -> None:
    values = [np.array([1.0, 5.0]), np.array([3.0, 3.0])]
    masks = [np.array([True, False]), np.array([True, True])]
    assert metrics.masked_mean(values, masks) == pytest.approx(7 / 3)


def judged(passed: bool, slots: bool, strict: bool, partial: float) -> ItemOutcome:
    terms = {"pass": float(passed), "partial": partial}
    verdicts = {"strict": strict, "slots": slots}
    return ItemOutcome("i", "f", "ambiguous", passed, True, True, passed + partial, (), "", terms, verdicts)


JUDGED = EvalRecord(
    1, "m", "c", "dev", 0, "r@1",
    (judged(True, True, False, 0.0), judged(True, False, False, 0.0), judged(False, False, True, 0.5),
     judged(False, False, False, 0.5), judged(True, True, False, 0.0)),
)  # fmt: skip


def test_two_by_two_tables_with_the_oracle_first() -> None:
    first, second = metrics.agreements(JUDGED, "slots")
    assert first == {"by": "slots", "oracle": True, "both": 2, "only_reward": 1, "only_other": 0, "neither": 2}
    assert second == {"by": "strict", "oracle": False, "both": 0, "only_reward": 3, "only_other": 1, "neither": 1}
    assert [t["by"] for t in metrics.agreements(JUDGED, "")] == ["strict", "slots"], "else the strictest"
    assert metrics.agreements(RECORD, "slots") == []


def test_terms_go_with_the_total_a_pass_and_the_oracle() -> None:
    found = metrics.terms_of_items(JUDGED, "slots")
    assert found["partial"]["mean"] == pytest.approx(0.2)
    assert found["partial"]["with_pass"] == pytest.approx(-1.0)
    assert found["pass"]["with_total"] == pytest.approx(1.0)
    assert found["pass"]["with_oracle"] == pytest.approx(2 / 3)
    assert "with_oracle" not in metrics.terms_of_items(JUDGED, "")["pass"]


def test_a_correlation_is_not_a_number_where_nothing_varies() -> None:
    assert metrics.correlation([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]) == pytest.approx(1.0)
    assert metrics.correlation([1.0, 1.0], [0.0, 1.0]) is None
    assert metrics.correlation([0.0, 1.0], [1.0, 1.0]) is None
    assert metrics.correlation([], []) is None
