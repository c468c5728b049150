"""Customers, their orders and what they want, drawn from a seed: pairs of a request that leaves a slot open and its
clear twin, requests whose open slot the database fills, and what is beyond the shop.

Everything of a scenario is of its split: the customer, the orders and the wording. Products are shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from askfirst.replies import SAID
from askfirst.retail import catalogue, wordings
from askfirst.retail.catalogue import PRODUCTS, STATUSES
from askfirst.retail.task import (
    ADDRESS,
    BEYOND,
    FULL,
    IDENTITY,
    INFERABLE,
    ITEM,
    ORDER,
    PAYMENT,
    REASON,
    VARIANT,
    hide,
)
from askfirst.retail.tasks import Call, Task
from askfirst.retail.world import frozen
from askfirst.store import content_hash
from askfirst.values import FrozenMap, Message, Scenario

T = TypeVar("T")
Record = dict[str, Any]
Bought = tuple[Mapping[str, Any], int]  # a product and the number of its variant

ANY = ("cancel", "return", "exchange", "modify_items", "modify_address", "modify_payment", "status", "paid")
# Slot → the families whose requests may leave it open.
OPENS: Mapping[str, tuple[str, ...]] = {
    IDENTITY: ANY,
    ORDER: ANY,
    ITEM: ("return",),
    VARIANT: ("exchange", "modify_items"),
    PAYMENT: ("return", "exchange", "modify_items", "modify_payment"),
    REASON: ("cancel",),
    ADDRESS: ("modify_address",),
}
# Slot → the families in which the database may fill it.
INFERS: Mapping[str, tuple[str, ...]] = {ORDER: ANY, PAYMENT: OPENS[PAYMENT]}
TOOL: Mapping[str, str] = {
    "cancel": "cancel_pending_order",
    "return": "return_delivered_order_items",
    "exchange": "exchange_delivered_order_items",
    "modify_items": "modify_pending_order_items",
    "modify_address": "modify_pending_order_address",
    "modify_payment": "modify_pending_order_payment",
}
METHODS: Mapping[str, str] = {
    "credit_card": "my credit card",
    "paypal": "my paypal account",
    "gift_card": "my gift card",
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """What is said of a slot: in a request that states it, in one that leaves it open, and in answer to a question."""

    stated: str
    left_open: str
    answer: str


@dataclass(frozen=True, slots=True)
class Goal:
    """A customer with a want, before it is worded: all records by id, and what is said of each slot."""

    family: str
    split: str
    users: Record
    orders: Record
    customer: str
    gold: tuple[Call, ...]
    outputs: tuple[str, ...]
    phrases: Mapping[str, Phrase]


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is special about a goal: the slot left open, the one that the database fills, or a status that forbids."""

    slot: str = ""
    fills: str = ""
    forbidden: bool = False


def pair(family: str, slot: str, split: str, rng: np.random.Generator) -> tuple[Scenario, Scenario]:
    """A scenario that leaves the slot open, and its twin that states it."""
    goal = _goal(family, split, rng, _Draft(slot=slot))
    template, wording = _pick(rng, wordings.requests(family, split))
    greeting = _pick(rng, (wordings.BY_NAME if slot == IDENTITY else _greetings(rng))[split])
    openings = [_opening(goal, wording, greeting, left) for left in (slot, "")]
    name = f"{template}.{split}"
    twin = content_hash((name, slot, *openings))[:16]
    return (
        _scenario(goal, ("ambiguous", slot), openings[0], name, twin),
        _scenario(goal, ("clear_twin", FULL), openings[1], name, twin),
    )


def inferable(family: str, slot: str, split: str, rng: np.random.Generator) -> Scenario:
    """A scenario whose request leaves the slot open, and whose database leaves one value for it."""
    goal = _goal(family, split, rng, _Draft(fills=slot))
    template, wording = _pick(rng, wordings.requests(family, split))
    opening = _opening(goal, wording, _pick(rng, _greetings(rng)[split]), slot)
    return _scenario(goal, (INFERABLE, INFERABLE), opening, f"{template}.{split}")


