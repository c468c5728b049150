"""What the tools answer and change, in orders of every state, and given anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from askfirst.retail.changes import REASONS
from askfirst.retail.database import Database
from askfirst.retail.hashing import sha256_of
from askfirst.retail.tools import TOOLS, Kind, call
from askfirst.retail.world import World, thawed
from askfirst.values import FrozenMap

TO = {"address1": "2 Oak", "address2": "", "city": "Reno", "state": "NV", "country": "USA", "zip": "89502"}
PAY, CARD, GIFT = "paypal_1", "credit_card_1", "gift_card_1"


def swap(order: str, old: Any, new: Any, method: Any = PAY) -> dict[str, Any]:
    return {"order_id": order, "item_ids": old, "new_item_ids": new, "payment_method_id": method}


def give_back(order: str, items: Any, method: Any) -> dict[str, Any]:
    return {"order_id": order, "item_ids": items, "payment_method_id": method}


MODIFY, EXCHANGE, RETURN = (
    "modify_pending_order_items",
    "exchange_delivered_order_items",
    "return_delivered_order_items",
)
CANCEL, PAYMENT, MOVE = "cancel_pending_order", "modify_pending_order_payment", "modify_pending_order_address"
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("find_user_id_by_email", {"email": "eve@example.com"}, "user not found"),
    ("find_user_id_by_email", {"email": 3}, "'int' object has no attribute 'lower'"),
    ("find_user_id_by_name_zip", {"first_name": "Ann", "last_name": "O'Neil", "zip": 89501}, "user not found"),
    ("find_user_id_by_name_zip", {"first_name": "Bob", "last_name": "O'Neil", "zip": "89501"}, "user not found"),
    ("get_user_details", {"user_id": "Ann"}, "user not found"),
    ("get_order_details", {"order_id": "1"}, "order not found"),
    ("get_order_details", {"order_id": ["#1"]}, "unhashable type: 'list'"),
    ("get_product_details", {"product_id": "c1"}, "product not found"),
    ("calculate", {"expression": "1/0"}, "division by zero"),
    ("calculate", {"expression": ["1"]}, "expression is no text"),
    (CANCEL, {"order_id": "#9", "reason": REASONS[0]}, "order not found"),
    (CANCEL, {"order_id": "#3", "reason": "?"}, "non-pending order cannot be cancelled"),
    (CANCEL, {"order_id": "#1", "reason": "no longer wanted"}, "invalid reason"),
    (CANCEL, {"order_id": "#1", "reason": ["no longer needed"]}, "invalid reason"),
    (MOVE, {"order_id": "#2", **TO}, "non-pending order cannot be modified"),
    ("modify_user_address", {"user_id": "eve", **TO}, "user not found"),
    (MODIFY, swap("#2", ["c1"], ["c2"]), "non-pending order cannot be modified"),
    (MODIFY, swap("#1", ["c2"], []), "c2 not found"),
    (MODIFY, swap("#1", ["c1"] * 3, []), "c1 not found"),
    (MODIFY, swap("#1", ["c1"], []), "the number of items to be exchanged should match"),
    (MODIFY, swap("#1", ["c1"], ["c4"], "?"), "new item c4 not found or available"),
    (MODIFY, swap("#1", ["c1"], ["h2"]), "new item h2 not found or available"),
    (MODIFY, swap("#1", ["c1"], ["c2"], "paypal_2"), "payment method not found"),
    (MODIFY, swap("#1", ["c1"], ["c3"], GIFT), "insufficient gift card balance to pay for the new item"),
    (MODIFY, swap("#1", "c1", ["c2"]), "c not found"),
    (MODIFY, swap("#1", 1, ["c2"]), "'int' object is not iterable"),
    (MODIFY, swap("#1", ["c1"], {"c2": 1}), "'dict' object is not iterable"),
    (MODIFY, swap("#1", ["c1"], [["c2"]]), "unhashable type: 'list'"),
    (PAYMENT, {"order_id": "#2", "payment_method_id": CARD}, "non-pending order cannot be modified"),
    (PAYMENT, {"order_id": "#1", "payment_method_id": "paypal_2"}, "payment method not found"),
    (
        PAYMENT,
        {"order_id": "#1", "payment_method_id": GIFT},
        "the new payment method should be different from the current one",
    ),
    (RETURN, give_back("#1", ["c1"], CARD), "non-delivered order cannot be returned"),
    (RETURN, give_back("#2", ["c9"], "paypal_2"), "payment method not found"),
    (
        RETURN,
        give_back("#2", ["c9"], PAY),
        "payment method should be either the original payment method or a gift card",
    ),
    (RETURN, give_back("#2", ["c1", "c1"], CARD), "some item not found"),
    (EXCHANGE, swap("#1", ["c1"], ["c2"]), "non-delivered order cannot be exchanged"),
    (EXCHANGE, swap("#2", ["c1"], ["c3"], GIFT), "insufficient gift card balance to pay for the price difference"),
    ("think", {}, "Think.invoke() missing 1 required positional argument: 'thought'"),
    (
        PAYMENT,
        {},
        "ModifyPendingOrderPayment.invoke() missing 2 required positional arguments: "
        "'order_id' and 'payment_method_id'",
    ),
    (
        RETURN,
        {},
        "ReturnDeliveredOrderItems.invoke() missing 3 required positional arguments: "
        "'order_id', 'item_ids', and 'payment_method_id'",
    ),
    ("think", {"thought": "", "x\ud800": 1}, "Think.invoke() got an unexpected keyword argument 'x\\ud800'"),
    (MODIFY, swap("#1", ["\ud800"], []), "\\ud800 not found"),
    ("think", {"thought": float("nan")}, "an argument is no finite number"),
    ("think", {"thought": 10**2000}, "a number is too large"),
    ("think", {"thought": b""}, "an argument is no JSON value but bytes"),
    ("think", {"thought": {"a": [{1}]}}, "an argument is no JSON value but set"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSALS, ids=lambda value: str(value)[:40])
def test_a_refused_call_says_why_and_changes_nothing(
    world: World, name: str, arguments: dict[str, Any], message: str
) -> None:
    db = Database(world)
    assert call(db, name, arguments) == f"Error: {message}"
    assert db.touched == ()


def test_arguments_are_nested_up_to_a_bound(world: World) -> None:
    deep: Any = "x"
    for _ in range(16):
        deep = [deep]
    db = Database(world)
    assert call(db, "think", {"thought": deep}) == ""
    assert call(db, "think", {"thought": {"a": deep}}) == "Error: an argument is nested deeper than 16 levels"


def test_look_ups(world: World, plain: dict[str, Any]) -> None:
    db = Database(world)
    assert call(db, "find_user_id_by_email", {"email": "BOB@example.com"}) == "bob"
    assert call(db, "find_user_id_by_name_zip", {"first_name": "bob", "last_name": "BÉLA", "zip": "10001"}) == "bob"
    assert call(db, "get_user_details", {"user_id": "bob"}) == json.dumps(plain["users"]["bob"])
    assert "B\\u00e9la" in call(db, "get_user_details", {"user_id": "bob"})
    assert call(db, "get_order_details", {"order_id": "#1"}) == json.dumps(plain["orders"]["#1"])
    assert call(db, "get_product_details", {"product_id": "p1"}) == json.dumps(plain["products"]["p1"])
    assert call(db, "list_all_product_types", {}) == '{"Cup": "p1", "Hat": "p2"}'
    assert call(db, "calculate", {"expression": "1 + 1"}) == "2.0"
    assert call(db, "transfer_to_human_agents", {"summary": ""}) == "Transfer successful"
    assert call(db, "buy", {}) == "Unknown action buy"
    assert call(db, "\ud800", {}) == "Unknown action \\ud800"
    assert db.touched == ()


def test_the_first_user_of_the_file_is_found_and_as_the_record_is_now(plain: dict[str, Any]) -> None:
    plain["users"]["bob"]["email"] = "Ann@example.com"
    world = World.of({**plain, "users": dict(reversed(plain["users"].items()))})
    assert call(Database(world), "find_user_id_by_email", {"email": "ann@example.com"}) == "bob"
    db = Database(world)
    call(db, "modify_user_address", {"user_id": "ann", **TO, "zip": [1]})
    found = call(db, "find_user_id_by_name_zip", {"first_name": "Ann", "last_name": "O'Neil", "zip": (1,)})
    assert found == "ann"


def done(db: Database, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The changed record that a call shows, which is the one that is kept."""
    record: dict[str, Any] = json.loads(call(db, name, arguments))
    table, key = ("orders", record["order_id"]) if "order_id" in record else ("users", arguments["user_id"])
    assert thawed(db.record(table, key)) == record
    return record


