"""The things the tabular policy can do with a request, each a fixed way to word a reply."""

from __future__ import annotations

import contextlib
from collections.abc import Container

import numpy as np

from askfirst.backends.tabular._request import Request
from askfirst.errors import BackendFault
from askfirst.replies import Reply, ReplyError, parse_reply
from askfirst.values import Floats

# Order is part of the format of saved weights. Names end in the way of wording.
NAMES = (
    "ask recipient", "ask time", "ask target noun", "ask target options", "ask app", "ask app options", "ask content",
    "ask quantity much", "ask quantity long", "ask target any",
    "act best", "act request", "act target", "act given", "act last",
    "answer", "dictate", "edit shorter", "edit request",
    "refuse service", "refuse device", "confirm noun", "confirm rest",
)  # fmt: skip
# How likely each is before anything is learned: a model that mostly acts and seldom asks.
PRIOR = dict.fromkeys(NAMES, 0.01) | {"act best": 0.6, "act request": 0.1, "act target": 0.1, "answer": 0.02}
# What the untrained policy knows: fact of the request, strategy, and what the fact adds to its logit.
LEANINGS = (
    ("lead=talk given=0", "ask recipient", 2.0), ("person=1", "ask recipient", 2.0),
    ("lead=plan time=0", "ask time", 2.5), ("lead=fill content=0", "ask content", 2.0),
    ("lead=amount number=0", "ask quantity much", 2.5), ("lead=program app=0", "ask app", 2.5),
    ("matches=2", "ask target options", 2.5), ("bare=1", "ask target noun", 2.0),
    ("lead=vague", "ask target any", 2.0), ("thing=1", "ask target any", 2.0),
    ("lead=talk given=1", "act best", 3.0), ("meant=1", "act best", 3.0), ("shortcut=1", "act best", 3.0),
    ("lead=plan time=1", "act best", 3.0), ("lead=amount number=1", "act best", 3.0),
    ("lead=program app=1", "act best", 3.0), ("lead=fill content=1", "act best", 3.0),
    ("class destroy", "confirm rest", 4.0), ("class sweep", "confirm rest", 2.0), ("class edit", "edit request", 5.0),
    ("class dictate", "dictate", 5.0), ("class online", "refuse service", 3.5), ("class device", "refuse device", 3.5),
    ("asks=1", "refuse service", 3.0), ("asks=1", "answer", 3.0), ("class screen", "answer", 1.0),
)  # fmt: skip
_QUESTIONS = {
    "ask recipient": "who should it go to?",
    "ask time": "when should that be?",
    "ask content": "what should it say?",
    "ask quantity much": "how much should it be?",
    "ask quantity long": "how long should it be?",
    "ask target any": "which item do you mean exactly?",
}
_ACTIONS = {
    "Mail.draft": "send email mail forward reply share invite tell message write draft text",
    "Reminders.add": "remind reminder",
    "Cal.event": "schedule book calendar meet meeting plan",
    "Notes.create": "note jot",
    "App.launch": "open launch start run",
    "Window.snap": "snap tile",
    "AX.scroll": "scroll",
}


SHOWN = 3.0  # what a reply that the request's notes call right adds to the logit of its strategy


def habits(facts: Container[str], shown: str = "") -> Floats:
    """Logits (K,) of the untrained policy for a request with these facts, beside which a reply may be shown."""
    found = dict(zip(NAMES, np.log([PRIOR[name] for name in NAMES]), strict=True))
    for fact, strategy, weight in LEANINGS:
        if fact in facts:
            found[strategy] += weight
    if shown:
        with contextlib.suppress(BackendFault):  # what is no reply of the protocol suggests nothing
            found[nearest(shown)] += SHOWN
    return np.array(list(found.values()))


