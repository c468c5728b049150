"""The tables: enough of everything, nothing said in two ways, nothing shared by splits."""

from __future__ import annotations

import re

import pytest

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import PROCEED, SPLITS, YES, plain, read, resolve, ways_of

SEEN = ("event_planning", "medical_intake", "meeting_scheduling", "support_triage", "coding_requirements")


def test_two_families_are_only_for_evaluation() -> None:
    assert tuple(name for name, family in FAMILIES.items() if not family.unseen) == SEEN
    assert len(FAMILIES) == 7


def test_only_what_confirms_an_act_is_a_yes() -> None:
    assert [f.name for family in FAMILIES.values() for f in family.fields if YES in f.values] == []
    assert YES in PROCEED.values


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_complete(name: str) -> None:
    family = FAMILIES[name]
    assert len(family.says) >= 12
    assert len({plain(say) for say in family.says}) == len(family.says)
    assert all(say.count("{facts}") == 1 for say in family.says)
    assert len(family.beyonds) >= 6
    assert len(family.acts) >= 4
    assert sum(f.required for f in family.fields) >= 3
    assert any(f.critical and f.required for f in family.fields)
    for each in family.fields:
        assert each.noun
        assert len(each.ask) >= 2
        assert len(each.values) >= 3
        re.compile(each.cues)
        for ways in each.said.values():
            assert len(ways) == (2 if family.unseen else 4), each.name
            assert sum(len(family.split(ways, split)) for split in SPLITS) == len(ways)


@pytest.mark.parametrize("name", FAMILIES)
def test_words_say_one_value(name: str) -> None:
    for each in (*FAMILIES[name].fields, PROCEED):
        said = [way for value in each.values for way in {plain(way) for way in (value, *each.ways(value))}]
        assert len(set(said)) == len(said), each.name
        assert set(each.also) == (set() if FAMILIES[name].unseen or each is PROCEED else set(each.values)), each.name


def test_further_ways_are_for_train_alone() -> None:
    family = FAMILIES["event_planning"]
    found = {split: ways_of(family, family.field("venue"), "home", split) for split in SPLITS}
    assert found == {
        "train": ("at home", "at my place", "in the living room", "our flat will do", "in my flat"),
        "dev": ("in my living room",),
        "sealed": ("in our own flat",),
    }


def test_dev_and_sealed_say_values_in_words_that_train_knows() -> None:
    shares = []
    for family in (f for f in FAMILIES.values() if not f.unseen):
        for each in family.fields:
            train = [way for value in each.values for way in (value, *ways_of(family, each, value, "train"))]
            known = {word for way in train for word in plain(way).split()}
            for way in (w for v in each.values for split in ("dev", "sealed") for w in ways_of(family, each, v, split)):
                words = plain(way).split()
                shares.append(sum(word in known for word in words) / len(words))
    assert min(shares) > 0
    assert sum(shares) / len(shares) >= 0.75


def test_values_are_read_in_any_dress_and_nothing_else_is() -> None:
    venue, count = FAMILIES["event_planning"].field("venue"), FAMILIES["event_planning"].field("guest_count")
    for text in ("rented hall", "Rented_Hall", " RENTED-HALL ", "In a rented hall, please.", "Well, in a hired hall."):
        assert resolve(venue, text) == "rented hall"
    assert [resolve(count, v) for v in (20, 20.0, "20", "about 20 people")] == ["20"] * 4
    for value in ("home or office", "not at home", "", None, True, 7, 20.5, ["home"], {"home": 1}, "hоme"):
        assert resolve(venue, value) is None
    assert [resolve(PROCEED, v) for v in (True, False, "yes", "No, hold off.")] == ["yes", "no", "yes", "no"]


def test_a_table_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="family toys: cannot read 'colour'"):
        read("toys", "title toys\ncolour red")
    with pytest.raises(ValueError, match="cannot read 'value'"):
        read("toys", "value red: red")
