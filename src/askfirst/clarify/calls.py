"""The calls that a policy makes: one a turn, and nothing around it.

A call is a JSON object `{"name": ..., "arguments": {...}}`, bare or between `<tool_call>` and `</tool_call>`, which is
how the chat templates of the Qwen and Hermes families write a call and what their models were trained to say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from askfirst.values import Act, Action, Ask, FrozenMap, Invalid, Refuse

ASK, PLAN, INFO = "ask_question", "propose_plan", "get_task_info"
OPEN, CLOSE = "<tool_call>", "</tool_call>"
ASSUMPTIONS, DECLINE = "assumptions", "decline"  # reserved keys of a plan
LONGEST, LONGEST_QUESTION, DEEPEST = 8000, 400, 4
FORM = (
    "call one tool a turn, as one json object and nothing else. "
    '{"name":"ask_question","arguments":{"question":"..."}} asks the user. '
    '{"name":"get_task_info","arguments":{}} shows the task again. '
    '{"name":"propose_plan","arguments":{"plan":{key:value,...,"assumptions":[key,...]}}} ends the task; '
)
RULES = (
    "values are allowed ones; list under assumptions each key that you had to guess. "
    "a key left out costs half its price, a wrong assumption 60 % of it, any other wrong value all of it; "
    "an act that cannot be undone needs a yes. each thing asked about costs a question, an assumption about what is "
    'known and a key that is not wanted cost one too. what is no task of yours: {"plan":{"decline":"why"}}.'
)
INSTRUCTIONS = FORM + RULES
NATIVE_INSTRUCTIONS = (
    "call one tool a turn and say nothing else. " + RULES
)  # where tools are described by their schemas


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as trainers and servers list it; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: FrozenMap

    def function(self) -> FrozenMap:
        """The tool as chat templates take it, in `apply_chat_template(tools=...)`."""
        own = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return FrozenMap({"type": "function", "function": FrozenMap(own)})


def _arguments(**properties: Mapping[str, str]) -> FrozenMap:
    body = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return FrozenMap(body)


TOOLS = (
    Tool(
        ASK,
        "Ask the user a question. Each thing asked about costs the price of a question.",
        _arguments(question={"type": "string", "description": "What to ask, in plain words."}),
    ),
    Tool(
        PLAN,
        "End the task with a plan.",
        _arguments(
            plan={
                "type": "object",
                "description": "A value for each key. Under assumptions a list of the keys that were guessed. "
                "For what is no task of yours only decline, with a reason.",
            }
        ),
    ),
    Tool(INFO, "Show the task, the rules and the number of questions left.", _arguments()),
)


class CallError(ValueError):
    """The text is not exactly one call."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call by the protocol. `question` where it asks, `plan` where it proposes."""

    name: str
    question: str = ""
    plan: Mapping[str, Any] = FrozenMap()

    def text(self) -> str:
        """The call as one line of JSON."""
        arguments: dict[str, Any] = {}
        if self.name == ASK:
            arguments["question"] = self.question
        elif self.name == PLAN:
            arguments["plan"] = dict(self.plan)
        return call_text(self.name, arguments)


def call_text(name: object, arguments: object) -> str:
    """What a native tool call says in the JSON protocol, right or not: one line."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


@lru_cache(maxsize=2048)
def parse_call(text: str) -> Call:
    """Exactly one call. Raises CallError with a short reason; refuses duplicate keys, NaN and deep nesting."""
    if len(text) > LONGEST:
        raise CallError(f"longer than {LONGEST} characters")
    try:
        body = json.loads(_unwrapped(text), object_pairs_hook=_pairs, parse_constant=_constant)
    except CallError:
        raise
    except (ValueError, RecursionError) as error:
        raise CallError(f"not one JSON object: {str(error)[:80]}") from error
    if not isinstance(body, dict) or set(body) != {"name", "arguments"}:
        raise CallError("not an object with exactly name and arguments")
    _check(body, 0)
    name, given = body["name"], body["arguments"]
    wanted = {ASK: {"question"}, PLAN: {"plan"}, INFO: set()}.get(name) if isinstance(name, str) else None
    if wanted is None:
        raise CallError("name is none of the three tools")
    if not isinstance(given, dict) or set(given) != wanted:
        raise CallError(f"arguments are not exactly {sorted(wanted)}")
    if name == ASK:
        return Call(name, question=_question(given["question"]))
    return Call(name, plan=_plan(given["plan"])) if name == PLAN else Call(name)


def _unwrapped(text: str) -> str:
    """What stands between the marks of a native call; a text with neither mark as it is."""
    inner = text.strip()
    if inner.startswith(OPEN) and inner.endswith(CLOSE):
        return inner[len(OPEN) : -len(CLOSE)]
    return text


def parse_action(text: str) -> Action:
    """The call as an action of the system; Invalid where it breaks the protocol."""
    try:
        call = parse_call(text)
    except CallError as error:
        return Invalid(str(error))
    if call.name == ASK:
        return Ask(call.question)
    if DECLINE in call.plan:
        return Refuse(str(call.plan[DECLINE]))
    return Act(call.name, FrozenMap({"plan": json.dumps(dict(call.plan), sort_keys=True)}))


def _question(question: object) -> str:
    if not isinstance(question, str) or not question.strip():
        raise CallError("question is not a text with words")
    if len(question) > LONGEST_QUESTION:
        raise CallError(f"question is longer than {LONGEST_QUESTION} characters")
    return question


def _plan(plan: object) -> Mapping[str, Any]:
    if not isinstance(plan, dict):
        raise CallError("plan is not an object")
    assumed = plan.get(ASSUMPTIONS, [])
    if not isinstance(assumed, list) or not all(isinstance(name, str) for name in assumed):
        raise CallError("assumptions are not a list of keys")
    if len(set(assumed)) != len(assumed):
        raise CallError("assumptions name a key twice")
    if DECLINE in plan and (len(plan) > 1 or not isinstance(plan[DECLINE], str) or not plan[DECLINE].strip()):
        raise CallError("decline is not a text with words, alone in its plan")
    return plan


def _check(value: Any, depth: int) -> None:
    """What a JSON parser lets through and a record could not hold."""
    if depth > DEEPEST:
        raise CallError(f"nested deeper than {DEEPEST} levels")
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        _check(each, depth + 1)
    if isinstance(value, float) and not math.isfinite(value):
        raise CallError("a number is too large")
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise CallError("a text holds half a surrogate pair")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise CallError("duplicate keys")
    return found


def _constant(name: str) -> Any:
    raise CallError(f"{name} is not JSON")
