"""What a world refuses, and that it does not change."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from askfirst.errors import InputError
from askfirst.retail.hashing import sha256_of
from askfirst.retail.world import World, frozen, thawed

Tables = dict[str, Any]


def history(tables: Tables, order: str = "#1") -> dict[str, Any]:
    first: dict[str, Any] = tables["orders"][order]["payment_history"][0]
    return first


BROKEN: dict[str, tuple[Callable[[Tables], Any], str]] = {
    "no table": (lambda t: t.pop("users"), "expected ['orders', 'products', 'users']"),
    "strange table": (lambda t: t.update(shops={}), "expected ['orders', 'products', 'users']"),
    "no field": (lambda t: t["users"]["ann"].pop("email"), "w/users: Field required at ann.email"),
    "strange field": (lambda t: t["orders"]["#1"].update(note=""), "not permitted at #1.note"),
    "no record": (lambda t: t["products"].update(p1=[]), "w/products: "),
    "zip is a number": (lambda t: t["users"]["bob"]["address"].update(zip=10001), "string at bob.address.zip"),
    "price is a text": (lambda t: t["products"]["p1"]["variants"]["c1"].update(price="1"), "p1.variants.c1.price"),
    "amount is negative": (lambda t: history(t).update(amount=-1.0), "#1.payment_history.0.amount"),
    "amount without end": (lambda t: history(t).update(amount=float("inf")), "finite number at #1.payment_history.0"),
    "amount is a truth value": (lambda t: history(t).update(amount=True), "#1.payment_history.0.amount"),
    "status": (lambda t: t["orders"]["#1"].update(status="lost"), "at #1.status"),
    "no items": (lambda t: t["orders"]["#1"].update(items=[]), "#1.items"),
    "no payment": (lambda t: t["orders"]["#1"].update(payment_history=[]), "#1.payment_history"),
    "refund first": (
        lambda t: history(t).update(transaction_type="refund"),
        "w/orders: #1 has a payment history that does not begin",
    ),
    "method of another": (
        lambda t: history(t, "#4").update(payment_method_id="paypal_1"),
        "w/orders: #4 was paid with paypal_1",
    ),
    "order of another": (lambda t: t["users"]["ann"]["orders"].append("#4"), "w/users: ann lists order #4"),
    "no such order": (lambda t: t["users"]["ann"]["orders"].append("#9"), "w/users: ann lists order #9"),
    "unlisted order": (lambda t: t["users"]["ann"]["orders"].remove("#2"), "w/orders: #2 has another id, or is not"),
    "no such user": (lambda t: t["orders"]["#2"].update(user_id="eve"), "w/users: ann lists order #2"),
    "order id": (lambda t: t["orders"]["#2"].update(order_id="#1"), "w/orders: #2 has another id"),
    "product id": (lambda t: t["products"]["p1"].update(product_id="p2"), "w/products: p1 or one"),
    "variant id": (lambda t: t["products"]["p1"]["variants"]["c3"].update(item_id="c4"), "w/products: p1 or one"),
    "no such product": (
        lambda t: t["orders"]["#1"]["items"][0].update(product_id="p9"),
        "#1 holds item c1, which is no variant of product p9",
    ),
    "no such variant": (
        lambda t: t["orders"]["#1"]["items"][0].update(item_id="c9"),
        "#1 holds item c9, which is no variant",
    ),
    "method id": (
        lambda t: t["users"]["bob"]["payment_methods"]["paypal_2"].update(id="paypal_3"),
        "bob has payment method paypal_2 with another id",
    ),
    "card without balance": (
        lambda t: t["users"]["ann"]["payment_methods"]["gift_card_1"].pop("balance"),
        "gift_card_1, which is half a gift card",
    ),
    "balance without card": (
        lambda t: t["users"]["bob"]["payment_methods"]["paypal_2"].update(balance=1),
        "paypal_2, which is half a gift card",
    ),
    "card by its source alone": (
        lambda t: t["users"]["bob"]["payment_methods"]["paypal_2"].update(balance=1, source="gift_card"),
        "paypal_2, which is half a gift card",
    ),
}


def test_a_world_keeps_what_it_is_given(world: World, plain: Tables) -> None:
    assert thawed(world.tables) == plain
    assert [*world.products] == ["p2", "p1"]
    assert world.sha256 == sha256_of(plain)
    assert world.policy == "Be kind."
    assert World.of(plain).tools == ()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_world_is_refused(name: str, plain: Tables) -> None:
    spoil, message = BROKEN[name]
    spoil(plain)
    with pytest.raises(InputError) as caught:
        World.of(plain, where="w/*")
    assert message in str(caught.value)


def test_a_world_does_not_change(world: World, plain: Tables) -> None:
    other = World.of(plain)
    plain["users"].clear()
    assert other.sha256 == world.sha256
    with pytest.raises(TypeError):
        world.users["ann"]["address"]["zip"] = "0"  # type: ignore[index]
    with pytest.raises(AttributeError):
        world.orders["#1"]["items"].append({})
    with pytest.raises(AttributeError):
        world.policy = ""  # type: ignore[misc]


def test_a_world_travels_to_another_process(world: World) -> None:
    other = pickle.loads(pickle.dumps(world))
    assert other != world
    assert other.sha256 == world.sha256
    assert other.users == world.users


def test_thawed_is_a_copy_and_frozen_undoes_it() -> None:
    value = {"a": [1, {"b": "c"}], "d": None}
    assert thawed(frozen(value)) == value
    copy = thawed(value)
    copy["a"][1]["b"] = "e"
    assert value["a"][1] == {"b": "c"}  # type: ignore[index]
