"""What is to be done in an episode: the world that it plays in, what the user wants, and what is told when asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from askfirst.errors import RewardFault
from askfirst.retail.catalogue import PRODUCTS
from askfirst.retail.folder import published
from askfirst.retail.published import STEPS, gold
from askfirst.retail.tasks import Call, Task
from askfirst.retail.tools import TOOLS, Kind
from askfirst.retail.world import World
from askfirst.values import FrozenMap, Scenario

# What a request may leave open.
IDENTITY, ORDER, ITEM, VARIANT = "identity", "order", "item", "variant"
PAYMENT, REASON, ADDRESS = "payment", "reason", "address"
MAX_TURNS = 16
SLOTS = (IDENTITY, ORDER, ITEM, VARIANT, PAYMENT, REASON, ADDRESS)
FULL, INFERABLE, BEYOND = "full", "inferable", "beyond"  # nothing open; the database tells; no task of the shop


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the policy is judged against.

    `task` is as published ones are: its gold calls, and the words that are to be told. `wanted` are the changes that
    the user says yes to, `open` the slots that only the user can fill, `answers` what is said when asked about a slot.
    """

    world: World
    task: Task
    wanted: tuple[Call, ...]
    family: str
    state: str
    open: tuple[str, ...]
    answers: Mapping[str, str]
    published: bool = False
    simulated: bool = False  # a model plays the user

    @property
    def customer(self) -> str:
        """The id of the user."""
        return self.task.user_id

    @property
    def turns(self) -> int:
        """How often the policy may speak."""
        return STEPS if self.published else MAX_TURNS

    @property
    def beyond(self) -> bool:
        """Whether it is for a human."""
        return self.state == BEYOND or any(TOOLS[each.name].kind is Kind.END for each in self.task.actions)


def hide(users: FrozenMap, orders: FrozenMap, task: Task, **rest: Any) -> FrozenMap:
    """As the `hidden` part of a scenario: all users and orders by id, and the fields of Hidden that are its own."""
    return FrozenMap({"users": users, "orders": orders, "task": _held(task), **rest})


def hide_published(folder: Path, task: Task) -> FrozenMap:
    """The same for a published task, whose world stays in its folder."""
    return FrozenMap({"folder": str(folder), "task": _held(task)})


def _held(task: Task) -> FrozenMap:
    actions = tuple(FrozenMap({"name": each.name, "arguments": each.arguments}) for each in task.actions)
    named = {name: getattr(task, name) for name in ("id", "user_id", "instruction", "outputs")}
    return FrozenMap({**named, "actions": actions})


@lru_cache(maxsize=512)
def hidden_of(scenario: Scenario) -> Hidden:
    """What a scenario of this environment hides. Raises TypeError where it hides something else."""
    held: dict[str, Any] = dict(scenario.hidden)
    try:
        own = dict(held.pop("task"))
        actions = tuple(Call(each["name"], each["arguments"]) for each in own.pop("actions"))
        task = Task(actions=actions, **own)
        if "folder" in held:
            world = world_of(held["folder"])
            fixed = (effective(world, task), "published", FULL, (), FrozenMap(), True)
            return Hidden(world, task, *fixed, simulated=held.get("simulated", False))
        return Hidden(World(held.pop("users"), held.pop("orders"), PRODUCTS), task, actions, **held)
    except KeyError as error:
        raise TypeError(f"a scenario of another environment: it hides no {error}") from error


def truth_of(scenario: Scenario) -> Hidden:
    """The same for a reward, to which a strange scenario is a fault of ours: raises RewardFault."""
    try:
        return hidden_of(scenario)
    except TypeError as error:
        raise RewardFault(
            f"expected the truth of retail, found hidden fields {sorted(scenario.hidden)}",
            where=f"scenario {scenario.id}",
            hint="use a reward that belongs to the environment",
        ) from error


@lru_cache(maxsize=2)
def world_of(folder: str) -> World:
    """The world of a folder, read once. Raises InputError."""
    return published(Path(folder))


def effective(world: World, task: Task) -> tuple[Call, ...]:
    """The gold calls of a task that change something when they are replayed."""
    answers = zip(task.actions, gold(world, task).observations, strict=True)
    return tuple(each for each, said in answers if TOOLS[each.name].kind is Kind.WRITE and not said.startswith("Error"))
