"""A retailer of two users, four orders and two products."""

from __future__ import annotations

from typing import Any

import pytest

from askfirst.retail.world import World

HOME = {"address1": "1 Elm St", "address2": "", "city": "Reno", "country": "USA", "state": "NV", "zip": "89501"}


def variant(item_id: str, colour: str, price: float, available: bool = True) -> dict[str, Any]:
    return {"item_id": item_id, "options": {"colour": colour}, "available": available, "price": price}


def order(order_id: str, user_id: str, items: list[dict[str, Any]], status: str, paid_with: str) -> dict[str, Any]:
    amount = round(sum(item["price"] for item in items), 2)
    return {
        "order_id": order_id,
        "user_id": user_id,
        "address": dict(HOME),
        "items": items,
        "fulfillments": [],
        "status": status,
        "payment_history": [{"transaction_type": "payment", "amount": amount, "payment_method_id": paid_with}],
    }


def tables() -> dict[str, Any]:
    cups = {
        "c1": variant("c1", "red", 10.1),
        "c2": variant("c2", "blue", 12.3),
        "c3": variant("c3", "gold", 99.0),
        "c4": variant("c4", "grey", 5.0, available=False),
        "c5": variant("c5", "green", 8.0),
    }
    hats = {"h1": variant("h1", "red", 20.0), "h2": variant("h2", "blue", 20.0)}
    products = {"p2": {"name": "Hat", "product_id": "p2", "variants": hats}}
    products["p1"] = {"name": "Cup", "product_id": "p1", "variants": cups}

    def item(product: str, item_id: str) -> dict[str, Any]:
        one = products[product]["variants"][item_id]
        rest = {"item_id": item_id, "price": one["price"], "options": dict(one["options"])}
        return {"name": products[product]["name"], "product_id": product, **rest}

    ann = {
        "name": {"first_name": "Ann", "last_name": "O'Neil"},
        "address": dict(HOME),
        "email": "ann@example.com",
        "payment_methods": {
            "gift_card_1": {"source": "gift_card", "balance": 40, "id": "gift_card_1"},
            "credit_card_1": {"source": "credit_card", "brand": "visa", "last_four": "1111", "id": "credit_card_1"},
            "paypal_1": {"source": "paypal", "id": "paypal_1"},
        },
        "orders": ["#1", "#2", "#3"],
    }
    bob = {
        "name": {"first_name": "Bob", "last_name": "Béla"},
        "address": {**HOME, "zip": "10001"},
        "email": "bob@example.com",
        "payment_methods": {"paypal_2": {"source": "paypal", "id": "paypal_2"}},
        "orders": ["#4"],
    }
    orders = {
        "#1": order("#1", "ann", [item("p1", "c1"), item("p1", "c1"), item("p2", "h1")], "pending", "gift_card_1"),
        "#2": order("#2", "ann", [item("p1", "c1"), item("p1", "c2"), item("p2", "h1")], "delivered", "credit_card_1"),
        "#3": order("#3", "ann", [item("p2", "h2")], "processed", "paypal_1"),
        "#4": order("#4", "bob", [item("p1", "c1"), item("p1", "c5"), item("p1", "c2")], "pending", "paypal_2"),
    }
    return {"users": {"ann": ann, "bob": bob}, "orders": orders, "products": products}


@pytest.fixture
def plain() -> dict[str, Any]:
    """The tables as plain JSON values, to be broken."""
    return tables()


@pytest.fixture(scope="session")
def world() -> World:
    """The world of these tables."""
    return World.of(tables(), "Be kind.")