def beyond(split: str, rng: np.random.Generator) -> Scenario:
    """A request for what no tool does, or for what the status of the order forbids."""
    family = _pick(rng, ("beyond", "cancel", "return", "modify_address"))
    goal = _goal(family if family in TOOL else "status", split, rng, _Draft(forbidden=family in TOOL))
    template, wording = _pick(rng, wordings.requests(family, split))
    opening = _opening(goal, wording, _pick(rng, _greetings(rng)[split]), "")
    return _scenario(goal, ("out_of_scope", BEYOND), opening, f"{template}.{split}")


def _goal(family: str, split: str, rng: np.random.Generator, draft: _Draft) -> Goal:
    customer, user = _customer(split, rng, _sources(family, rng, draft))
    other, stranger = _customer(split, rng, ("paypal",), user["name"])
    product, others = _two(rng, list(PRODUCTS.values()))
    held, wanted, spare = _variants(product, rng)
    meant = [(product, held), *([(product, spare)] if draft.slot == ITEM else [])]
    first = _status(family, rng, draft)
    statuses = (first, *_second_status(family, first, rng, draft))
    numbers = _numbers(split, rng, 3)
    own = {}
    for number, status in zip(numbers, statuses, strict=False):
        # Where the order is left open, both hold what is meant; the other has one thing more, so that totals differ.
        alike = meant if number == numbers[0] or draft.slot == ORDER else []
        more = [(others, int(rng.integers(4)))] if number != numbers[0] or rng.random() < 0.5 else []
        more += [(others, int(rng.integers(4)))] if number != numbers[0] and draft.slot == ORDER else []
        own[number] = _order(customer, user, number, status, [*alike, *more])
    user["orders"] = list(own) if rng.random() < 0.5 else list(own)[::-1]
    stranger["orders"] = [numbers[2]]
    theirs = _order(other, stranger, numbers[2], first, [(product, held)])
    arguments, phrases = _wants(family, rng, user, own[numbers[0]], (product, held, wanted))
    gold = (Call(TOOL[family], frozen(arguments)),) if family in TOOL and not draft.forbidden else ()
    amount = own[numbers[0]]["payment_history"][0]["amount"]
    outputs = {"status": (first,), "paid": (str(amount),)}.get(family, ())
    users, orders = {customer: user, other: stranger}, {**own, numbers[2]: theirs}
    return Goal(family, split, users, orders, customer, gold, outputs, phrases)


def _sources(family: str, rng: np.random.Generator, draft: _Draft) -> tuple[str, ...]:
    """The kinds of a customer's payment methods; the first has paid all orders."""
    every = [catalogue.SOURCES[i] for i in rng.permutation(3)]
    if draft.fills == PAYMENT:
        return tuple(every[: 2 if family == "modify_payment" else 1])
    if draft.slot == PAYMENT and family == "modify_payment":
        return tuple(every)
    if draft.slot == PAYMENT and family == "return":
        return (_pick(rng, catalogue.SOURCES[:2]), "gift_card")
    return tuple(every[:2])


def _status(family: str, rng: np.random.Generator, draft: _Draft) -> str:
    allowed = "delivered" if family in ("return", "exchange") else "pending"
    if family not in TOOL:
        return _pick(rng, STATUSES)
    return _pick(rng, [each for each in STATUSES if each != allowed]) if draft.forbidden else allowed


def _second_status(family: str, first: str, rng: np.random.Generator, draft: _Draft) -> tuple[str, ...]:
    """The status of the second order; none where the one order is all there is to ask about."""
    others = [each for each in STATUSES if each != first]
    if draft.fills == ORDER:
        return (_pick(rng, others),) if family in TOOL else ()
    if draft.slot == ORDER:
        return (first,) if family in TOOL else (_pick(rng, others),)
    return (_pick(rng, STATUSES),)


