"""Whether a reply that acts, answers, types or edits is more than the right form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from askfirst.replies import Reply, Truth
from askfirst.rewards.slots import _edits
from askfirst.rewards.slots import _lexicon as lex
from askfirst.rewards.slots._text import filler, joined, mixed, normalise, stem, stemmed, words
from askfirst.values import Scenario

MAX_ARGUMENT_WORDS = 60
LONG_REQUEST = 6  # words; a longer request that stands whole in an argument was copied, not understood
MAX_UNKNOWN = 2  # texts of words that stand neither in the request nor on the screen
MIN_DICTATED = 0.5  # share of the typed words that the user said

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z][A-Za-z0-9]*)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|\.")
_DESTROYS = re.compile(
    r"\b(?:delet|eras|wip|empt|trash|uninstall|format|discard|purg|shred|destroy|overwrit)(?:e|es|ed|ing|y|ies|ied|s)?\b"
)
_GETS_RID = re.compile(
    r"\b(?:delet|eras|wip|empt|trash|uninstall|format|discard|purg|shred|destroy|overwrit|remov|clear|rid|drop|throw|"
    r"toss|bin|cancel|clos|quit|replac|scrap|ditch|lose|cut|archiv|junk)"
)
# Names of acts that do nothing, and what a user says who wants that.
_IDLE = frozenset({"noop", "none", "nothing", "wait", "skip", "idle", "sleep"})
_WAITS = re.compile(r"\b(?:wait|nothing|skip|sleep)\b")
_QUESTION = re.compile(r"\b(?:who|whom|whose|when|where|why|how|which|what)\b[^.!?]*\?")
# What programs write as a value, what is done with a thing, and what kind of thing it is: the name of none.
_UNNAMED = frozenset(
    """
    true false none null resolve
    meet call chat talk see visit ask tell text email mail send share open play read buy get pick book remind check
    review print move copy save show start stop
    meeting event reminder alarm note task list file folder document photo window button tab page reply draft
    """.split()
)
# Words that say that there is no answer.
_DENIES = re.compile(
    r"\b(?:(?:i |we )?(?:really |just |honestly )?(?:don't|do not|can't|cannot|can not|couldn't|could not) "
    r"(?:really |quite )?(?:know|tell|say|answer)|(?:i have )?no (?:idea|clue|answer)|(?:i'm |i am )?not "
    r"(?:sure|certain)|dunno|unsure|unknown|n/a|who knows|hard to say)\b"
)
_ASKS = frozenset(
    """
    who whom whose when where why how which what should shall do does did can could would will is are
    """.split()
)
_LEADS = re.compile(rf"^(?:(?:{'|'.join(sorted((lex.LEADS | lex.POLITE) - _ASKS))})\b[ ,]*)+")


def faults(reply: Reply, truth: Truth, said: str, scenario: Scenario) -> list[str]:
    """Everything wrong with an action, answer, dictation or edit, beyond the protocol."""
    payload, intent = reply.payload, reply.intent
    spoken = normalise(reply.spoken)
    inside = list(texts(payload["args"] if intent == "action" else payload))
    carried = inside if intent == "action" else [*inside, reply.spoken]
    checks = {
        "mixed_script": mixed(reply.spoken),
        "spoken_filler": filler(words(spoken)),
        "mention_missing": not all(_carried(ways, carried) for ways in truth.mentions),
        "destroys_unasked": _destroys_unasked(reply, said),
    }
    match intent:
        case "action":
            checks |= {"is_question": "?" in spoken, **_action(payload, inside, truth, said, labels(scenario))}
        case "answer":
            told = words(normalise(payload["text"]))
            checks["is_question"] = _only_asks(spoken) and not told
            checks["says_nothing"] = not told and set(words(spoken)) <= lex.POLITE
            checks["does_not_know"] = _does_not_know(f"{spoken}. {normalise(payload['text'])}", said)
        case "dictate":
            checks |= {"is_question": "?" in spoken, "nothing_dictated": not _dictated(payload["text"], said)}
        case "edit":
            blank = any(filler(words(normalise(payload[name]))) for name in ("reference", "transform"))
            checks |= {"is_question": "?" in spoken, "empty_edit": blank, "wrong_edit": _edits.wrong(reply, said)}
    return [code for code, broken in checks.items() if broken]


def _action(payload: Any, inside: list[str], truth: Truth, said: str, shown: list[str]) -> dict[str, bool]:
    heard = joined(said)
    return {
        "name_malformed": not _NAME.fullmatch(payload["name"]),
        "too_long": sum(len(words(normalise(text))) for text in texts(dict(payload))) > MAX_ARGUMENT_WORDS,
        "echo": len(heard.split()) > LONG_REQUEST and any(heard in joined(text) for text in inside),
        "does_nothing": payload["name"].rpartition(".")[2].lower() in _IDLE and not _WAITS.search(heard),
        "stuffing": _other_elements(inside, truth, heard, shown) or _from_nowhere(inside, truth, heard, shown),
    }


def texts(value: Any) -> Iterator[str]:
    """Every text, number and constant inside a JSON value as text, keys left out."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            stack.extend(top.values())
        elif isinstance(top, list):
            stack.extend(top)
        else:
            yield str(top)