def balance(db: Database) -> Any:
    ann = db.record("users", "ann")
    assert ann is not None
    return ann["payment_methods"][GIFT]["balance"]


def paid(record: dict[str, Any]) -> list[tuple[str, float, str]]:
    return [(e["transaction_type"], e["amount"], e["payment_method_id"]) for e in record["payment_history"]]


def test_cancelling_refunds_and_puts_it_on_the_gift_card(world: World) -> None:
    db = Database(world)
    record = done(db, CANCEL, {"order_id": "#1", "reason": REASONS[0]})
    assert [*record][-1] == "cancel_reason"
    assert record["status"] == "cancelled"
    assert paid(record) == [("payment", 40.2, GIFT), ("refund", 40.2, GIFT)]
    assert balance(db) == 80.2
    assert db.touched == (("orders", "#1"), ("users", "ann"))


def test_cancelling_refunds_every_entry_once_more_after_a_change_of_payment(world: World) -> None:
    db = Database(world)
    assert paid(done(db, PAYMENT, {"order_id": "#1", "payment_method_id": CARD})) == [
        ("payment", 40.2, GIFT),
        ("payment", 40.2, CARD),
        ("refund", 40.2, GIFT),
    ]
    assert balance(db) == 80.2
    again = call(db, PAYMENT, {"order_id": "#1", "payment_method_id": GIFT})
    assert again == "Error: there should be exactly one payment for a pending order"
    record = done(db, CANCEL, {"order_id": "#1", "reason": REASONS[1]})
    assert [kind for kind, _, _ in paid(record)] == ["payment", "payment", "refund", "refund", "refund", "refund"]
    assert balance(db) == 160.6


