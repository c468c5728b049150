"""What an agent says that serves as it should, and what one that guesses says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from askfirst.calls import ASK
from askfirst.retail.calls import CONFIRM, TELL, TRANSFER, Call
from askfirst.retail.task import ADDRESS, IDENTITY, ITEM, ORDER, PAYMENT, REASON, VARIANT, Hidden, hidden_of
from askfirst.retail.user import call_of
from askfirst.retail.world import Record
from askfirst.values import Scenario

# Slot → the question about it.
QUESTIONS: Mapping[str, str] = {
    IDENTITY: "What is your name and zip code?",
    ORDER: "Which order do you mean?",
    ITEM: "Which item do you mean?",
    VARIANT: "Which variant would you like instead?",
    PAYMENT: "Which payment method should I use?",
    REASON: "What is the reason?",
    ADDRESS: "What is the address?",
}
_ORDER = re.compile(r"#W\d+")


def optimal(scenario: Scenario, skip: bool = False) -> tuple[str, ...]:
    """An episode as it should be, one call a turn. `skip`: it does not ask, and happens to guess right."""
    hidden = hidden_of(scenario)
    shown = scenario.opening[-1].content
    calls = [*_authenticated(hidden, shown, skip), *_read(hidden, shown)]
    if not skip:
        calls += [ask(slot) for slot in hidden.open if slot != IDENTITY]
    if hidden.beyond:
        return tuple(call.text() for call in (*calls, Call(TRANSFER, {"summary": "beyond my tools"})))
    for name, arguments in map(call_of, hidden.wanted):
        calls += [Call(CONFIRM, {"action": name, "arguments": arguments}), Call(name, arguments)]
    return tuple(call.text() for call in (*calls, tell(news(hidden))))


def ask(slot: str) -> Call:
    """The question about a slot."""
    return Call(ASK, {"question": QUESTIONS[slot]})


def tell(text: str) -> Call:
    """News for the user."""
    return Call(TELL, {"text": text})


def news(hidden: Hidden) -> str:
    """What is told in the end."""
    return f"It is {hidden.task.outputs[0]}." if hidden.task.outputs else "It is done."


def writes(scenario: Scenario) -> tuple[str, ...]:
    """The wanted writes alone, one call a turn."""
    return tuple(Call(*call_of(write)).text() for write in hidden_of(scenario).wanted)


def authentication(hidden: Hidden) -> Call:
    """The call that finds the user by name and zip code."""
    user = hidden.world.users[hidden.customer]
    return Call("find_user_id_by_name_zip", {**user["name"], "zip": user["address"]["zip"]})


def _authenticated(hidden: Hidden, shown: str, skip: bool) -> Iterator[Call]:
    if IDENTITY in hidden.open and not skip:
        yield ask(IDENTITY)
    email = hidden.world.users[hidden.customer]["email"]
    yield Call("find_user_id_by_email", {"email": email}) if email in shown else authentication(hidden)


def _read(hidden: Hidden, shown: str) -> Iterator[Call]:
    """What has to be read: methods and orders of the user where the request does not name them, the orders in
    question, and the variants of a product."""
    user, named = hidden.world.users[hidden.customer], _ORDER.findall(shown)
    if hidden.beyond and not named:
        return
    pays = "payment_method_id" in (hidden.wanted[0].arguments if hidden.wanted else ())
    if pays or not named:
        yield Call("get_user_details", {"user_id": hidden.customer})
    yield from (Call("get_order_details", {"order_id": number}) for number in named or user["orders"])
    for write in hidden.wanted:
        if "new_item_ids" in write.arguments:
            yield Call("get_product_details", {"product_id": _product(hidden.world.orders, write.arguments)})


def _product(orders: Mapping[str, Record], arguments: Mapping[str, Any]) -> str:
    items = orders[arguments["order_id"]]["items"]
    product: str = next(each["product_id"] for each in items if each["item_id"] == arguments["item_ids"][0])
    return product
