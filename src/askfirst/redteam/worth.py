"""What an episode of `clarify` may earn at most, by the evidence that its transcript holds.

Evidence for a value is that the opening states it, or has it as a default, or that the user's answer to a question
about its key says it. Without evidence a value is a guess: its worth is that of guesses, whichever value is hidden.

Written from the table of costs in docs/clarify.md and without the code that judges episodes, so that a fault of that
code is not a fault here as well. Where a text can be read in two ways it is read in favour of the policy, so that
what is said here is an upper bound.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, NO, YES, Field
from askfirst.clarify.persona import PERSONAS
from askfirst.clarify.problem import Hidden, Key, Problem, hidden_of
from askfirst.values import Message, Scenario

QUESTIONS, TURNS = 6, 12
LEFT_OUT, ASSUMED, BEYOND = 0.5, 0.6, 2.0  # shares of a price; of doing nothing, for a plan that is no task
ASSUMPTIONS, DECLINE = "assumptions", "decline"
GUESSES = ("unfounded", "unconfirmed", "assumed")  # kinds of entries that nothing tells
TOOLS: Mapping[str, set[str]] = {"ask_question": {"question"}, "propose_plan": {"plan"}, "get_task_info": set()}
_NATIVE = re.compile(r"\s*<tool_call>(.*)</tool_call>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Lack:
    """What an episode lacks or wastes: its price in points, one word for its kind, and what it is."""

    points: float
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Worth:
    """The most that an episode may earn, 1 for the optimum and 0 for doing nothing; and what it lacks, the dearest
    first. `guessed` are the keys of the plan whose hidden value nothing tells."""

    most: float
    lacks: tuple[Lack, ...]
    guessed: tuple[str, ...]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of what it lacks."""
        return frozenset(lack.kind for lack in self.lacks)


@dataclass(slots=True)
class _Reading:
    """What was said up to the end: how much was asked, about what, what was told, and the plan, None without one."""

    count: int = 0
    asked: frozenset[str] = frozenset()
    told: dict[str, str] = field(default_factory=dict)
    plan: Mapping[str, Any] | None = None
    end: str = "makes no plan"


def worth(scenario: Scenario, messages: Sequence[Message]) -> Worth:
    """The worth of an episode. Raises TypeError for a scenario of another environment."""
    hidden = hidden_of(scenario)
    problem, read = hidden.problem, _read(hidden, messages[len(scenario.opening) :])
    nothing = sum(LEFT_OUT * key.price for key in problem.keys)
    paid = float(problem.question * read.count)
    if problem.beyond:
        lack = _beyond(read, nothing)
        found = [lack, Lack(paid, "questions", "asks about what is no task")]
        return _worth(nothing, 0.0, lack.points + paid, found, ())
    clutter = _clutter(hidden, read)
    cost, guessed = paid + clutter, list[str]()
    lacks = [
        Lack(paid, "questions", f"asks about {read.count}"),
        Lack(clutter, "clutter", "keys that nobody wants, or assumptions that are none"),
    ]
    for key in problem.keys:
        own, lack = _key(hidden, read, key)
        cost += own
        lacks.append(lack)
        guessed += [key.name] if lack.kind in GUESSES else []
    if read.plan is None:
        lacks.append(Lack(nothing, "form", read.end))
    return _worth(nothing, least(problem), cost, lacks, tuple(guessed))


def _worth(nothing: float, best: float, cost: float, lacks: Sequence[Lack], guessed: tuple[str, ...]) -> Worth:
    dearest = sorted((lack for lack in lacks if lack.points > 0), key=lambda lack: -lack.points)
    return Worth((nothing - cost) / (nothing - best), tuple(dearest), guessed)


def least(problem: Problem) -> float:
    """The least expected cost of a task: the six questions that save most, as far as they save more than they cost."""
    doubts = [_doubt(key) for key in problem.keys]
    saved = sorted(
        (problem.knows * d - problem.question for d, k in zip(doubts, problem.keys, strict=True) if k.answerable)
    )
    return sum(doubts) - sum(gain for gain in saved[-QUESTIONS:] if gain > 0)


def _doubt(key: Key) -> float:
    """The expected cost of the best entry without an answer."""
    return 0.0 if _known(key) else min(LEFT_OUT * key.price, *(_guess(key, value, True) for value in key.values))


def _known(key: Key) -> str:
    """The value that the opening states, or has as a default; empty without one."""
    return next((value for value, p in zip(key.values, key.chances, strict=True) if p == 1.0), "")