def test_a_new_gift_card_pays_at_once_if_it_can(world: World, plain: dict[str, Any]) -> None:
    order = plain["orders"]["#1"]
    order["payment_history"][0]["payment_method_id"] = PAY
    db = Database(World.of(plain))
    answer = call(db, PAYMENT, {"order_id": "#1", "payment_method_id": GIFT})
    assert answer == "Error: insufficient gift card balance to pay for the order"
    order["payment_history"][0]["amount"] = 40.0
    db = Database(World.of(plain))
    done(db, PAYMENT, {"order_id": "#1", "payment_method_id": GIFT})
    assert balance(db) == 0.0


def test_addresses_are_replaced_in_the_order_of_the_arguments(world: World) -> None:
    db = Database(world)
    given_in = dict(reversed(TO.items()))
    assert [*done(db, MOVE, {**given_in, "order_id": "#1"})["address"].items()] == [*TO.items()]
    assert done(db, "modify_user_address", {"user_id": "bob", **TO, "zip": 7})["address"]["zip"] == 7
    assert db.touched == (("orders", "#1"), ("users", "bob"))


@pytest.mark.parametrize("before", [False, True], ids=["fresh", "changed before"])
def test_modified_items_and_their_unrounded_difference(world: World, before: bool) -> None:
    db = Database(world)
    if before:  # the episode's own record is changed in place
        done(db, MOVE, {"order_id": "#1", **TO})
    record = done(db, MODIFY, swap("#1", ["c1", "c1"], ["c2", "c5"], GIFT))
    difference = 0 + (12.3 - 10.1) + (8.0 - 10.1)
    assert paid(record)[1:] == [("payment", difference, GIFT)]
    assert difference != round(difference, 2)
    assert balance(db) == round(40 - difference, 2)
    assert [item["item_id"] for item in record["items"]] == ["c2", "c5", "h1"]
    assert (record["items"][0]["price"], record["items"][0]["options"]) == (12.3, {"colour": "blue"})
    assert record["status"] == "pending (item modified)"
    for name, arguments in ((CANCEL, {"order_id": "#1", "reason": REASONS[0]}), (MODIFY, swap("#1", [], []))):
        assert call(db, name, arguments).startswith("Error: non-pending order")


@pytest.mark.parametrize("before", [False, True], ids=["fresh", "changed before"])
def test_a_chain_of_swaps_acts_on_what_came_a_moment_before(world: World, before: bool) -> None:
    db = Database(world)
    if before:
        done(db, MOVE, {"order_id": "#4", **TO})
    record = done(db, MODIFY, swap("#4", ["c1", "c5", "c2"], ["c2", "c1", "c5"], "paypal_2"))
    # c1 c5 c2 → c2 c5 c2 → c2 c1 c2 → c5 c1 c2
    assert [item["item_id"] for item in record["items"]] == ["c5", "c1", "c2"]


def test_the_order_of_pairs_is_in_the_last_bit_of_the_amount(world: World) -> None:
    amounts = set()
    for old, new in ((["c1", "c5", "c2"], ["c2", "c3", "c3"]), (["c5", "c2", "c1"], ["c3", "c3", "c2"])):
        amounts.add(paid(done(Database(world), MODIFY, swap("#4", old, new, "paypal_2")))[1][1])
    assert len({round(amount, 6) for amount in amounts}) == 1
    assert len(amounts) == 2


