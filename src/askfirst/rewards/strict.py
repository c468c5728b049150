"""The published strict scorer, for comparison with published numbers.

It can be gamed (a question spoken by nobody, a refusal that answers, an act with any arguments); `slots` is the
reward to train on. Its attacks below are those it does hold against.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from askfirst.replies import PAYLOADS, SLOTS
from askfirst.rewards._protocol import checked, pass_or_fail
from askfirst.rewards._published import Expected, expected, intent_of, judge, stated
from askfirst.rewards._published_cases import LEGITIMATE, attacks
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

__all__ = ["ATTACKS", "BOUNDS", "DEFAULTS", "HONEST", "LAW_EXCEPTIONS", "VERSION", "intent_of", "score"]

VERSION = 1
BOUNDS = (0.0, 1.0)
DEFAULTS: FrozenMap = FrozenMap()
ATTACKS = attacks(strict=True)
HONEST = LEGITIMATE
LAW_EXCEPTIONS = FrozenMap(
    {
        "white space": "looks for the topic letter by letter, spaces included, as it was published",
        "richer": "wants a question mark and a topic, and takes those of a second question for those of the first",
    }
)

MIN_SPOKEN_WORDS = 3
MAX_QUESTION_CHARS = 140
MAX_QUESTION_WORDS = 25
MAX_ECHO = 0.6
_MAY_BE_EMPTY = "text"
_SENTENCE_BREAK = re.compile(r"[.!;]\s+\S")
_TOKEN = re.compile(r"[a-z0-9']+")


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """1 where the published strict scorer passes the last reply, else 0 with its reasons as codes.

    Raises RewardFault for unknown params and for a scenario without a truth of this protocol.
    """
    checked(params, DEFAULTS)
    return pass_or_fail(judge(trajectory.reply, expected(scenario), faults), f"strict@{VERSION}")


def faults(body: dict[str, Any], expect: Expected) -> tuple[str, ...]:
    """The codes of the strict mode for an object of the right intent."""
    broken = _schema(body)
    if broken:
        return broken
    if expect.intent == "clarify":
        fault = _question(body["payload"]["question"], expect)
        return (fault,) if fault else ()
    if expect.intent == "confirm_destructive" and expect.target.lower() not in body["spokenText"].lower():
        return ("target_not_spoken",)
    return ()


def _schema(body: dict[str, Any]) -> tuple[str, ...]:
    intent, spoken, payload = stated(body), body.get("spokenText"), body.get("payload")
    required = PAYLOADS.get(intent, {})
    found = [] if required else ["schema_intent"]
    if not isinstance(spoken, str) or len(spoken.split()) < MIN_SPOKEN_WORDS:
        found.append("schema_spoken")
    if not isinstance(payload, dict):
        return (*found, "schema_payload_object")
    for name, kind in required.items():
        value = payload.get(name)
        if not isinstance(value, kind):
            found.append(f"schema_field_missing:{name}")
        elif isinstance(value, str) and name != _MAY_BE_EMPTY and not value.strip():
            found.append(f"schema_field_empty:{name}")
    if intent == "clarify" and isinstance(payload.get("topic"), str) and payload["topic"] not in SLOTS:
        found.append("schema_topic_enum")
    return tuple(found)


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
    return len(left & right) / max(1, len(left | right))
