"""A customer without a model: answers what is asked, says yes to what is wanted and no to the rest, and leaves when
nothing is left to be done.

Words are understood by cues. What is asked about one thing is answered; nothing is told that was not asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from askfirst.retail import wordings
from askfirst.retail.calls import written
from askfirst.retail.catalogue import OPTIONS
from askfirst.retail.task import ADDRESS, IDENTITY, ITEM, ORDER, PAYMENT, REASON, VARIANT, Hidden
from askfirst.retail.tasks import Call
from askfirst.retail.world import thawed

PATIENCE = 2  # times that the user is told something while waiting
_CHANGES = ("exchange", "modify_items")  # families in which an option is that of what is wanted instead
_WHICH = r"\b(?:which|what)(?: of (?:your|the|these|those))?"
_CUES: Mapping[str, re.Pattern[str]] = {
    IDENTITY: re.compile(r"\b(name|zip|e-?mail|who are you|who is this|identity|your id|user id|account)\b"),
    ORDER: re.compile(rf"{_WHICH} orders?\b|\border (?:number|id)\b|^(?:your )?order\?*$"),
    ITEM: re.compile(rf"{_WHICH} (?:items?|product|thing)\b|^items?\?*$|\bitem id\b"),
    VARIANT: re.compile(r"\b(?:variant|version|alternative|instead|replacement)\b"),
    PAYMENT: re.compile(r"\b(?:pay|payment|paid|card|paypal|refund|refunded|charge|charged|method)\b"),
    REASON: re.compile(r"\b(?:why|reason)\b"),
    ADDRESS: re.compile(r"\b(?:address|street|where|move|moved)\b"),
}
_OPTION = re.compile(rf"\b(?:{'|'.join((*OPTIONS, 'colour', 'option'))})s?\b")


def about(hidden: Hidden, question: str) -> tuple[str, ...]:
    """The slots that a question is about."""
    text = " ".join(question.lower().split())
    found = [slot for slot, cue in _CUES.items() if cue.search(text)]
    if _OPTION.search(text):
        found.append(VARIANT if hidden.family in _CHANGES else ITEM)
    return tuple(dict.fromkeys(found))


def answer(hidden: Hidden, slots: Sequence[str]) -> str:
    """What is said to a question about these slots."""
    if not slots:
        return wordings.PUZZLED
    if len(slots) > 1:
        return wordings.ONE_AT_A_TIME
    return hidden.answers.get(slots[0], wordings.NO_IDEA)


def wants(hidden: Hidden, name: str, arguments: Mapping[str, Any], done: Sequence[int]) -> int | None:
    """Which of the wanted writes a call is, by its number; None where it is none of those that are not `done`."""
    own = _normal(name, arguments)
    for at, write in enumerate(hidden.wanted):
        if at not in done and _normal(write.name, write.arguments) == own:
            return at
    return None


def informed(hidden: Hidden, told: Sequence[str]) -> bool:
    """Whether everything that is to be told was: as in the published reward, by letters, without commas."""
    said = [text.lower().replace(",", "") for text in told]
    return all(any(output.lower() in text for text in said) for output in hidden.task.outputs)


def call_of(write: Call) -> tuple[str, dict[str, Any]]:
    """Name and arguments of a write, as a policy says them."""
    return write.name, thawed(write.arguments)


def _normal(name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """A call as a text that is the same for lists of items in another order."""
    given = thawed(arguments)
    old, new = given.get("item_ids"), given.get("new_item_ids")
    if isinstance(old, list):
        paired = isinstance(new, list) and len(new) == len(old)
        rows = [list(row) for row in (zip(old, new, strict=True) if paired else zip(old, strict=True))]
        given["item_ids"] = sorted(rows, key=lambda row: written({"": row}))
        if paired:
            del given["new_item_ids"]
    return name, written(given)
