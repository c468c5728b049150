"""Calls as text: one JSON object `{"name": ..., "arguments": {...}}` a turn, and nothing around it.

A call stands bare or between `<tool_call>` and `</tool_call>`, which is how the chat templates of the Qwen and Hermes
families write one and what their models were trained to say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askfirst.values import FrozenMap

OPEN, CLOSE = "<tool_call>", "</tool_call>"
ASK = "ask_question"  # asks the user, in every environment of calls
LONGEST, LONGEST_QUESTION, DEEPEST = 8000, 400, 4


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


def schema(**properties: Mapping[str, Any]) -> FrozenMap:
    """The JSON schema of arguments that are all required, and no others."""
    body = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return FrozenMap(body)


class CallError(ValueError):
    """The text is not exactly one call."""


def call_text(name: object, arguments: object) -> str:
    """What a native tool call says in the JSON protocol, right or not: one line."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def read_call(text: str) -> tuple[Any, Any]:
    """Name and arguments of exactly one call, whatever they are. Raises CallError with a short reason; refuses
    duplicate keys, NaN, deep nesting and what a record could not hold."""
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
    return body["name"], body["arguments"]


def question_of(question: object) -> str:
    """A question as it may stand in a call. Raises CallError."""
    if not isinstance(question, str) or not question.strip():
        raise CallError("question is not a text with words")
    if len(question) > LONGEST_QUESTION:
        raise CallError(f"question is longer than {LONGEST_QUESTION} characters")
    return question


def _unwrapped(text: str) -> str:
    """What stands between the marks of a native call; a text with neither mark as it is."""
    inner = text.strip()
    if inner.startswith(OPEN) and inner.endswith(CLOSE):
        return inner[len(OPEN) : -len(CLOSE)]
    return text


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
