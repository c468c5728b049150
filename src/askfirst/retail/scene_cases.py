"""The scenes that cases of rewards play in, and the calls that such cases are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from askfirst.calls import ASK
from askfirst.retail import generated
from askfirst.retail.calls import CONFIRM, TRANSFER, Call
from askfirst.retail.catalogue import PRODUCTS
from askfirst.retail.oracle import ask, authentication, news, optimal, tell
from askfirst.retail.task import ADDRESS, INFERABLE, ITEM, ORDER, PAYMENT, REASON, VARIANT, Hidden, hidden_of
from askfirst.retail.user import call_of
from askfirst.retail.wordings import REASONS
from askfirst.store import generator
from askfirst.values import FrozenMap, Scenario

Said = tuple[str, ...]
ALL, BACKWARDS, FIRST = slice(None), slice(None, None, -1), slice(1)


@dataclass(frozen=True, slots=True)
class Scene:
    """A scenario with what the cases need of it."""

    scenario: Scenario
    hidden: Hidden

    @property
    def honest(self) -> Said:
        """How it should be played."""
        return optimal(self.scenario)

    @property
    def found_out(self) -> Said:
        """Who the user is, and what has to be read, without a question."""
        calls = (ASK, CONFIRM, TRANSFER, "tell_user", *(call.name for call in self.hidden.wanted))
        return tuple(text for text in self.honest if not any(f'"name": "{name}"' in text for name in calls))

    @property
    def auth(self) -> str:
        """The call that finds out who the user is."""
        return authentication(self.hidden).text()

    @property
    def reads(self) -> Said:
        """What has to be read after that."""
        return self.found_out[1:]

    @property
    def asks(self) -> Said:
        """The questions that are due."""
        return tuple(ask(slot).text() for slot in self.hidden.open)

    @property
    def confirm(self) -> str:
        """Asks for a yes to the change that is wanted."""
        return confirm(*call_of(self.hidden.wanted[0]))

    @property
    def write(self) -> str:
        """The change that is wanted."""
        return Call(*call_of(self.hidden.wanted[0])).text()

    @property
    def news(self) -> str:
        """What is told in the end."""
        return tell(news(self.hidden)).text()

    @property
    def wrong(self) -> Call:
        """The change that is wanted, but for one thing: what is open, where something is."""
        name, given = call_of(self.hidden.wanted[0])
        return Call(name, {**given, **self._other(given)})

    @property
    def stranger(self) -> tuple[str, Mapping[str, Any], str]:
        """Id, record and order of another customer."""
        ((name, user),) = [each for each in self.hidden.world.users.items() if each[0] != self.hidden.customer]
        return name, user, user["orders"][0]

    def _other(self, given: Mapping[str, Any]) -> dict[str, Any]:
        user = self.hidden.world.users[self.hidden.customer]
        slot = next(iter(self.hidden.open), ORDER)
        if slot == PAYMENT:
            used = (given["payment_method_id"], self._order(given)["payment_history"][0]["payment_method_id"])
            known = [each for each in user["payment_methods"] if each not in used[: 1 + (len(given) == 2)]]
            return {"payment_method_id": known[0]}
        if slot == VARIANT:
            item = next(each for each in self._order(given)["items"] if each["item_id"] == given["item_ids"][0])
            taken = (*given["item_ids"], *given["new_item_ids"])
            variants = PRODUCTS[item["product_id"]]["variants"].values()
            return {
                "new_item_ids": [next(v["item_id"] for v in variants if v["available"] and v["item_id"] not in taken)]
            }
        if slot == REASON:
            return {"reason": next(r for r in REASONS if r != given["reason"])}
        if slot == ADDRESS:
            return {"address1": "1 Elsewhere Road"}
        if slot == ORDER:
            return {"order_id": next(each for each in user["orders"] if each != given["order_id"])}
        return {"item_ids": [self._order(given)["items"][1]["item_id"]]}

    def _order(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.hidden.world.orders[given["order_id"]]


def confirm(action: str, arguments: Mapping[str, Any]) -> str:
    """Asks for a yes to a call."""
    return Call(CONFIRM, {"action": action, "arguments": arguments}).text()


def swapping(at: Scene, old: slice, new: slice) -> Call:
    """The wanted swaps of items with others of them, or in another order."""
    name, given = call_of(at.hidden.wanted[0])
    return Call(name, {**given, "item_ids": given["item_ids"][old], "new_item_ids": given["new_item_ids"][new]})


def question(text: str) -> str:
    """Asks that."""
    return Call(ASK, {"question": text}).text()


@cache
def scene(family: str, slot: str, *, clear: bool = False) -> Scene:
    """A scene of a family that leaves the slot open, or its clear twin."""
    return _of(generated.pair(family, slot, "dev", generator("retail cases", family, slot))[int(clear)])


@cache
def told(family: str, slot: str) -> Scene:
    """A scene in which the database fills the slot."""
    return _of(generated.inferable(family, slot, "dev", generator("retail cases", family, slot, INFERABLE)))


@cache
def forbidden(tools_do_it: bool) -> Scene:
    """A scene of what is beyond the shop: because of an order's status, or because no tool does it."""
    rng = generator("retail cases", "beyond")
    while True:
        found = _of(generated.beyond("dev", rng))
        if ("#W" in found.scenario.opening[0].content) is tools_do_it:
            return found


