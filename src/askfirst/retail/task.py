"""What is to be done in an episode: the world that it plays in, what the user wants, and what is told when asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from askfirst.retail.catalogue import PRODUCTS
from askfirst.retail.world import World
from askfirst.values import FrozenMap, Scenario

# What a request may leave open.
IDENTITY, ORDER, ITEM, VARIANT = "identity", "order", "item", "variant"
PAYMENT, REASON, ADDRESS = "payment", "reason", "address"
MAX_TURNS = 16
SLOTS = (IDENTITY, ORDER, ITEM, VARIANT, PAYMENT, REASON, ADDRESS)
FULL, INFERABLE, BEYOND = "full", "inferable", "beyond"  # nothing open; the database tells; no task of the shop


@dataclass(frozen=True, slots=True)
class Write:
    """A call that changes the database."""

    name: str
    arguments: FrozenMap


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the policy is judged against.

    `gold` are the writes that the user wants, `outputs` what is to be told, `open` the slots that only the user can
    fill, `answers` what is said when asked about a slot. `brief`: tools leave out what nobody needs.
    """

    world: World
    customer: str
    family: str
    state: str
    gold: tuple[Write, ...]
    outputs: tuple[str, ...]
    open: tuple[str, ...]
    answers: Mapping[str, str]
    brief: bool = True

    @property
    def beyond(self) -> bool:
        """Whether it is for a human."""
        return self.state == BEYOND


def hide(users: Any, orders: Any, **rest: Any) -> FrozenMap:
    """As the `hidden` part of a scenario: `users` and `orders` by id, frozen, and the other fields of Hidden."""
    gold = tuple(FrozenMap({"name": each.name, "arguments": each.arguments}) for each in rest.pop("gold"))
    return FrozenMap({"users": users, "orders": orders, "gold": gold, **rest})


@lru_cache(maxsize=512)
def hidden_of(scenario: Scenario) -> Hidden:
    """What a scenario of this environment hides. Raises TypeError where it hides something else."""
    held: dict[str, Any] = dict(scenario.hidden)
    try:
        world = World(held.pop("users"), held.pop("orders"), PRODUCTS)
        gold = tuple(Write(each["name"], each["arguments"]) for each in held.pop("gold"))
        return Hidden(world, gold=gold, **held)
    except KeyError as error:
        raise TypeError(f"a scenario of another environment: it hides no {error}") from error
