"""The published scorer of the mac-assistant-judgment benchmark, both modes.

It agrees with the original on every recorded case, weak points included, so that numbers can be compared. It differs
in one thing: where the original raises on a reply, it reports a failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from askfirst.replies import Reply
from askfirst.rewards._protocol import truth_of, utterance
from askfirst.values import Scenario

_FENCE_OPENS = re.compile(r"```(?:json)?\s*(?=\{)")
_FENCE_CLOSES = re.compile(r"\}\s*```")
_BRACE = re.compile(r"[{}]")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a fixture of the benchmark expects; an empty text means that the fixture does not say."""

    intent: str
    topic: str = ""
    target: str = ""
    pool: tuple[str, ...] = ()
    utterance: str = ""


def expected(scenario: Scenario) -> Expected:
    """What the literal annotations of a scenario expect."""
    truth = truth_of(scenario)
    return Expected(truth.intent, truth.topic, truth.confirm_target, truth.pool, utterance(scenario))


Mode = Callable[[dict[str, Any], Expected], tuple[str, ...]]


def judge(response: object, expect: Expected, faults: Mode) -> tuple[str, ...]:
    """The failure codes of a raw response, none when it passes; `faults` finds those of an object of the right intent.

    Takes anything and never raises.
    """
    if response is None:
        return ("no_output",)
    body = extract(response)
    if body is None:
        return ("no_json",)
    if stated(body) != expect.intent:
        return ("intent_mismatch",)
    return faults(body, expect)


def intent_of(response: object) -> str:
    """The intent that a raw response states; empty where there is none."""
    body = extract(response)
    found = "" if body is None else stated(body)
    return found if isinstance(found, str) else ""


def stated(body: Mapping[str, Any]) -> Any:
    """The stated intent; nothing stated equals nothing expected."""
    found = body.get("intent")
    return "" if found is None else found


def extract(response: object) -> dict[str, Any] | None:
    """The one candidate object of a response, None where it does not parse.

    A fenced object wins over a bare one; braces are counted without regard to strings.
    """
    if not isinstance(response, str):
        return None
    candidate = _fenced(response) or _balanced(response)
    if candidate is None:
        return None
    try:
        body: dict[str, Any] = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    return body


def _fenced(text: str) -> str | None:
    opens = _FENCE_OPENS.search(text)
    start = opens.end() if opens else len(text)
    closes = _FENCE_CLOSES.search(text, start)
    return text[start : closes.start() + 1] if closes else None


def _balanced(text: str) -> str | None:
    depth = 0
    start = text.find("{")
    for brace in _BRACE.finditer(text, max(start, 0)):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[start : brace.end()]
    return None


def reply(spoken: str, intent: str, **payload: Any) -> str:
    """A reply of the protocol as text."""
    return Reply(spoken, intent, payload).text()
