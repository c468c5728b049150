"""Replies that are not one call, with which cases of rewards break an episode off."""

from __future__ import annotations

from collections.abc import Callable

from askfirst.calls import call_text
from askfirst.retail.calls import Call
from askfirst.retail.oracle import tell
from askfirst.retail.scene_cases import Scene, question

# Name, what is wrong, and what is said in a scene in which an order is to be cancelled.
BROKEN: tuple[tuple[str, str, Callable[[Scene], str]], ...] = (
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
    ("list-of-arguments", "arguments of a tool that are a list", lambda at: call_text("think", ["a"])),
    ("name", "a name that is a number", lambda at: call_text(1, {})),
    ("names", "a name that is a list", lambda at: call_text(["think"], {})),
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