def _wants(
    family: str, rng: np.random.Generator, user: Record, order: Record, items: tuple[Mapping[str, Any], int, int]
) -> tuple[Record, Mapping[str, Phrase]]:
    """The arguments of the write that is wanted, and what is said of each slot."""
    product, held, wanted = items
    number = order["order_id"]
    (old, value), (new, other) = (_named(product, n) for n in (held, wanted))
    method = _method(family, rng, user)
    said_method = METHODS[user["payment_methods"][method]["source"]]
    reason = _pick(rng, list(wordings.REASONS))
    place = _address(rng)
    around = wordings.SAID_OF_PAYMENT.get(family, "{}")
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    kind, change, paying = (ITEM, old), (VARIANT, new), (PAYMENT, method)
    told = {
        IDENTITY: Phrase("", "", f"{name}, zip {user['address']['zip']}."),
        ORDER: Phrase(f"order {number}", "my order", f"Order {number}."),
        ITEM: Phrase(f"the {value} {product['name']}", f"the {product['name']}", f"The {value} one."),
        VARIANT: Phrase(f"the {other} one", "another one", f"The {other} one."),
        PAYMENT: Phrase(
            around.format(said_method),
            "another payment method" if family == "modify_payment" else "",
            f"{said_method[:1].upper()}{said_method[1:]}.",
        ),
        REASON: Phrase(f" {wordings.REASONS[reason]}", "", wordings.REASONS[reason]),
        ADDRESS: Phrase(_worded(place), "my new address", f"{_worded(place)}."),
    }
    asked: Mapping[str, tuple[tuple[str, Any], ...]] = {
        "cancel": ((REASON, reason),),
        "return": (kind, paying),
        "exchange": (kind, change, paying),
        "modify_items": (kind, change, paying),
        "modify_address": ((ADDRESS, place),),
        "modify_payment": (paying,),
    }
    slots = dict(asked.get(family, ()))
    keys = {REASON: "reason", PAYMENT: "payment_method_id"}
    arguments = {"order_id": number}
    arguments |= {"item_ids": [slots[ITEM]]} if ITEM in slots else {}
    arguments |= {"new_item_ids": [slots[VARIANT]]} if VARIANT in slots else {}
    arguments |= {keys[slot]: given for slot, given in slots.items() if slot in keys}
    arguments |= slots.get(ADDRESS, {})
    return arguments, {slot: each for slot, each in told.items() if slot in {IDENTITY, ORDER, *slots}}


def _method(family: str, rng: np.random.Generator, user: Record) -> str:
    """A payment method that the family's tool takes."""
    first, *others = map(str, user["payment_methods"])
    if family == "modify_payment":
        return _pick(rng, others)
    gifts = [each for each in others if each.startswith("gift_card")]
    return _pick(rng, [first, *(gifts if family == "return" else others)])


def _opening(goal: Goal, wording: str, greeting: str, left: str) -> str:
    """The first line of the user, which leaves a slot open."""
    words = {slot: each.left_open if slot == left else each.stated for slot, each in goal.phrases.items()}
    user = goal.users[goal.customer]
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    if left == IDENTITY:
        greeting = wordings.UNKNOWN[goal.split][len(name) % len(wordings.UNKNOWN[goal.split])]
    greeting = greeting.format(name=name, zip=user["address"]["zip"], email=user["email"])
    request = wording.format(**words)
    return f"{SAID}{greeting} {request[:1].upper()}{request[1:]}"


def _scenario(goal: Goal, of: tuple[str, str], opening: str, template: str, twin: str = "") -> Scenario:
    """`of`: stratum and state."""
    stratum, state = of
    ambiguous = stratum == "ambiguous"
    family = "beyond" if state == BEYOND else goal.family
    gold, outputs = ((), ()) if state == BEYOND else (goal.gold, goal.outputs)
    hidden = hide(
        frozen(goal.users),
        frozen(goal.orders),
        Task(template, goal.customer, opening, gold, outputs),
        family=family,
        state=state,
        open=(state,) if ambiguous else (),
        answers=FrozenMap({slot: each.answer for slot, each in goal.phrases.items()}),
    )
    user = goal.users[goal.customer]
    values = (f"{user['name']['first_name']} {user['name']['last_name']}", user["email"], *goal.orders)
    name = content_hash((opening, hidden))[:16]
    shown = (Message("user", opening),)
    return Scenario(name, f"{family}.{state}", stratum, goal.split, ambiguous, shown, hidden, template, values, twin)


