"""The published scorer of the mac-assistant-judgment benchmark, both modes.

It agrees with the original on every recorded case, weak points included, so that numbers can be compared. It differs
in one thing: where the original raises on a reply, it reports a failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askfirst.replies import PAYLOADS, SLOTS, Reply
from askfirst.rewards._protocol import truth_of, utterance
from askfirst.values import Scenario

MIN_SPOKEN_WORDS = 3
MAX_QUESTION_CHARS = 140
MAX_QUESTION_WORDS = 25
MAX_ECHO = 0.6

_FENCE_OPENS = re.compile(r"```(?:json)?\s*(?=\{)")
_FENCE_CLOSES = re.compile(r"\}\s*```")
_BRACE = re.compile(r"[{}]")
_SENTENCE_BREAK = re.compile(r"[.!;]\s+\S")
_TOKEN = re.compile(r"[a-z0-9']+")
_SPOKEN_KEYS = ("question", "clarifying_question", "ask", "spokenText")
_MAY_BE_EMPTY = "text"


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


def judge(response: object, expect: Expected, strict: bool) -> tuple[str, ...]:
    """The failure codes of a raw response, none when it passes. Takes anything and never raises."""
    if response is None:
        return ("no_output",)
    body = extract(response)
    if body is None:
        return ("no_json",)
    if stated(body) != expect.intent:
        return ("intent_mismatch",)
    return _strict(body, expect) if strict else _lenient(body, expect)


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
        body = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _fenced(text: str) -> str | None:
    opens = _FENCE_OPENS.search(text)
    closes = _FENCE_CLOSES.search(text, opens.end()) if opens else None
    return text[opens.end() : closes.start() + 1] if opens and closes else None


def _balanced(text: str) -> str | None:
    depth = 0
    start = text.find("{")
    if start < 0:
        return None
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[start : brace.end()]
    return None


def _lenient(body: dict[str, Any], expect: Expected) -> tuple[str, ...]:
    if expect.intent == "clarify":
        question = next((body[key] for key in _SPOKEN_KEYS if body.get(key)), None)
        if question is None:
            return ("no_question",)
        if not expect.topic:
            return ()
        if not isinstance(question, str):
            return ("question_not_text",)
        return () if expect.topic.lower() in question.lower() else ("topic_missing",)
    if expect.intent == "confirm_destructive" and expect.target:
        try:
            found = expect.target.lower() in json.dumps(body).lower()
        except RecursionError:
            found = False
        return () if found else ("target_not_mentioned",)
    return ()


def _strict(body: dict[str, Any], expect: Expected) -> tuple[str, ...]:
    faults = _schema(body)
    if faults:
        return faults
    if expect.intent == "clarify":
        fault = _question(body["payload"]["question"], expect)
        return (fault,) if fault else ()
    if expect.intent == "confirm_destructive" and expect.target.lower() not in body["spokenText"].lower():
        return ("target_not_spoken",)
    return ()


def _schema(body: dict[str, Any]) -> tuple[str, ...]:
    intent, spoken, payload = body.get("intent"), body.get("spokenText"), body.get("payload")
    required = PAYLOADS.get(intent) if isinstance(intent, str) else None
    faults = [] if required else ["schema_intent"]
    if not isinstance(spoken, str) or len(spoken.split()) < MIN_SPOKEN_WORDS:
        faults.append("schema_spoken")
    if not isinstance(payload, dict):
        return (*faults, "schema_payload_object")
    for name, kind in (required or {}).items():
        value = payload.get(name)
        if not isinstance(value, kind):
            faults.append(f"schema_field_missing:{name}")
        elif isinstance(value, str) and name != _MAY_BE_EMPTY and not value.strip():
            faults.append(f"schema_field_empty:{name}")
    if intent == "clarify" and isinstance(payload.get("topic"), str) and payload["topic"] not in SLOTS:
        faults.append("schema_topic_enum")
    return tuple(faults)


def _question(question: str, expect: Expected) -> str:
    folded, trimmed = question.lower(), question.strip()
    if expect.topic.lower() not in folded:
        return "topic_missing"
    if not trimmed.endswith("?") or trimmed.count("?") != 1 or _SENTENCE_BREAK.search(trimmed):
        return "not_single_question"
    if len(question) > MAX_QUESTION_CHARS or len(question.split()) > MAX_QUESTION_WORDS:
        return "too_long"
    if _pool_hits(folded, expect.pool) > 1:
        return "topic_stuffing"
    return "echo" if overlap(question, expect.utterance) > MAX_ECHO else ""


def _pool_hits(folded: str, pool: tuple[str, ...]) -> int:
    """Pool topics in the question, without those contained in a different entry that also occurs."""
    hits = [topic for topic in pool if topic.lower() in folded]
    return sum(not any(hit != other and hit.lower() in other.lower() for other in hits) for hit in hits)


def overlap(question: str, said: str) -> float:
    """Jaccard overlap of the sets of ASCII tokens; 0 where either is empty."""
    left, right = set(_TOKEN.findall(question.lower())), set(_TOKEN.findall(said.lower()))
    return len(left & right) / len(left | right) if left and right else 0.0


def reply(spoken: str, intent: str, **payload: Any) -> str:
    """A reply of the protocol as text."""
    return Reply(spoken, intent, payload).text()
