"""The calls of a retail agent, one a turn: the shop's tools, and three by which it speaks to the user.

ask_question      {"question": ...}                     a question about one thing
ask_confirmation  {"action": ..., "arguments": {...}}   a yes or no to exactly that call of a tool
tell_user         {"text": ...}                         news; the user leaves when nothing is left to be done
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from askfirst.calls import ASK, CallError, Tool, call_text, question_of, read_call, schema
from askfirst.retail import tools
from askfirst.values import Act, Action, Answer, Ask, Confirm, FrozenMap, Invalid, Refuse

CONFIRM, TELL, TRANSFER = "ask_confirmation", "tell_user", "transfer_to_human_agents"
LONGEST_NEWS = 1200
# What a small model needs, and words for what the arguments do not say.
BRIEF: Mapping[str, str] = {
    "find_user_id_by_name_zip": "",
    "find_user_id_by_email": "",
    "get_user_details": "",
    "get_order_details": "",
    "get_product_details": "",
    "cancel_pending_order": " no longer needed | ordered by mistake",
    "return_delivered_order_items": " to the method paid with or a gift card",
    "exchange_delivered_order_items": "",
    "modify_pending_order_items": "",
    "modify_pending_order_address": "",
    "modify_pending_order_payment": "",
    TRANSFER: "",
}
FORM = 'you serve customers. one call a turn, as one json object and nothing else: {"name":"...","arguments":{...}}.'
RULES = (
    "find out who the user is first. look up what you can; ask, one thing at a time, only what no tool tells. before "
    "a change ask for a yes to exactly that call. change nothing else, then tell the user. what is beyond the tools, "
    "or not allowed by the status, transfer."
)


def _line(name: str, words: str) -> str:
    given = ", ".join(tools.TOOLS[name].arguments).replace("address1, address2, city, state, country, zip", "...")
    return f"{name} {{{given}}}{words}"


INSTRUCTIONS = "\n".join(
    (
        FORM,
        f"{ASK} {{question}}",
        f"{CONFIRM} {{action, arguments}}",
        f"{TELL} {{text}}",
        *(_line(*each) for each in BRIEF.items()),
        RULES,
    )
)
# The policy in full, in words of our own, with every tool.
POLICY = (
    "you serve the customers of a shop: you cancel or change pending orders, take back or exchange delivered ones, "
    "change a customer's address, and tell customers about their own data, their orders and the products.\n"
    "- first find out who the customer is, by email, or by name and zip code, even if an id is given. serve one "
    "customer in a conversation, and nobody asks for another's data through you.\n"
    "- before anything is changed, state the change in full and get a yes. change nothing that is not asked for.\n"
    "- say what the customer or a tool has told you; invent nothing, recommend nothing.\n"
    "- one call a turn.\n"
    "- what the tools cannot do, and only that, goes to a human.\n"
    "- an order can be cancelled while it is pending, with the reason no longer needed or ordered by mistake. what "
    "was paid goes back to where it came from.\n"
    "- of a pending order the address, the payment method or the items can be changed. a new payment method is a "
    "single one and another than before; a gift card must cover the total.\n"
    "- an item changes to another available variant of the same product. items of an order change only once, all "
    "in one call, and no other change is possible after that. the difference is paid by or goes to one payment method; "
    "a gift card must cover it.\n"
    "- items of a delivered order can be returned, for a refund to the method that was paid with or to a gift card, or "
    "exchanged, once and all in one call, for available variants of the same products.\n"
)
FULL_INSTRUCTIONS = "\n".join(
    (
        POLICY + FORM,
        f"{ASK} {{question}}: ask about one thing",
        f"{CONFIRM} {{action, arguments}}: a yes to exactly that call",
        f"{TELL} {{text}}: what was done or found",
        *(f"{name} {{{', '.join(tool.arguments)}}}" for name, tool in tools.TOOLS.items()),
    )
)
NATIVE_INSTRUCTIONS = f"you serve customers. call one tool a turn and say nothing else. {RULES}"


def _tool(name: str) -> Tool:
    kinds: Mapping[str, Mapping[str, Any]] = {
        "array": {"type": "array", "items": {"type": "string"}},
        "string": {"type": "string"},
    }
    arguments = {given: kinds[kind] for given, kind in tools.TOOLS[name].arguments.items()}
    return Tool(name, BRIEF.get(name, name.replace("_", " ")), schema(**arguments))


TOOLS = (
    Tool(ASK, "Ask the user about one thing.", schema(question={"type": "string"})),
    Tool(
        CONFIRM,
        "Ask the user for a yes to exactly that call.",
        schema(action={"type": "string"}, arguments={"type": "object"}),
    ),
    Tool(TELL, "Tell the user what was done or found.", schema(text={"type": "string"})),
    *map(_tool, tools.TOOLS),
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call by the protocol; the arguments of a tool are whatever was given."""

    name: str
    arguments: Mapping[str, Any]

    def text(self) -> str:
        """The call as one line of JSON."""
        return call_text(self.name, dict(self.arguments))


@lru_cache(maxsize=4096)
def parse_call(text: str) -> Call:
    """Exactly one call. Raises CallError with a short reason."""
    name, given = read_call(text)
    if not isinstance(name, str) or not isinstance(given, dict):
        raise CallError("name is not a text or arguments are not an object")
    wanted = {ASK: {"question"}, CONFIRM: {"action", "arguments"}, TELL: {"text"}}.get(name)
    if wanted is None and name not in tools.TOOLS:
        raise CallError("name is no tool")
    if wanted is not None and set(given) != wanted:
        raise CallError(f"arguments are not exactly {sorted(wanted)}")
    if name == ASK:
        question_of(given["question"])
    if name == CONFIRM and not (isinstance(given["action"], str) and isinstance(given["arguments"], dict)):
        raise CallError("an action to confirm is not a name and arguments")
    if name == TELL and not (isinstance(given["text"], str) and 0 < len(given["text"].strip()) <= LONGEST_NEWS):
        raise CallError(f"news are not a text with words of at most {LONGEST_NEWS} characters")
    return Call(name, given)


def parse_action(text: str) -> Action:
    """The call as an action of the system; Invalid where it breaks the protocol."""
    try:
        call = parse_call(text)
    except CallError as error:
        return Invalid(str(error))
    given = call.arguments
    if call.name == ASK:
        return Ask(given["question"])
    if call.name == TELL:
        return Answer(given["text"])
    if call.name == CONFIRM:
        return Confirm(given["action"], written(given["arguments"]))
    if call.name == TRANSFER:
        return Refuse(str(given.get("summary", "")))
    return Act(call.name, FrozenMap({"args": written(given)}))


def written(arguments: Mapping[str, Any]) -> str:
    """Arguments as one text, by which equal ones are found."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False)
