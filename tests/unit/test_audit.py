"""Contamination: planted overlaps are found, and what cannot be compared is not called clean."""

from __future__ import annotations

import pytest

from askfirst.audit import Shared, audit, overlaps
from askfirst.values import FrozenMap, Message, Scenario


def scenario(text: str, template: str = "", values: tuple[str, ...] = ()) -> Scenario:
    return Scenario(
        text, "f", "ambiguous", "x", True, (Message("user", f"user said: {text}"),), FrozenMap(), template, values
    )


TRAIN = [
    scenario("mail the budget notes to priya", "t1", ("priya",)),
    scenario("lock it"),
    scenario("book the blue room for monday"),
]


def methods(item: Scenario) -> list[str]:
    return [overlap.method for overlap in audit(TRAIN, [item]).overlaps]


def test_a_copy_is_exact() -> None:
    assert methods(scenario("mail the budget notes to priya")) == ["exact"]
    assert methods(scenario("lock it")) == ["exact"]


def test_a_reordered_copy_is_near() -> None:
    assert methods(scenario("to priya mail the budget notes now")) == ["near"]


def test_structure_is_compared_whatever_the_words() -> None:
    assert methods(scenario("print both pages of the lease", "t1")) == ["template"]
    assert methods(scenario("call up the landlord", "t9", ("priya",))) == ["value"]


def test_other_requests_are_not_flagged() -> None:
    assert methods(scenario("mail the travel notes to omar please")) == []


def test_short_items_are_counted_as_unauditable() -> None:
    found = audit(TRAIN, [scenario("fix it")])
    assert (found.overlaps, found.unauditable) == ((), 1)


def test_what_two_splits_share_is_counted_by_kind() -> None:
    one = [scenario("a b", "t1", ("price of a key: 4", "shop.colour: red", "bolt"))]
    other = [scenario("c d", "t1", ("price of a key: 4", "shop.colour: blue")), scenario("e f", "t2")]
    found = {each.kind: each for each in overlaps(one, other)}
    assert found["template"] == Shared(("x", "x"), "template", (1, 2), ("t1",))
    assert found["price of a key"].common == ("price of a key: 4",)
    assert (found["words"].counts, found["words"].common) == ((2, 1), ())
    assert found["opening"].common == found["id"].common == ()
    assert found["family"].common == ("f",)
    with pytest.raises(ValueError, match="without scenarios"):
        overlaps([], other)