def _customer(
    split: str, rng: np.random.Generator, sources: Sequence[str], apart: Mapping[str, str] | None = None
) -> tuple[str, Record]:
    """A user id and a user of that split, without orders and of another name than `apart`."""
    name = dict(apart or {})
    while name == (apart or {}):
        first, last = _pick(rng, catalogue.FIRST_NAMES), _pick(rng, catalogue.LAST_NAMES[split])
        name = {"first_name": first, "last_name": last}
    number = int(rng.integers(10, 100))
    user_id = f"{first}_{last}_{number}".lower()
    methods = {}
    for source in sources:
        method = f"{source}_{int(rng.integers(100, 1000))}"
        own: Record = {"source": source, "id": method}
        own |= {"balance": int(rng.integers(300, 500))} if source == "gift_card" else {}
        last_four = f"{int(rng.integers(10_000)):04d}"
        own |= {"brand": _pick(rng, catalogue.BRANDS), "last_four": last_four} if source == "credit_card" else {}
        methods[method] = own
    return user_id, {
        "name": name,
        "address": _address(rng),
        "email": f"{first}.{last}{number}@example.com".lower(),
        "payment_methods": methods,
        "orders": [],
    }


def _order(user_id: str, user: Record, number: str, status: str, bought: Sequence[Bought]) -> Record:
    items = []
    for product, at in bought:
        variant = list(product["variants"].values())[at]
        kept = {name: variant[name] for name in ("item_id", "price")}
        items.append(
            {"name": product["name"], "product_id": product["product_id"], **kept, "options": dict(variant["options"])}
        )
    amount = round(sum(item["price"] for item in items), 2)
    sent = [{"tracking_id": [number[2:] * 2], "item_ids": [item["item_id"] for item in items]}]
    first = next(iter(user["payment_methods"]))
    return {
        "order_id": number,
        "user_id": user_id,
        "address": user["address"],
        "items": items,
        "fulfillments": sent if status in ("processed", "delivered") else [],
        "status": status,
        "payment_history": [{"transaction_type": "payment", "amount": amount, "payment_method_id": first}],
    }


def _variants(product: Mapping[str, Any], rng: np.random.Generator) -> tuple[int, int, int]:
    """Numbers of three variants: one that is held, an available one that is wanted instead, and another."""
    every = list(product["variants"].values())
    order = [int(n) for n in rng.permutation(catalogue.VARIANTS)]
    wanted = next(n for n in order if every[n]["available"])
    held, spare, *_ = [n for n in order if n != wanted]
    return held, wanted, spare


def _named(product: Mapping[str, Any], number: int) -> tuple[str, str]:
    """Item id and the value of the option of a variant."""
    variant = list(product["variants"].values())[number]
    (value,) = variant["options"].values()
    return variant["item_id"], value


def _numbers(split: str, rng: np.random.Generator, count: int) -> list[str]:
    """Different order numbers of a split."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[f"#W{_pick(rng, catalogue.ORDER_DIGITS[split])}{int(rng.integers(1000)):03d}"] = None
    return list(found)


def _address(rng: np.random.Generator) -> Record:
    city, state, code = _pick(rng, catalogue.CITIES)
    street = f"{int(rng.integers(1, 100))} {_pick(rng, catalogue.STREETS)}"
    place = {"address1": street, "address2": "", "city": city, "state": state, "country": "USA"}
    return {**place, "zip": f"{code}{int(rng.integers(100)):02d}"}


def _worded(place: Mapping[str, str]) -> str:
    return f"{place['address1']}, {place['city']}, {place['state']} {place['zip']}"


def _greetings(rng: np.random.Generator) -> Mapping[str, tuple[str, ...]]:
    return wordings.BY_EMAIL if rng.random() < 0.25 else wordings.BY_NAME


def _two(rng: np.random.Generator, options: Sequence[T]) -> tuple[T, T]:
    one, other = rng.permutation(len(options))[:2]
    return options[int(one)], options[int(other)]


def _pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    return options[int(rng.random() * len(options))]