def test_nothing_modified_is_a_refund_of_a_whole_0(world: World) -> None:
    db = Database(world)
    assert paid(done(db, MODIFY, swap("#1", [], "", GIFT)))[1] == ("refund", 0, GIFT)
    assert (balance(db), type(balance(db))) == (40, int)
    record = done(Database(world), MODIFY, swap("#1", ["c1"], ["c5"]))
    assert paid(record)[1] == ("refund", 10.1 - 8.0, PAY)


@pytest.mark.parametrize("method", [CARD, GIFT])
def test_a_return_moves_no_money(world: World, method: str) -> None:
    db = Database(world)
    record = done(db, RETURN, give_back("#2", ["h1", "c2"], method))
    assert [*record][-2:] == ["return_items", "return_payment_method_id"]
    assert (record["status"], record["return_items"]) == ("return requested", ["c2", "h1"])
    assert record["return_payment_method_id"] == method
    assert db.touched == (("orders", "#2"),)
    assert call(db, EXCHANGE, swap("#2", ["c1"], ["c2"])) == "Error: non-delivered order cannot be exchanged"


def test_an_exchange_moves_no_money_and_rounds_the_difference(world: World) -> None:
    db = Database(world)
    record = done(db, EXCHANGE, swap("#2", ["h1", "c1"], ["h2", "c2"], GIFT))
    assert (record["exchange_items"], record["exchange_new_items"]) == (["c1", "h1"], ["c2", "h2"])
    assert record["exchange_price_difference"] == 2.2 != 12.3 - 10.1
    assert (record["exchange_payment_method_id"], record["status"]) == (GIFT, "exchange requested")
    assert [item["item_id"] for item in record["items"]] == ["c1", "c2", "h1"]
    assert db.touched == (("orders", "#2"),)


def test_kinds(world: World) -> None:
    assert {name for name, tool in TOOLS.items() if tool.kind is Kind.WRITE} == {
        *(CANCEL, PAYMENT, MOVE, MODIFY, RETURN, EXCHANGE, "modify_user_address")
    }
    assert [name for name, tool in TOOLS.items() if tool.kind is Kind.END] == ["transfer_to_human_agents"]
    assert len(TOOLS) == 16


IDS = ["#1", "#2", "#4", "ann", "bob", "p1", "c1", "c2", "h1", "h2", GIFT, CARD, "paypal_2", REASONS[0], "89501", ""]
KNOWN = st.sampled_from(IDS)
DEEP: Any = "x"
for _ in range(20):
    DEEP = {"x": [DEEP]}
ODD = [
    None,
    True,
    0,
    10**5000,
    1.5,
    float("nan"),
    "c",
    "\ud800",
    [],
    {},
    [None],
    FrozenMap({"c1": 1}),
    DEEP,
    ("c1",),
    b"",
]
VALUES = {
    "string": st.sampled_from([*IDS, *IDS, *IDS, *ODD]),
    "array": st.lists(KNOWN, max_size=3) | st.sampled_from(ODD),
}


def calls_of(name: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """Calls of a tool with all of its arguments, of any type."""
    own = {argument: VALUES[kind] for argument, kind in TOOLS[name].arguments.items()}
    return st.fixed_dictionaries(own).map(lambda arguments: (name, arguments))


CALLS = st.one_of(*map(calls_of, TOOLS))
STRANGE = st.tuples(
    st.sampled_from([*TOOLS, "", "buy", "\ud800"]),
    st.dictionaries(st.sampled_from(["order_id", "reason", "", "\ud800"]), st.sampled_from(ODD), max_size=2),
)


@pytest.mark.parametrize("examples", [25, pytest.param(1000, marks=pytest.mark.thorough)])
def test_whatever_is_called_the_answer_is_a_text_and_the_hash_that_of_the_whole(world: World, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(CALLS | STRANGE, max_size=5))
    @example([(MOVE, {"order_id": "#1", **TO}), (MODIFY, swap("#1", ["c1", "c1"], ["c1", "c1"])), ("think", {"": 1})])
    def holds(fuzzed: list[tuple[str, dict[str, Any]]]) -> None:
        answered(world, fuzzed)

    holds()


def answered(world: World, fuzzed: list[tuple[str, dict[str, Any]]]) -> None:
    db = Database(world)
    for name, arguments in fuzzed:
        before = db.sha256()
        answer = call(db, name, arguments)
        answer.encode()
        if answer.startswith(("Error: ", "Unknown action ")) or TOOLS[name].kind is not Kind.WRITE:
            assert db.sha256() == before
    now = {table: dict(db.records(table)) for table in world.tables}
    assert db.sha256() == sha256_of(now)
    changed = ((t, k) for t in now for k in now[t] if sha256_of(now[t][k]) != sha256_of(world.tables[t][k]))
    assert db.touched == tuple(sorted(changed))
    assert world.sha256 == sha256_of(world.tables)