def render(name: str, request: Request) -> str:
    """The reply of a strategy to a request, as protocol text."""
    kind, _, way = name.partition(" ")
    match kind:
        case "ask":
            return _ask(name, request)
        case "act":
            return _act(way, request)
        case "answer":
            return _reply("here is what i can see.", "answer", text=request.rest)
        case "dictate":
            return _reply("typing it in now.", "dictate", text=request.rest)
        case "edit":
            transform = "shorter" if way == "shorter" else " ".join(request.core) or "change"
            return _reply("changing that text now.", "edit", reference="selection", transform=transform)
        case "refuse":
            reason = "needs an online service" if way == "service" else "needs another device"
            return _reply(f"sorry, i can't do that, it {reason}.", "out_of_scope", reason=f"the request {reason}")
        case "confirm":
            # What the user waves through ("without asking") is not part of what would be lost.
            rest = request.rest.partition(" without ")[0]
            target = request.noun if way == "noun" else rest
            spoken = f"that will {request.verb or 'remove'} {rest} for good, say yes to confirm."
            return _reply(spoken, "confirm_destructive", action=request.verb or "remove", target=target)
    raise BackendFault(f"no strategy is called {name!r}")


def nearest(text: str) -> str:
    """The strategy that is closest to a reply, by intent, topic and the shape of its payload.

    Raises BackendFault for text that is no reply of the protocol: this policy cannot say it.
    """
    try:
        reply = parse_reply(text)
    except ReplyError as error:
        raise BackendFault(f"the tabular policy says only replies of the protocol: {error}", where=text[:80]) from error
    match reply.intent:
        case "clarify":
            return _nearest_question(str(reply.payload["topic"]), str(reply.payload["question"]))
        case "action":
            keys = set(reply.payload["args"])
            return "act target" if keys == {"target"} else "act best"
        case "edit":
            return "edit shorter" if reply.payload["transform"] == "shorter" else "edit request"
        case "out_of_scope":
            return "refuse device" if "device" in reply.payload["reason"] else "refuse service"
        case "confirm_destructive":
            return "confirm noun" if len(reply.payload["target"].split()) == 1 else "confirm rest"
    return reply.intent


def _nearest_question(topic: str, question: str) -> str:
    options = "," in question or " or " in question
    match topic:
        case "target":
            if "which" not in question or "which item" in question:
                return "ask target any"
            return "ask target options" if options else "ask target noun"
        case "app":
            return "ask app options" if options else "ask app"
        case "quantity":
            return "ask quantity long" if "long" in question else "ask quantity much"
    return f"ask {topic}"


def _ask(name: str, request: Request) -> str:
    topic = name.split()[1]
    match topic:
        case "target" if not name.endswith("any"):
            question = f"which {request.noun} do you mean"
        case "app":
            question = "which app should i use"
        case _:
            question = _QUESTIONS[name].removesuffix("?")
    if name.endswith("options") and len(request.choices) > 1:
        question += f", {_options(request)}"
    return _reply(f"{question}?", "clarify", question=f"{question}?", topic=topic)


def _options(request: Request) -> str:
    """Up to three labels, short enough for one question of 140 characters."""
    labels = [e.label.replace("?", "").strip()[:28] for e in request.choices[:3]]
    return f"{', '.join(labels[:-1])} or {labels[-1]}"


def _act(way: str, request: Request) -> str:
    matched = request.matches or request.elements
    match way:
        case "target":
            args = {"target": matched[0].label if matched else request.rest}
        case "given":
            args = {"to": request.given or request.rest, "request": request.rest}
        case "best":
            args = {"request": request.rest} | ({"target": request.meant.label} if request.meant else {})
        case "last":
            args = {"last": " ".join(request.core[-3:]) or request.rest}
        case _:
            args = {"request": request.rest}
    said = set(request.core)
    name = next((a for a, verbs in _ACTIONS.items() if said & set(verbs.split())), "AX.press")
    return _reply("on it, doing that now.", "action", name=name, args=args)


def _reply(spoken: str, intent: str, **payload: object) -> str:
    return Reply(spoken, intent, payload).text()