def _guess(key: Key, value: str, declared: bool) -> float:
    """The expected cost of a guess. A yes to what cannot be undone is never one."""
    if key.name == CONFIRM and value == YES:
        return float(key.price)
    return (ASSUMED if declared else 1.0) * (1.0 - key.chances[key.values.index(value)]) * key.price


def _key(hidden: Hidden, read: _Reading, key: Key) -> tuple[float, Lack]:
    """What a key costs, and what is amiss with its entry."""
    doubt, right = _doubt(key), _right(read, key)
    asked = key.answerable and key.name in read.asked and (bool(right) or key.name in hidden.forgets)
    before = (1.0 - hidden.problem.knows if asked else 1.0) * doubt  # what is left to chance, whatever came out
    entry = (read.plan or {}).get(key.name)
    floor = 0.0 if right else doubt
    if entry is None:
        cost = LEFT_OUT * key.price
        return before + cost - floor, Lack(cost - floor, "absent", f"{key.name} is left out")
    said = _says(FAMILIES[hidden.problem.family].field(key.name), entry)
    at, declared = f"{key.name} = {entry!r}", key.name in (read.plan or {}).get(ASSUMPTIONS, ())
    if not said:
        return before + key.price - floor, Lack(key.price - floor, "invalid", f"{at} is no allowed value")
    if right:
        wrong = 0.0 if right in said else float(key.price)
        return before + wrong, Lack(wrong, "against", f"{at} is not what was said, which is {right!r}")
    cost = min(_guess(key, value, declared) for value in said)
    if key.name == CONFIRM and YES in said:
        kind, words = "unconfirmed", f"{at}: nobody said yes to what cannot be undone"
    elif declared:
        kind, words = "assumed", f"{at} is an assumption, and a poor one"
    else:
        what = "stands in no request, answer or default and is not declared as an assumption"
        kind, words = "unfounded", f"{at} {what}"
    return before + cost - floor, Lack(cost - floor, kind, words)


def _right(read: _Reading, key: Key) -> str:
    """The value of a key that an answer, the last one, or the opening tells; empty without one."""
    return read.told.get(key.name) or _known(key)


def _clutter(hidden: Hidden, read: _Reading) -> float:
    """The price of keys that are not wanted, of assumptions about what is known, and of those about nothing."""
    plan, keys = read.plan or {}, {key.name: key for key in hidden.problem.keys}
    assumed = plan.get(ASSUMPTIONS, ())
    strange = set(plan) - set(keys) - {ASSUMPTIONS, DECLINE}
    baseless = [name for name in assumed if name not in keys or plan.get(name) is None]
    fields = FAMILIES[hidden.problem.family]
    needless = [
        name
        for name in assumed
        if name not in baseless and _right(read, keys[name]) in _says(fields.field(name), plan[name])
    ]
    return float(hidden.problem.question * (len(strange) + len(baseless) + len(needless)))


def _beyond(read: _Reading, nothing: float) -> Lack:
    if read.plan is None:
        return Lack(nothing, "form", read.end)
    if DECLINE in read.plan:
        return Lack(0.0, "declined", "declines")
    return Lack(BEYOND * nothing, "beyond", "plans what is no task of the desk")


def _read(hidden: Hidden, said: Sequence[Message]) -> _Reading:
    """An episode turn by turn, up to what ends it."""
    read = _Reading()
    for turn, at in enumerate([i for i, message in enumerate(said) if message.role == "assistant"], start=1):
        call = _call(said[at].content)
        if call is None:
            read.end = "is not one call"
            return read
        if turn > TURNS:
            return read
        if "plan" in call:
            read.plan = call["plan"]
            return read
        if "question" in call:
            answer = said[at + 1].content if at + 1 < len(said) else ""
            about = {
                key.name for key in hidden.problem.keys if _asks(hidden.problem.family, key.name, call["question"])
            }
            told = {name: value for name in about if (value := _told(hidden, read, name, answer))}
            if read.count >= QUESTIONS:
                read.end = "asks more than is allowed"
                return read
            read.count += max(1, len(told))
            read.asked, read.told = read.asked | about, {**read.told, **told}
    return read


def _call(text: str) -> dict[str, Any] | None:
    """The arguments of a call; None where the text is anything but one call."""
    try:
        native = _NATIVE.fullmatch(text)
        body = json.loads(native[1] if native else text, object_pairs_hook=_once)
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()  # numbers without end, halves of characters
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or set(body) != {"name", "arguments"} or not isinstance(body["name"], str):
        return None
    given: Any = body["arguments"]
    if not isinstance(given, dict) or set(given) != TOOLS.get(body["name"]):
        return None
    if "question" in given and not (isinstance(given["question"], str) and given["question"].strip()):
        return None
    return given if "plan" not in given or _sound(given["plan"]) else None