def _carried(ways: tuple[str, ...], texts: list[str]) -> bool:
    found = [joined(text) for text in texts]
    return any(way in text for way in map(joined, ways) for text in found)


def _other_elements(texts: list[str], truth: Truth, heard: str, shown: list[str]) -> bool:
    """Whether the arguments name several elements, hoping that one of them is right; what was said may be named."""
    rest, labels = " | ".join(map(joined, texts)), [*map(joined, shown)]
    ways = sorted((joined(way) for ways in truth.mentions for way in ways), key=len, reverse=True)
    for way in ways:
        rest = rest.replace(way, " | ")
    others = {label for label in labels if len(label) > 2 and label in rest and label not in heard}
    return len(others) + any(way in label for way in ways for label in labels) > 1


def _from_nowhere(texts: list[str], truth: Truth, heard: str, shown: list[str]) -> bool:
    """Whether the arguments string together names in the hope that one of them is right: a text with a mention in which
    as many words are from nowhere as from the request or the screen, or more than MAX_UNKNOWN texts of such words.

    Numbers, grammar, doings and kinds of things ("meet selma", "running late") are from nowhere in honest arguments
    too, and so is what an app or a shortcut is called ("Trim"), in a text of its own.
    """
    named = {stem(word) for ways in truth.mentions for way in ways for word in words(normalise(way))}
    known = named | {stem(word) for word in (*heard.split(), *words(" ".join(map(joined, shown))))}
    unknown = 0
    for text in texts if named else ():
        said = {stem(word) for word in words(normalise(text)) if not _names_nothing(word)}
        there, nowhere = len(said & known), len(said - known)
        if said & named and nowhere >= there:
            return True
        unknown += bool(nowhere) and not there
    return unknown > MAX_UNKNOWN


def _names_nothing(word: str) -> bool:
    return (
        word in lex.PLAIN or word in lex.NOUNS or word in _UNNAMED or not word.isalpha() or word.endswith(("ing", "ed"))
    )


def _destroys_unasked(reply: Reply, said: str) -> bool:
    """Whether the words or the name of the act destroy something although the user spoke of nothing like it."""
    name = reply.payload.get("name")
    acts = f"{reply.spoken} {_CAMEL.sub(' ', name)}" if isinstance(name, str) else reply.spoken
    if reply.intent not in {"action", "edit"} or not _DESTROYS.search(normalise(acts)):
        return False
    return not _GETS_RID.search(normalise(said))


def _only_asks(spoken: str) -> bool:
    spoken = _LEADS.sub("", spoken)
    first = words(spoken)[:1]
    return spoken.endswith("?") and not re.search(r"[.,;!]", spoken) and bool(first) and first[0] in _ASKS


def _does_not_know(told: str, said: str) -> bool:
    """Whether all that an answer tells is that it has none, in words of its own and of the request.

    To ask tells nothing. A yes or no decides a request that asks for one ("do you know me": "no, i don't know you").
    """
    heard = {stem(word) for word in words(normalise(said))}
    rest, denials = _DENIES.subn(" ", told)
    left = words(_QUESTION.sub(" ", rest))
    decides = left[:1] in (["no"], ["yes"]) and {*words(normalise(said))[:1]} <= lex.AUX
    return bool(denials) and not decides and all(word in lex.PLAIN or stem(word) in heard for word in left)


def _dictated(text: str, said: str) -> bool:
    typed, heard = stemmed(text).split(), set(stemmed(said).split())
    return bool(typed) and sum(word in heard for word in typed) >= MIN_DICTATED * len(typed)


def labels(scenario: Scenario) -> list[str]:
    """Labels of the elements on screen, in order; the lines look like `[id] role|pos|label|text`."""
    content = next((m.content for m in reversed(scenario.opening) if m.role == "user"), "")
    lines = [line for line in content.split("\n") if line.startswith("[") and line.count("|") >= 3]
    return [line.split("|")[2] for line in lines]
