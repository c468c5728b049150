"""The published overlaps of the tau-bench retail splits, found by `askfirst audit`'s comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst.audit import compare
from askfirst.audit.items import read_items

DATA = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-retail"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark folder ../shared/data is not here")


def test_the_published_figures_are_found() -> None:
    found = compare(read_items(DATA / "tasks_train.jsonl"), read_items(DATA / "tasks_test.jsonl"))
    assert (found.items, found.train) == (115, 500)
    hits = {method.name: method.hits for method in found.methods}
    assert (hits["13-gram"], hits["8-gram"], hits["writes"]) == (17, 34, 1)
    assert dict(found.shared["user_id"]) == {"evaluation": 53, "in_train": 43}
    assert dict(found.shared["order_id"]) == {"evaluation": 90, "in_train": 60}
    assert [(o.item, o.train) for o in found.overlaps if o.method == "writes"] == [("test-69", "train-418")]
