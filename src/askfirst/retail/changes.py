"""The tools that change the database. Each takes it and its arguments by name, and returns the changed record.

All raise Refused where the answer is an error; by then nothing has been changed. Amounts are doubles, rounded to 2
places only where the published contract rounds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askfirst.retail.database import Database
from askfirst.retail.given import Refused, key, members, shown
from askfirst.retail.lookups import Given, found

Record = Mapping[str, Any]
REASONS = ("no longer needed", "ordered by mistake")
PENDING, DELIVERED = "pending", "delivered"
MODIFIED = "pending (item modified)"
ADDRESS = ("address1", "address2", "city", "state", "country", "zip")


@dataclass(frozen=True, slots=True)
class Swap:
    """The item of this id goes, this variant comes, and it costs so much more."""

    old: str
    new: Record
    difference: float


def cancel_pending_order(db: Database, given: Given) -> str:
    """Cancel, and refund every entry of the payment history, earlier refunds too."""
    order = _order(db, given, PENDING, "cancelled")
    if given["reason"] not in REASONS:
        raise Refused("invalid reason")
    history = order["payment_history"]
    for entry in history:
        _charge(db, order, entry["payment_method_id"], -entry["amount"])
    own = db.edit("orders", order["order_id"])
    own["payment_history"] += [_entry("refund", each["amount"], each["payment_method_id"]) for each in history]
    own["status"] = "cancelled"
    own["cancel_reason"] = given["reason"]
    return shown(own)


def modify_pending_order_address(db: Database, given: Given) -> str:
    """Send an order to another address."""
    order = _order(db, given, PENDING, "modified")
    return _moved(db.edit("orders", order["order_id"]), given)


def modify_user_address(db: Database, given: Given) -> str:
    """Give a user another default address."""
    found(db, "user", given)
    return _moved(db.edit("users", given["user_id"]), given)


def _moved(own: dict[str, Any], given: Given) -> str:
    own["address"] = {name: given[name] for name in ADDRESS}
    return shown(own)


def modify_pending_order_items(db: Database, given: Given) -> str:
    """Change items to other variants, and pay or refund the difference, which is not rounded."""
    order = _order(db, given, PENDING, "modified")
    swaps = _swaps(db, order, given)
    difference = _total(swaps)
    method = _method(db, order, given)
    _require_balance(method, difference, "the new item")
    own = db.edit("orders", order["order_id"])
    paid = "payment" if difference > 0 else "refund"
    own["payment_history"].append(_entry(paid, abs(difference), method["id"]))
    _charge(db, order, method["id"], difference)
    for swap in swaps:  # by id as the items are now: a swap may act on one that came a moment before
        item, new = _first(own["items"], swap.old), swap.new
        item.update(item_id=new["item_id"], price=new["price"], options=dict(new["options"]))
    own["status"] = MODIFIED
    return shown(own)


def modify_pending_order_payment(db: Database, given: Given) -> str:
    """Pay with another method, and refund the first one."""
    order = _order(db, given, PENDING, "modified")
    method = _method(db, order, given)
    first, *more = order["payment_history"]
    if more or first["transaction_type"] != "payment":
        raise Refused("there should be exactly one payment for a pending order")
    before, amount = first["payment_method_id"], first["amount"]
    if before == method["id"]:
        raise Refused("the new payment method should be different from the current one")
    _require_balance(method, amount, "the order")
    own = db.edit("orders", order["order_id"])
    own["payment_history"] += [_entry("payment", amount, method["id"]), _entry("refund", amount, before)]
    _charge(db, order, method["id"], amount)
    _charge(db, order, before, -amount)
    return shown(own)


def return_delivered_order_items(db: Database, given: Given) -> str:
    """Ask for a return; no money moves yet."""
    order = _order(db, given, DELIVERED, "returned")
    method = _method(db, order, given)
    if method["source"] != "gift_card" and method["id"] != order["payment_history"][0]["payment_method_id"]:
        raise Refused("payment method should be either the original payment method or a gift card")
    items = members(given["item_ids"])
    if any(_held(order, each) < items.count(each) for each in items):
        raise Refused("some item not found")
    own = db.edit("orders", order["order_id"])
    own["status"] = "return requested"
    own["return_items"] = sorted(items)
    own["return_payment_method_id"] = method["id"]
    return shown(own)


def exchange_delivered_order_items(db: Database, given: Given) -> str:
    """Ask for an exchange; no money moves yet, and the items stay."""
    order = _order(db, given, DELIVERED, "exchanged")
    swaps = _swaps(db, order, given)
    difference = round(_total(swaps), 2)
    method = _method(db, order, given)
    _require_balance(method, difference, "the price difference")
    own = db.edit("orders", order["order_id"])
    own["status"] = "exchange requested"
    own["exchange_items"] = sorted(swap.old for swap in swaps)
    own["exchange_new_items"] = sorted(swap.new["item_id"] for swap in swaps)
    own["exchange_payment_method_id"] = method["id"]
    own["exchange_price_difference"] = difference
    return shown(own)


def _order(db: Database, given: Given, status: str, done: str) -> Record:
    """The order that is named. Raises Refused where it does not exist or has another status."""
    order = found(db, "order", given)
    if order["status"] != status:
        raise Refused(f"non-{status} order cannot be {done}")
    return order


def _swaps(db: Database, order: Record, given: Given) -> list[Swap]:
    """Each item to go, at the price of the first of its id in the order, with the variant to come. Raises Refused."""
    old = members(given["item_ids"])
    for each in old:
        if _held(order, each) < old.count(each):
            raise Refused(f"{each} not found")
    new = members(given["new_item_ids"])
    if len(old) != len(new):
        raise Refused("the number of items to be exchanged should match")
    swaps = []
    for before, after in zip(old, new, strict=True):
        item = _first(order["items"], before)
        product = db.record("products", item["product_id"]) or {}
        variant = product["variants"].get(key(after))
        if variant is None or not variant["available"]:
            raise Refused(f"new item {after} not found or available")
        swaps.append(Swap(before, variant, variant["price"] - item["price"]))
    return swaps


def _total(swaps: Sequence[Swap]) -> float:
    """Added up one by one: `sum` is exact to the last bit from Python 3.12 on, and the published amounts are not."""
    total: float = 0
    for swap in swaps:
        total += swap.difference
    return total


def _held(order: Record, item_id: Any) -> int:
    return sum(item["item_id"] == item_id for item in order["items"])


def _first(items: Sequence[Any], item_id: str) -> Any:
    return next(item for item in items if item["item_id"] == item_id)


def _method(db: Database, order: Record, given: Given) -> Record:
    """The payment method of the order's user that is named. Raises Refused."""
    user = db.record("users", order["user_id"]) or {}
    method: Record | None = user["payment_methods"].get(key(given["payment_method_id"]))
    if method is None:
        raise Refused("payment method not found")
    return method


def _require_balance(method: Record, amount: float, what: str) -> None:
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise Refused(f"insufficient gift card balance to pay for {what}")


def _entry(kind: str, amount: float, method_id: str) -> dict[str, Any]:
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}


def _charge(db: Database, order: Record, method_id: str, amount: float) -> None:
    """Take an amount off a gift card, or put it on where it is negative; other methods settle elsewhere."""
    user = db.record("users", order["user_id"]) or {}
    if user["payment_methods"][method_id]["source"] == "gift_card":
        card = db.edit("users", order["user_id"])["payment_methods"][method_id]
        card["balance"] = round(card["balance"] - amount, 2)