def _sound(plan: Any) -> bool:
    if not isinstance(plan, dict):
        return False
    assumed, why = plan.get(ASSUMPTIONS, []), plan.get(DECLINE, "none")
    listed = isinstance(assumed, list) and all(isinstance(n, str) for n in assumed) and len({*assumed}) == len(assumed)
    return listed and isinstance(why, str) and bool(why.strip()) and (DECLINE not in plan or len(plan) == 1)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _asks(family: str, name: str, question: str) -> bool:
    """Whether a question holds a cue of a key at all; which of several it is about is for others to say."""
    text = " ".join(question.lower().replace("’", "'").replace("_", " ").split())
    return bool(_cues(FAMILIES[family].field(name)).search(text))


@lru_cache(maxsize=256)
def _cues(one: Field) -> re.Pattern[str]:
    ways = [one.cues, one.weak, one.name.replace("_", " "), *(re.escape(value.lower()) for value in one.values)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(way for way in ways if way)})(?!\w)")


def _told(hidden: Hidden, read: _Reading, name: str, answer: str) -> str:
    """The value of a key that an answer tells; empty without one.

    It is the hidden one, where the answer holds that in the user's words. Who changes their mind when asked about what
    was told or stated says another: of several values the last. A yes or no is never changed.
    """
    if name not in hidden.words:
        return ""
    key = hidden.problem.key(name)
    known = read.told.get(name) or (_known(key) if key else "")
    if name == CONFIRM or not (known and PERSONAS[hidden.persona].wavers):
        return hidden.truth[name] if _end(hidden.words[name], answer) else ""
    one, part = FAMILIES[hidden.problem.family].field(name), _part(hidden, name, answer)
    ends = {value: max(_end(way, part) for way in (value, *one.ways(value))) for value in one.values}
    last = max(ends, key=lambda value: ends[value])
    return last if ends[last] else ""


def _part(hidden: Hidden, name: str, answer: str) -> str:
    """What an answer about several keys says about this one."""
    fields = FAMILIES[hidden.problem.family].fields
    headings = "|".join(re.escape(each.noun) for each in fields)
    parts = re.split(rf"(?:^|(?<=\s))({headings}): ", answer, flags=re.IGNORECASE)
    nouns = [noun.lower() for noun in parts[1::2]]
    own = next(each.noun.lower() for each in fields if each.name == name)
    return parts[2 * nouns.index(own) + 2] if own in nouns else answer


def _end(way: str, text: str) -> int:
    """Where the last occurrence of some words ends in a text, in words; 0 where there is none."""
    wanted, words = _words(way), _words(text)
    found = [i + len(wanted) for i in range(len(words)) if wanted and words[i : i + len(wanted)] == wanted]
    return max(found, default=0)


def _says(one: Field, entry: object) -> frozenset[str]:
    """The allowed values that an entry of a plan may be read as."""
    if isinstance(entry, bool):
        entry = YES if entry else NO
    if isinstance(entry, float) and entry.is_integer():
        entry = int(entry)
    return _readings(one).get(_bare(str(entry)), frozenset()) if isinstance(entry, str | int) else frozenset()


@lru_cache(maxsize=256)
def _readings(one: Field) -> Mapping[tuple[str, ...], frozenset[str]]:
    found: dict[tuple[str, ...], set[str]] = {}
    for value in one.values:
        for way in (value, *one.ways(value)):
            found.setdefault(_bare(way), set()).add(value)
    return {way: frozenset(values) for way, values in found.items()}


def _bare(text: str) -> tuple[str, ...]:
    """The words of a text without those that an answer may have around a value, or before one that holds."""
    words = tuple(_words(text))
    while True:
        kept = words
        for before, behind, between in _around():
            kept = kept[len(before) :] if before and kept[: len(before)] == before else kept
            kept = kept[: -len(behind)] if behind and kept[-len(behind) :] == behind else kept
            taken_back = _end(" ".join(between), " ".join(kept))
            kept = kept[taken_back:] if taken_back > len(between) else kept
        if kept == words:
            return words
        words = kept


@lru_cache(maxsize=1)
def _around() -> tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...]:
    """Of each way to answer: the words before a value, behind it, and between one that is taken back and it."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], None] = {}
    for persona in PERSONAS.values():
        between = persona.slip.removeprefix("{a}").removesuffix("{b}")
        for carrier in persona.carriers:
            before, _, behind = carrier.partition("{}")
            found[tuple(_words(before)), tuple(_words(behind)), tuple(_words(between))] = None
    return tuple(found)


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("_", " ").replace("’", "'").replace("'", "")
    return re.findall(r"\w+", plain)
