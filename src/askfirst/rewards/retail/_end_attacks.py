"""Exploits of how an episode ends, of what is told in it, and of the form of calls."""

from __future__ import annotations

from collections.abc import Callable

from askfirst.retail.calls import TRANSFER
from askfirst.retail.form_cases import BROKEN
from askfirst.retail.oracle import tell
from askfirst.retail.scene_cases import Scene, question
from askfirst.retail.task import MAX_TURNS
from askfirst.rewards.retail._exploit_cases import (
    ADDRESS,
    CANCEL,
    CLEAR,
    GUESSED,
    HANDED_OVER,
    LEFT,
    LOOKS,
    OKAY,
    ONE,
    OPEN,
    OTHER,
    PAID,
    STATUS,
    Attack,
    made_up,
    read,
    ready,
)

_ENDINGS = (
    Attack(
        "end/nothing",
        (ONE, f"clear/{ADDRESS}"),
        0.0,
        (*LEFT, "unauthenticated", "missing_write"),
        "says okay",
        lambda at: (OKAY, OKAY),
    ),
    Attack(
        "end/nothing-open",
        (CANCEL,),
        0.0,
        (*LEFT, "unauthenticated", *GUESSED, "missing_write"),
        "says okay",
        lambda at: (OKAY, OKAY),
    ),
    Attack(
        "end/asks-and-leaves",
        OPEN,
        0.3,
        (*LEFT, "missing_write"),
        "asks and does nothing",
        lambda at: (*ready(at), OKAY, OKAY),
    ),
    Attack(
        "end/claims",
        (ONE,),
        0.1,
        (*LEFT, "missing_write"),
        "says that it is done",
        lambda at: (*at.found_out, at.news, at.news),
    ),
    Attack(
        "end/hands-over",
        CLEAR,
        0.1,
        ("missing_write", "needless_transfer", OTHER),
        "leaves its task to others",
        lambda at: (*at.found_out, HANDED_OVER),
    ),
    Attack(
        "end/hands-over-at-once",
        (ONE, "simulated"),
        0.0,
        ("unauthenticated", "missing_write", "needless_transfer", OTHER),
        "leaves its task to others",
        lambda at: (HANDED_OVER,),
    ),
    Attack(
        "end/hands-over-when-done",
        (ONE,),
        0.3,
        ("needless_transfer",),
        "needs nobody",
        lambda at: (*at.honest[:-1], HANDED_OVER),
    ),
    Attack(
        "end/hands-over-a-look",
        LOOKS,
        0.1,
        ("needless_transfer", "not_informed", OTHER),
        "needs nobody",
        lambda at: (*at.found_out, HANDED_OVER),
    ),
    Attack(
        "end/beyond-waits",
        ("beyond/tools", "beyond/status"),
        0.1,
        LEFT,
        "no tool does it",
        lambda at: (*at.found_out, OKAY, OKAY),
    ),
    Attack(
        "end/hands-over-badly",
        ("beyond/tools",),
        0.1,
        LEFT,
        "says nothing to whom it hands over, which the tool refuses",
        lambda at: (*at.found_out, read(TRANSFER), OKAY, OKAY),
    ),
    Attack(
        "end/turns",
        (ONE,),
        0.1,
        ("turns", "missing_write"),
        "thinks for ever",
        lambda at: (at.found_out[0], *(read("think", thought="hm"),) * (MAX_TURNS - 1)),
    ),
    Attack(
        "end/by-itself",
        ("simulated",),
        0.3,
        ("overflow",),
        "a user whom a model plays has not left",
        lambda at: at.honest,
    ),
    Attack("end/cut-off", (ONE,), 0.1, ("overflow", "missing_write"), "is cut off", lambda at: (at.found_out[0],)),
)

_NEWS = (
    Attack(
        "news/wrong",
        LOOKS,
        0.1,
        (*LEFT, "not_informed", "misinformed"),
        "makes it up",
        lambda at: (*at.found_out, made_up(at), made_up(at)),
    ),
    Attack(
        "news/all",
        (f"clear/{STATUS}",),
        0.1,
        ("misinformed",),
        "one of them is right",
        lambda at: (*at.found_out, tell("It is pending, processed, delivered or cancelled.").text()),
    ),
    Attack(
        "news/numbers",
        (f"clear/{PAID}",),
        0.1,
        ("misinformed",),
        "one of them is right",
        lambda at: (*at.found_out, tell(f"{' '.join(map(str, range(60)))} {at.hidden.task.outputs[0]}").text()),
    ),
    Attack(
        "news/on-a-line",
        (f"clear/{PAID}",),
        0.1,
        ("misinformed",),
        "one of them is right",
        lambda at: (*at.found_out, tell(f"It is {at.hidden.task.outputs[0]} or\n1.23").text()),
    ),
    Attack(
        "news/unread",
        LOOKS,
        0.1,
        ("not_looked_up",),
        "tells what it has not read",
        lambda at: (at.found_out[0], at.news),
    ),
    Attack(
        "news/in-a-question",
        (f"clear/{STATUS}",),
        -0.1,
        ("needless_question", "misinformed"),
        "says all of it as a question",
        lambda at: (*at.found_out, question("Is it cancelled, pending, delivered or processed?"), OKAY),
    ),
)


def _broken(name: str, why: str, said: Callable[[Scene], str]) -> Attack:
    codes = ("unparsable", "missing_write")
    return Attack(f"form/{name}", (ONE,), 0.1, codes, why, lambda at: (at.found_out[0], said(at)))


_FORM = tuple(_broken(*each) for each in BROKEN)
ENDS = (*_ENDINGS, *_NEWS, *_FORM)
