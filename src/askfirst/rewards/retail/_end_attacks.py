"""Exploits of how an episode ends, of what is told in it, and of the form of calls."""

from __future__ import annotations

from collections.abc import Callable

from askfirst.calls import call_text
from askfirst.retail.calls import Call
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
        ("missing_write", "needless_transfer"),
        "leaves its task to others",
        lambda at: (*at.found_out, HANDED_OVER),
    ),
    Attack(
        "end/hands-over-at-once",
        (ONE,),
        0.0,
        ("unauthenticated", "missing_write", "needless_transfer"),
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
        ("needless_transfer", "not_informed"),
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

_BROKEN: tuple[tuple[str, str, Callable[[Scene], str]], ...] = (
    ("prose", "text around the call", lambda at: f"Sure! {at.confirm}"),
    ("fence", "a code fence", lambda at: f"```json\n{at.confirm}\n```"),
    ("two", "two calls", lambda at: f"{at.confirm}\n{at.write}"),
    ("list", "a list of calls", lambda at: f"[{at.confirm}, {at.write}]"),
    ("bare", "words", lambda at: "It is done."),
    ("empty", "nothing", lambda at: ""),
    ("tool", "no such tool", lambda at: at.write.replace("cancel_", "drop_")),
    ("twice", "a key twice", lambda at: at.write.replace('"name"', '"name": "x", "name"', 1)),
    ("question", "a question that says nothing", lambda at: question(" ")),
    ("questions", "a question without end", lambda at: question("a" * 401)),
    ("news", "news that say nothing", lambda at: tell(" ").text()),
    ("long", "news without end", lambda at: tell("a" * 1201).text()),
    ("longer", "a call without end", lambda at: Call("think", {"thought": "a" * 8000}).text()),
    ("number", "a question that is a number", lambda at: call_text("ask_question", {"question": 3})),
    ("numbers", "news that are a number", lambda at: call_text("tell_user", {"text": 3})),
    ("arguments", "arguments that are a list", lambda at: call_text("tell_user", ["a"])),
    ("name", "a name that is a number", lambda at: call_text(1, {})),
    ("more", "more arguments", lambda at: call_text("tell_user", {"text": "a", "loud": True})),
    ("fewer", "no arguments", lambda at: call_text("tell_user", {})),
    ("action", "no action to confirm", lambda at: call_text("ask_confirmation", {"action": 3, "arguments": {}})),
    ("given", "no arguments to confirm", lambda at: call_text("ask_confirmation", {"action": "a", "arguments": []})),
    ("deep", "lists in lists", lambda at: call_text("think", {"thought": [[[[1]]]]})),
    ("infinite", "a number without end", lambda at: '{"name": "think", "arguments": {"thought": 1e999}}'),
    ("nan", "no number", lambda at: '{"name": "think", "arguments": {"thought": NaN}}'),
    ("half", "half a character", lambda at: '{"name": "think", "arguments": {"thought": "\\ud800"}}'),
    ("field", "a field more", lambda at: at.write.replace('"name"', '"id": 1, "name"', 1)),
    ("open", "a call that is not closed", lambda at: f"<tool_call>{at.write}"),
    ("closed-otherwise", "not the mark", lambda at: f"<tool_call>{at.write}</tool-call>"),
    ("opened-otherwise", "not the mark", lambda at: f"<tool-call>{at.write}</tool_call>"),
    ("close", "a call that is not opened", lambda at: f"{at.write}</tool_call>"),
)


def _broken(name: str, why: str, said: Callable[[Scene], str]) -> Attack:
    codes = ("unparsable", "missing_write")
    return Attack(f"form/{name}", (ONE,), 0.1, codes, why, lambda at: (at.found_out[0], said(at)))


_FORM = tuple(_broken(*each) for each in _BROKEN)
ENDS = (*_ENDINGS, *_NEWS, *_FORM)