@cache
def double() -> Scene:
    """A scene whose user wants both orders cancelled."""
    one = scene("cancel", ORDER, clear=True)
    name, given = call_of(one.hidden.wanted[0])
    held = dict(one.scenario.hidden)
    actions = tuple(
        FrozenMap({"name": name, "arguments": FrozenMap({**given, "order_id": order})})
        for order in one.hidden.world.users[one.hidden.customer]["orders"]
    )
    task = FrozenMap({**held["task"], "actions": actions})
    return _of(replace(one.scenario, id=f"{one.scenario.id}-both", hidden=FrozenMap({**held, "task": task})))


@cache
def pairs() -> Scene:
    """A scene whose user wants both items of a delivered order exchanged, each for a variant of its own; the words are
    those of another."""
    one = scene("return", ITEM, clear=True)
    (_, given), held = call_of(one.hidden.wanted[0]), dict(one.scenario.hidden)
    order = one.hidden.world.orders[given["order_id"]]
    old = [item["item_id"] for item in order["items"][:2]]
    variants = PRODUCTS[order["items"][0]["product_id"]]["variants"].values()
    spare = next(each["item_id"] for each in variants if each["available"] and each["item_id"] not in old)
    swaps = {"item_ids": tuple(old), "new_item_ids": (spare, old[0])}
    paying = order["payment_history"][0]["payment_method_id"]
    arguments = FrozenMap({"order_id": given["order_id"], **swaps, "payment_method_id": paying})
    action = FrozenMap({"name": generated.TOOL["exchange"], "arguments": arguments})
    task = FrozenMap({**held["task"], "actions": (action,)})
    hidden = FrozenMap({**held, "task": task, "family": "exchange"})
    return _of(replace(one.scenario, id=f"{one.scenario.id}-pairs", hidden=hidden))


@cache
def simulated() -> Scene:
    """A scene whose user a model plays: it leaves when it says so, and not by itself."""
    one = scene("cancel", ORDER, clear=True).scenario
    return _of(replace(one, id=f"{one.id}-simulated", hidden=FrozenMap({**one.hidden, "simulated": True})))


def _of(scenario: Scenario) -> Scene:
    return Scene(scenario, hidden_of(scenario))


def named(name: str) -> Scene:
    """A scene by its name: `FAMILY/SLOT`, `clear/FAMILY/SLOT`, `told/FAMILY/SLOT`, `beyond/status`, `beyond/tools`,
    `double`, `pairs` or `simulated`."""
    match name.split("/"):
        case ["double"]:
            return double()
        case ["pairs"]:
            return pairs()
        case ["simulated"]:
            return simulated()
        case ["beyond", why]:
            return forbidden(why == "status")
        case ["clear", family, slot]:
            return scene(family, slot, clear=True)
        case ["told", family, slot]:
            return told(family, slot)
    family, slot = name.split("/")
    return scene(family, slot)
