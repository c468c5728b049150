"""The reply protocol `{spokenText, intent, payload}` and what a reply is judged against.

Environments and rewards both need these facts, so they stand here once.
The protocol is the public v11 schema of the mac-assistant-judgment benchmark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from askfirst.values import Act, Action, Answer, Ask, Confirm, FrozenMap, Invalid, Refuse, Scenario

# Intent → required payload fields and their types.
PAYLOADS: dict[str, dict[str, type]] = {
    "action": {"name": str, "args": dict},
    "answer": {"text": str},
    "dictate": {"text": str},
    "edit": {"reference": str, "transform": str},
    "out_of_scope": {"reason": str},
    "clarify": {"question": str, "topic": str},
    "confirm_destructive": {"action": str, "target": str},
}
OPTIONAL: dict[str, dict[str, type]] = {"action": {"calls": list}, "edit": {"argument": str}}
SAID = "user said: "  # what stands before the request in the message that shows it
MAX_DEPTH = 16  # of objects and lists in one another
MAY_BE_EMPTY = frozenset({"text", "argument"})
SLOTS = ("recipient", "time", "target", "app", "content", "quantity")

# Slot → ways to name it in a question, whatever the request. A scenario adds its own nouns.
SLOT_NAMES: dict[str, tuple[str, ...]] = {
    "recipient": ("who", "whom", "whose", "recipient", "which person", "which contact", "what person", "what address"),
    "time": (
        "when",
        "what time",
        "which time",
        "time",
        "what day",
        "which day",
        "what date",
        "which date",
        "how soon",
        "what hour",
    ),
    "target": (
        "which item",
        "what item",
        "which thing",
        "what thing",
        "what exactly",
        "what should i",
        "what do you want me to",
        "what would you like me to",
        "target",
    ),
    "app": ("which app", "what app", "which application", "what application", "which program", "what program"),
    "content": (
        "what should it say",
        "what should the",
        "what would you like to say",
        "what do you want to say",
        "what to say",
        "content",
        "what text",
        "which text",
        "what message",
        "say what",
        "saying what",
        "what words",
    ),
    "quantity": (
        "how many",
        "how much",
        "how long",
        "how far",
        "how big",
        "how loud",
        "how bright",
        "what number",
        "which number",
        "amount",
        "quantity",
        "duration",
        "what length",
        "what percentage",
        "what level",
        "what size",
    ),
}


@dataclass(frozen=True, slots=True)
class Truth:
    """What a reply to a scenario is judged against; the policy never sees it.

    `names` are the acceptable ways to name the missing slot; `candidates` holds, for each element
    that could be meant, the ways to name it; `target` the ways to name what would be destroyed;
    `mentions` the things an action must carry in its arguments, each as a set of alternatives.
    `topic` and `pool` are the literal annotations that the published scorers compare with.
    """

    intent: str
    slot: str = ""
    names: tuple[str, ...] = ()
    candidates: tuple[tuple[str, ...], ...] = ()
    target: tuple[str, ...] = ()
    mentions: tuple[tuple[str, ...], ...] = ()
    topic: str = ""
    confirm_target: str = ""
    pool: tuple[str, ...] = ()

    def hide(self) -> FrozenMap:
        """As the `hidden` part of a scenario."""
        return FrozenMap(asdict(self))


def truth(scenario: Scenario) -> Truth:
    """The truth of a scenario of this protocol. Raises TypeError when `hidden` is of another kind."""
    return Truth(**dict(scenario.hidden))


class ReplyError(ValueError):
    """The text is not exactly one reply of the protocol."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that satisfies the protocol to the letter."""

    spoken: str
    intent: str
    payload: Mapping[str, Any]

    def text(self) -> str:
        """The reply as one line of JSON, fields in the protocol's order."""
        body = {"spokenText": self.spoken, "intent": self.intent, "payload": dict(self.payload)}
        return json.dumps(body, ensure_ascii=False)


@lru_cache(maxsize=1024)
def parse_reply(text: str) -> Reply:
    """Exactly one JSON object with exactly the protocol's fields, nothing around it.

    Remembered: environment, reward and metrics all read a reply, and in a group many say the same.

    Raises ReplyError with a short reason. Refuses duplicate keys, NaN, infinities and unknown fields.
    """
    if len(text) > 8000:
        raise ReplyError("longer than 8000 characters")
    try:
        body = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except ReplyError:
        raise
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"not one JSON object: {str(error)[:80]}") from error
    if not isinstance(body, dict) or set(body) != {"spokenText", "intent", "payload"}:
        raise ReplyError("not an object with exactly spokenText, intent and payload")
    _check_value(body, 0)
    spoken, intent, payload = body["spokenText"], body["intent"], body["payload"]
    if not isinstance(spoken, str) or not spoken.strip():
        raise ReplyError("spokenText is not a text with words")
    if not isinstance(intent, str) or intent not in PAYLOADS:
        raise ReplyError("intent is not one of the seven")
    if not isinstance(payload, dict):
        raise ReplyError("payload is not an object")
    _check_payload(intent, payload)
    return Reply(spoken, intent, payload)


def parse_action(text: str) -> Action:
    """The reply as an action of the system; Invalid where it breaks the protocol."""
    try:
        reply = parse_reply(text)
    except ReplyError as error:
        return Invalid(str(error))
    payload = reply.payload
    match reply.intent:
        case "clarify":
            return Ask(payload["question"], payload["topic"])
        case "answer":
            return Answer(payload["text"])
        case "out_of_scope":
            return Refuse(payload["reason"])
        case "confirm_destructive":
            return Confirm(payload["action"], payload["target"])
        case "action":
            return Act(payload["name"], FrozenMap({"args": json.dumps(payload["args"], sort_keys=True)}))
        case intent:
            return Act(intent, FrozenMap(payload))


def _check_payload(intent: str, payload: Mapping[str, Any]) -> None:
    required, optional = PAYLOADS[intent], OPTIONAL.get(intent, {})
    unknown = set(payload) - set(required) - set(optional)
    if unknown:
        raise ReplyError(f"payload has unknown fields {sorted(unknown)}")
    for name, kind in {**required, **optional}.items():
        if name not in payload:
            if name in required:
                raise ReplyError(f"payload lacks {name}")
        elif not isinstance(payload[name], kind):
            raise ReplyError(f"payload {name} is not of its type")
        elif kind is str and name not in MAY_BE_EMPTY and not payload[name].strip():
            raise ReplyError(f"payload {name} is blank")
    if intent == "clarify" and payload["topic"] not in SLOTS:
        raise ReplyError("topic is not one of the six slots")


def _check_value(value: Any, depth: int) -> None:
    """What a JSON parser lets through and a record could not hold."""
    if depth > MAX_DEPTH:
        raise ReplyError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_value(key, depth + 1)
            _check_value(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_value(inner, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ReplyError("a number is too large")
    elif isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise ReplyError("a text holds half a surrogate pair")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ReplyError("duplicate keys")
    return found


def _no_constant(name: str) -> Any:
    raise ReplyError(f"{name} is not JSON")
