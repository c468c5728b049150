"""Metrics: each counts what its name says, and nothing is measured where there is nothing."""

from __future__ import annotations

from dataclasses import replace

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


def test_measures_of_the_environment_have_means_with_bounds() -> None:
    values = (1.0, 3.0, 2.0, 2.0)
    items = tuple(replace(i, measures=(("regret", v),)) for i, v in zip(ITEMS, values, strict=True))
    found = metrics.summary(replace(RECORD, items=items))
    half = 1.959964 * (2 / 3) ** 0.5 / 2
    assert found["regret"] == 2.0
    assert (found["regret_low"], found["regret_high"]) == (pytest.approx(2 - half), pytest.approx(2 + half))
    assert found["strict_pass"] == 0.5
    with pytest.raises(InputError, match="not every item"):
        metrics.mean_measure(replace(RECORD, items=(*items, ITEMS[0])), "regret")
    with pytest.raises(ValueError, match="at least two"):
        metrics.mean_measure(replace(RECORD, items=items[:1]), "regret")
