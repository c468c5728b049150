"""What a published fixture expects, made into a truth: one annotation word becomes a slot and the ways to name it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from askfirst.envs.judgment._screen import distinct_labels
from askfirst.replies import SLOT_NAMES, SLOTS, Truth

# Nouns of an annotation that say which slot is missing; every other noun is a target.
_NOUNS = {
    "recipient": "recipient recipients who whom person people contact contacts attendee attendees guest guests address",
    "time": "time when date day hour deadline start",
    "app": "app apps application program",
    "content": "content text message body subject title wording words caption query input name",
    "quantity": "quantity amount duration number count level volume percentage percent length size speed brightness",
}
_SLOT_OF = {noun: slot for slot, nouns in _NOUNS.items() for noun in nouns.split()}
_PHRASE = re.compile(r"\b(?:the|my|that|this|those|these) ((?:[a-z]+ ?)+)")
_PREPOSITIONS = frozenset("to on in with for from about of at by into and please now again".split())
_WHICH = re.compile(r"^(?:which|what) (?:of the )?(.+)$")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a fixture says: the request, the intent, the literal annotations, the elements as (role, label, text)."""

    said: str
    intent: str
    topic: str
    target: str
    elements: tuple[tuple[str, str, str], ...]


def derived(expected: Expected) -> Truth:
    """The truth that follows from what a published fixture says."""
    intent, topic, target, elements = expected.intent, expected.topic, expected.target, expected.elements
    if intent == "confirm_destructive":
        return Truth(intent, target=_forms(target), confirm_target=target, topic=topic)
    if intent != "clarify":
        return Truth(intent, topic=topic, confirm_target=target)
    which = _WHICH.match(topic.lower())
    noun = which.group(1) if which else ""
    slot = slot_of(topic)
    candidates = _candidates(noun, elements) if noun else ()
    nouns = tuple(dict.fromkeys([noun, *_said_nouns(expected.said)])) if noun else ()
    return Truth(intent, slot, _names(slot, topic.lower(), nouns, bool(elements)), candidates, topic=topic)


def slot_of(topic: str) -> str:
    """The slot that an annotation such as `duration` or `which printer` is about."""
    lowered = topic.lower().strip()
    if lowered in SLOTS:
        return lowered
    which = _WHICH.match(lowered)
    if which:  # a message, title or name to choose from is a thing on the screen, not a text to be given
        slot = _SLOT_OF.get(which.group(1).split()[-1], "target")
        return "target" if slot in ("content", "quantity") else slot
    return next((_SLOT_OF[word] for word in re.findall(r"[a-z]+", lowered) if word in _SLOT_OF), "target")


def _said_nouns(said: str) -> list[str]:
    """The nouns that a request itself uses for a thing: the last words of `the store page`, `my meeting`."""
    found = []
    for phrase in _PHRASE.findall(said.lower()):
        words = list(takewhile(lambda word: word not in _PREPOSITIONS, phrase.split()))
        found += words[-1:]
    return found


def _names(slot: str, topic: str, nouns: tuple[str, ...], has_elements: bool) -> tuple[str, ...]:
    others = {name for other, names in SLOT_NAMES.items() if other != slot for name in names}
    own = [f"{w} {noun}" for noun in nouns for w in ("which", "what")] if nouns else [topic] if topic else []
    if slot == "target" and not has_elements:
        own.append("which one")  # with nothing to choose from, this asks what is meant
    return tuple(dict.fromkeys([*SLOT_NAMES[slot], *(name for name in own if name not in others)]))


def _candidates(noun: str, elements: Sequence[tuple[str, str, str]]) -> tuple[tuple[str, ...], ...]:
    """The elements that the noun fits, by what they say of themselves; all of them where none says so."""
    fitting = [e for e in elements if any(noun in part.lower() for part in e)] or list(elements)
    labels = [label for _, label, _ in fitting if label]
    return distinct_labels(labels) if len(labels) > 1 else ()


def _forms(target: str) -> tuple[str, ...]:
    """The annotation in singular and plural."""
    if not target:
        return ()
    if target.endswith("s") and len(target) > 3:
        return (target, target[:-1])
    return (target, f"{target}s") if target[-1].isalpha() and not target.endswith(("y", "h", "x", "z")) else (target,)
