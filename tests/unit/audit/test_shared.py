"""What two splits share is counted by kind."""

from __future__ import annotations

import pytest

from askfirst.audit.shared import Shared, overlaps
from askfirst.values import FrozenMap, Message, Scenario


def scenario(text: str, template: str = "", values: tuple[str, ...] = ()) -> Scenario:
    opening = (Message("user", f"user said: {text}"),)
    return Scenario(text, "f", "ambiguous", "x", True, opening, FrozenMap(), template, values)


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
