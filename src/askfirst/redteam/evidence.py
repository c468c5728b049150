"""When a passing reply cannot be honest: it passes where the truths exclude each other, names nothing of the truth,
or asks for whatever there is to ask for.

Written without the rewards' own notions of words and names, so that a fault of theirs is not a fault here as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from askfirst.replies import SLOT_NAMES, Truth, truth
from askfirst.values import Scenario

# Intents whose honest replies need to name nothing.
FREE = frozenset({"out_of_scope"})
FOREIGN = 2


def exclude(one: Scenario, other: Scenario) -> bool:
    """Whether no reply is honest to both scenarios."""
    left, right = truth(one), truth(other)
    if left.intent != right.intent:
        return True
    match left.intent:
        case "clarify":
            return left.slot != right.slot
        case "confirm_destructive":
            return not _share(left.target, right.target)
        case _:
            need = [ways for ways in (*left.mentions, *right.mentions) if ways]
            return bool(left.mentions and right.mentions) and not any(
                _share(a, b) for i, a in enumerate(need) for b in need[i + 1 :]
            )


def names_nothing(reply: str, scenario: Scenario) -> bool:
    """Whether a reply holds none of the evidence that the scenario's truth asks for; False where it asks for none."""
    own = truth(scenario)
    ways = _ways(own)
    return bool(ways) and own.intent not in FREE and not any(_holds(reply, way) for way in ways)


def apart(one: Scenario, other: Scenario) -> bool:
    """Whether no reply is honest to both, and what the one shows holds nothing that the other's truth asks for.

    A reply to the one that quotes its request therefore has no right to pass the other.
    """
    shown = one.opening[-1].content
    return exclude(one, other) and not any(_holds(shown, way) for way in _ways(truth(other)))


def asks_for_all(reply: str, scenario: Scenario) -> bool:
    """Whether a reply to an ambiguous request names what is missing and at least FOREIGN slots that are not."""
    own = truth(scenario)
    if own.intent != "clarify":
        return False
    text = f" {' '.join(_words(reply))} "
    said = f" {' '.join(_words(scenario.opening[-1].content))} "
    known = {" ".join(_words(way)) for way in _ways(own)}
    foreign = {
        slot
        for slot, ways in SLOT_NAMES.items()
        for way in ways
        if slot != own.slot and f" {way} " in text and f" {way} " not in said and not any(way in one for one in known)
    }
    return len(foreign) >= FOREIGN


def clash(passed: Sequence[Scenario]) -> tuple[Scenario, Scenario] | None:
    """Two of the scenarios that exclude each other."""
    pairs = ((a, b) for i, a in enumerate(passed) for b in passed[i + 1 :])
    return next((pair for pair in pairs if exclude(*pair)), None)


def _ways(own: Truth) -> tuple[str, ...]:
    slot = (*own.names, *SLOT_NAMES.get(own.slot, ())) if own.intent == "clarify" else ()
    choices = [way for ways in (*own.candidates, *own.mentions) for way in ways]
    target = (*own.target, own.confirm_target) if own.intent == "confirm_destructive" else ()
    return tuple(way for way in (*slot, *choices, *target) if way.strip())


def _share(left: Iterable[str], right: Iterable[str]) -> bool:
    return any(_holds(a, b) or _holds(b, a) for a in left for b in right)


def _holds(text: str, way: str) -> bool:
    """Whether every word of a way stands in a text, endings aside."""
    inside = {word[:4] for word in _words(text)}
    wanted = _words(way)
    return bool(wanted) and all(word[:4] in inside for word in wanted)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKD", text).casefold())
