"""An episode's own database: what is changed, what is seen, and what stays with the world."""

from __future__ import annotations

from typing import Any

import pytest

from askfirst.retail.database import Database
from askfirst.retail.hashing import sha256_of
from askfirst.retail.world import World, thawed


def test_a_change_is_seen_in_its_own_database_only(world: World, plain: dict[str, Any]) -> None:
    one, other = Database(world), Database(world)
    one.edit("users", "bob")["email"] = "b@example.com"
    assert one.edit("users", "bob") is one.record("users", "bob")
    assert dict(one.records("users"))["bob"]["email"] == "b@example.com"
    for unchanged in (other.record("users", "bob"), world.users["bob"], dict(other.records("users"))["bob"]):
        assert unchanged is not None
        assert unchanged["email"] == "bob@example.com"
    plain["users"]["bob"]["email"] = "b@example.com"
    assert one.sha256() == sha256_of(plain)
    assert other.sha256() == world.sha256 != one.sha256()
    assert (one.touched, other.touched) == ((("users", "bob"),), ())
    assert not one.same_as(other)


def test_what_is_undone_is_no_difference(world: World) -> None:
    db = Database(world)
    user = db.edit("users", "ann")
    address = user.pop("address")
    assert db.touched == (("users", "ann"),)
    user["address"] = dict(reversed(address.items()))  # another order of keys
    assert db.touched == ()
    assert db.sha256() == world.sha256
    assert db.same_as(Database(world))


def test_changes_in_every_table(world: World, plain: dict[str, Any]) -> None:
    db = Database(world)
    for table, key in (("users", "ann"), ("products", "p1"), ("orders", "#4"), ("orders", "#1")):
        for own in (db.edit(table, key), plain[table][key]):
            own["new"] = [{"z": "ü'\""}, 1.5]
    assert db.sha256() == sha256_of(plain)
    assert db.touched == (("orders", "#1"), ("orders", "#4"), ("products", "p1"), ("users", "ann"))
    again = Database(world)
    for table, key in db.touched:
        again.edit(table, key)["new"] = [{"z": "ü'\""}, 1.5]
    assert again.same_as(db)


def test_records_come_in_the_order_of_the_world_and_none_is_made(world: World) -> None:
    db = Database(world)
    db.edit("products", "p1")
    assert [key for key, _ in db.records("products")] == ["p2", "p1"]
    assert db.record("orders", "#9") is None
    with pytest.raises(KeyError):
        db.edit("orders", "#9")
    assert thawed(dict(db.records("products"))) == thawed(world.products)


def test_databases_of_two_worlds_are_not_compared(world: World, plain: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="different worlds"):
        Database(world).same_as(Database(World.of(plain)))
