"""The sixteen tools: `call` says what one answers to arguments by name, and changes the database if it succeeds.

Checks are made in the order of the published contract; the first that fails is the answer, and nothing is written.
Arguments are not held to the schemas: a number may become a zip code, a text is taken for the list of its characters.
What a tool cannot use is an answer too, in the words of CPython 3.11. Refused beyond the contract, with an error as the
answer: what is not JSON or nested too deeply, numbers without end, objects in place of lists, and what `arithmetic`
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from askfirst.retail import changes, lookups
from askfirst.retail.database import Database
from askfirst.retail.given import Refused

DEEPEST = 16  # levels of lists and objects in an argument
WIDEST = 4096  # bits of a whole number


class Kind(StrEnum):
    """What a call does: nothing, a change of the database, or an end of the episode."""

    READ = "read"
    WRITE = "write"
    END = "end"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it does, its function and its arguments, in order, `array` or `string` by the schema."""

    kind: Kind
    run: Callable[[Database, Mapping[str, Any]], str]
    arguments: Mapping[str, str]


def _tool(kind: Kind, run: Callable[[Database, Mapping[str, Any]], str], *names: str) -> Tool:
    return Tool(kind, run, {name: "array" if name.endswith("item_ids") else "string" for name in names})


_EXCHANGE = ("order_id", "item_ids", "new_item_ids", "payment_method_id")
TOOLS: Mapping[str, Tool] = {
    "calculate": _tool(Kind.READ, lookups.calculate, "expression"),
    "cancel_pending_order": _tool(Kind.WRITE, changes.cancel_pending_order, "order_id", "reason"),
    "exchange_delivered_order_items": _tool(Kind.WRITE, changes.exchange_delivered_order_items, *_EXCHANGE),
    "find_user_id_by_email": _tool(Kind.READ, lookups.find_user_id_by_email, "email"),
    "find_user_id_by_name_zip": _tool(Kind.READ, lookups.find_user_id_by_name_zip, "first_name", "last_name", "zip"),
    "get_order_details": _tool(Kind.READ, lookups.get_order_details, "order_id"),
    "get_product_details": _tool(Kind.READ, lookups.get_product_details, "product_id"),
    "get_user_details": _tool(Kind.READ, lookups.get_user_details, "user_id"),
    "list_all_product_types": _tool(Kind.READ, lookups.list_all_product_types),
    "modify_pending_order_address": _tool(
        Kind.WRITE, changes.modify_pending_order_address, "order_id", *changes.ADDRESS
    ),
    "modify_pending_order_items": _tool(Kind.WRITE, changes.modify_pending_order_items, *_EXCHANGE),
    "modify_pending_order_payment": _tool(
        Kind.WRITE, changes.modify_pending_order_payment, "order_id", "payment_method_id"
    ),
    "modify_user_address": _tool(Kind.WRITE, changes.modify_user_address, "user_id", *changes.ADDRESS),
    "return_delivered_order_items": _tool(
        Kind.WRITE, changes.return_delivered_order_items, "order_id", "item_ids", "payment_method_id"
    ),
    "think": _tool(Kind.READ, lookups.think, "thought"),
    "transfer_to_human_agents": _tool(Kind.END, lookups.transfer_to_human_agents, "summary"),
}


def call(database: Database, name: str, arguments: Mapping[str, Any]) -> str:
    """What a tool answers. A failed call's answer begins with `Error: `, an unknown tool's with `Unknown action `."""
    tool = TOOLS.get(name)
    if tool is None:
        return _sayable(f"Unknown action {name}")
    try:
        _check_names(name, tool, arguments)
        return tool.run(database, {given: _plain(value, 0) for given, value in arguments.items()})
    except Refused as refusal:
        return _sayable(f"Error: {refusal}")


def _sayable(text: str) -> str:
    """A text that may hold what was given, without halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode()


def _check_names(name: str, tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Refuse unexpected and missing arguments as Python refuses them for a method of a class named after the tool."""
    method = "".join(part.capitalize() for part in name.split("_")) + ".invoke()"
    for given in arguments:
        if given not in tool.arguments:
            raise Refused(f"{method} got an unexpected keyword argument '{given}'")
    if missing := [repr(wanted) for wanted in tool.arguments if wanted not in arguments]:
        some = f"{len(missing)} required positional argument{'s' * (len(missing) > 1)}"
        listed = missing[0] if len(missing) == 1 else " and ".join(missing)
        if len(missing) > 2:
            listed = f"{', '.join(missing[:-1])}, and {missing[-1]}"
        raise Refused(f"{method} missing {some}: {listed}")


def _plain(value: Any, depth: int) -> Any:
    """A copy made of dict and list. Refuses what could not be shown, stored and hashed."""
    if depth > DEEPEST:
        raise Refused(f"an argument is nested deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        return {str(name): _plain(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused("an argument is no finite number")
    if isinstance(value, int) and value.bit_length() > WIDEST:
        raise Refused("a number is too large")
    if isinstance(value, str | int | float) or value is None:
        return value
    raise Refused(f"an argument is no JSON value but {type(value).__name__}")
