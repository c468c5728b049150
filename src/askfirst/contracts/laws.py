"""Metamorphic laws: what may not change a score, and what may not raise it.

A law takes a scenario and a reply and changes one of them in a way whose effect on the score is known without knowing
the score. Every reward keeps every law, or declares an exception with its reason:

    LAW_EXCEPTIONS = FrozenMap({"white space": "compares the topic letter by letter, as it was published"})

(`law_exceptions(params)` where that depends on params).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from askfirst.cases import of_protocol, replied
from askfirst.replies import SAID, SLOT_NAMES, SLOTS, Reply, ReplyError, Truth, parse_reply, truth
from askfirst.rollout import Scorer
from askfirst.store import content_hash, generator
from askfirst.values import TOLERANCE, FrozenMap, Scenario, Score

SPOKEN = 3  # different words that a reply speaks to which words are added
PARAPHRASED = 15  # words; a longer text may stand at a limit of length that one more word would cross
Subject = tuple[Scenario, str]  # a scenario and a reply to it
Change = Callable[[Scenario, str, np.random.Generator], Subject | None]

_ELEMENT = re.compile(r"^\[(\d+)\] (.*\|.*\|.*\|.*)$")
_HEADER = "on-screen elements:"
# Fields that a person reads or hears; the others are names for programs.
_WORDED = frozenset({"question", "text", "reason", "target", "reference", "transform", "argument"})
_SPACES = ("  ", "   ", "\t", "\n", "\u00a0")
_LEADS = ("okay", "sure", "alright")
_CONTRACTIONS = (
    *(("what's", "what is"), ("who's", "who is"), ("when's", "when is"), ("i'm", "i am"), ("i'll", "i will")),
    *(("can't", "cannot"), ("don't", "do not"), ("that's", "that is")),
)
_FURNITURE = ("Ruler", "Gridlines", "Minimap", "Scrollbar", "Breadcrumbs", "Splitter", "Status Line")
_ASIDES = ("the battery is at half charge.", "it is a quarter past.", "two updates are ready.")


@dataclass(frozen=True, slots=True)
class Law:
    """A change of a scenario and a reply to it. Its score stays (`same`), or does not rise.

    `change` returns None where the law has nothing to say.
    """

    name: str
    same: bool
    change: Change


@dataclass(frozen=True, slots=True)
class Breach:
    """A subject on which a law is broken, and the scores before and after the change."""

    law: str
    subject: Subject
    changed: Subject
    before: Score
    after: Score

    def __str__(self) -> str:
        codes = ", ".join(self.after.failures) or "passed"
        (where, reply), (elsewhere, changed) = self.subject, self.changed
        return (
            f"law {self.law!r} is broken: {self.before.total:g} became {self.after.total:g} ({codes}) where "
            + (f"{reply!a} became {changed!a}, for " if reply != changed else f"{reply!a} stayed, for ")
            + (f"{_tail(where)} that became {_tail(elsewhere)}" if where != elsewhere else _tail(where))
        )


@dataclass(frozen=True, slots=True)
class Tried:
    """A law tried on `count` subjects, with those that broke it.

    `exception` is the reason for which the reward may break it, empty where it may not.
    """

    law: str
    count: int
    breaches: tuple[Breach, ...]
    exception: str


def subjects(env: ModuleType, scenarios: Sequence[Scenario]) -> tuple[Subject, ...]:
    """Scenarios of an environment, each with its own demonstrations and with one of the scenario after it."""
    shown = [[demonstration.reply for demonstration in env.demonstrations(scenario)] for scenario in scenarios]
    return (
        *((scenario, reply) for scenario, own in zip(scenarios, shown, strict=True) for reply in own),
        *((scenario, later[0]) for scenario, later in zip(scenarios, shown[1:], strict=False) if later),
    )


def survey(
    module: ModuleType,
    among: Sequence[Subject],
    size: int,
    params: Mapping[str, Any] = FrozenMap(),
    only: Sequence[str] = (),
) -> tuple[Tried, ...]:
    """Every law, or `only` some by name, on up to `size` of the subjects, drawn anew for each law.

    Subjects whose scenario is of another protocol are left out. Raises RewardFault where the reward raises.
    """
    reasons, found = exceptions(module, params), []
    scorer = Scorer(module, params)
    among = [(scenario, reply) for scenario, reply in among if of_protocol(scenario)]
    for law in [BY_NAME[name] for name in only or BY_NAME]:
        rng = generator("laws", law.name)
        breaches, count = [], 0
        for at in rng.permutation(len(among)).tolist():
            scenario, reply = among[at]
            changed = law.change(scenario, reply, rng)
            if changed is None:
                continue
            count += 1
            broken = breach(scorer, law, among[at], changed)
            breaches += [broken] if broken else []
            if count == size:
                break
        found.append(Tried(law.name, count, tuple(breaches), reasons.get(law.name, "")))
    return tuple(found)


def breach(scorer: Scorer, law: Law, subject: Subject, changed: Subject) -> Breach | None:
    """The breach where the scores of a subject and the changed one break the law. Raises RewardFault."""
    before, after = (scorer.score(where, replied(where, reply)) for where, reply in (subject, changed))
    rises = after.total - before.total
    if rises > TOLERANCE or (law.same and (rises < -TOLERANCE or before.passed != after.passed)):
        return Breach(law.name, subject, changed, before, after)
    return None


def faults(module: ModuleType, found: Sequence[Tried], params: Mapping[str, Any] = FrozenMap()) -> Iterator[str]:
    """Laws that are broken without an exception, and exceptions that are none, in words."""
    for each in found:
        if each.breaches and not each.exception:
            yield f"{each.breaches[0]} ({len(each.breaches)} of {each.count})"
    for name, reason in exceptions(module, params).items():
        if name not in BY_NAME:
            yield f"there is no law {name!r} to make an exception of; the laws are {', '.join(BY_NAME)}"
        elif not str(reason).strip():
            yield f"the exception of law {name!r} has no reason"


def exceptions(module: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> Mapping[str, str]:
    """The laws that a reward does not keep by its own word, each with the reason."""
    found: Mapping[str, str] = (
        module.law_exceptions(params)
        if hasattr(module, "law_exceptions")
        else getattr(module, "LAW_EXCEPTIONS", FrozenMap())
    )
    return found


def case(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """The worded texts in other case: all capitals, capitals at words, or letter by letter."""
    how = int(rng.integers(3))

    def change(text: str) -> str:
        if how == 0:
            return _upper(text)
        if how == 1:
            return " ".join(_upper(word[:1]) + word[1:] for word in text.split(" "))
        return "".join(_upper(c) if up else c for c, up in zip(text, rng.random(len(text)) < 0.5, strict=True))

    return _reworded(scenario, reply, change)


def white_space(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """The worded texts with other white space around them and between their words."""

    def change(text: str) -> str:
        parts = re.split(r"( )", text)
        wide = "".join(_pick(rng, _SPACES) if part == " " and rng.random() < 0.5 else part for part in parts)
        return _pick(rng, _SPACES) + wide + _pick(rng, _SPACES)

    return _reworded(scenario, reply, change)


def paraphrase(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """What is said in other words of the same meaning: contracted or not, or with a word of courtesy before it."""
    told = _read(reply)
    if told is None or told.intent == "dictate" or not _says_something(told):
        return None
    pairs = [(a, b) for one in _CONTRACTIONS for a, b in (one, one[::-1]) if re.search(rf"\b{a}\b", told.spoken)]
    if pairs and rng.random() < 0.7:
        old, new = pairs[int(rng.integers(len(pairs)))]
        return _reworded(scenario, reply, lambda text: re.sub(rf"\b{old}\b", new, text), ("question",))
    long = len(told.spoken.split()) > PARAPHRASED
    courteous = told.spoken.lower().startswith(_LEADS)
    if long or courteous or not told.spoken[:1].isalpha() or told.payload.get("question", told.spoken) != told.spoken:
        return None
    lead = _pick(rng, _LEADS)
    return _reworded(scenario, reply, lambda text: f"{lead}, {text}", ("question",))


def poorer(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """A reply of the right intent without something that it needs: a field, its words, or what it must name."""
    told, own = _read(reply), truth(scenario)
    if told is None or told.intent != own.intent or scenario.ambiguous != (own.intent == "clarify"):
        return None
    payload = dict(told.payload)
    match int(rng.integers(3)):
        case 0:
            gone = _pick(rng, ["spokenText", *(f for f in payload if f not in {"calls", "argument"})])
            body: dict[str, Any] = {"spokenText": told.spoken, "intent": told.intent, "payload": payload}
            (body if gone == "spokenText" else payload).pop(gone)
            return scenario, json.dumps(body, ensure_ascii=False)
        case 1:
            return scenario, Reply(" ", told.intent, payload).text()
        case _:
            ways = _ways(own)
            return _everywhere(scenario, told, lambda text: _without(text, ways)) if ways else None


def richer(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """A reply that also asks for something that is not missing."""
    own, told = truth(scenario), _read(reply)
    if told is None or not _says_something(told):
        return None
    alike = {"time", "quantity"} if own.slot in {"time", "quantity"} else {own.slot}
    slot = _pick(rng, [slot for slot in SLOTS if slot not in alike])
    return _reworded(scenario, reply, lambda text: f"{text} and {SLOT_NAMES[slot][0]}?", ("question",))


def order(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """The elements on the screen in another order with other numbers, the reply's references likewise; and what the
    truth lists in another order too."""
    lines = _lines(scenario)
    elements = [i for i, line in enumerate(lines) if _ELEMENT.match(line)]
    if len(elements) < 2:
        return None
    numbers = rng.permutation(3 * len(elements))[: len(elements)].tolist()
    renamed, shown = {}, [lines[i].split(" ", 1) for i in rng.permutation(elements)]
    for at, (number, rest) in zip(elements, shown, strict=True):
        renamed[number] = f"[{numbers.pop()}]"
        lines[at] = f"{renamed[number]} {rest}"
    shuffled = FrozenMap(
        {
            name: tuple(value[i] for i in rng.permutation(len(value))) if isinstance(value, tuple) else value
            for name, value in scenario.hidden.items()
        }
    )
    changed = re.sub(r"\[\d+\]", lambda match: renamed.get(match[0], match[0]), reply)
    return replace(_showing(scenario, lines), hidden=shuffled), changed


def distractor(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """A piece of window furniture or an aside that nobody speaks of, added to what is shown.

    An answer may be about whatever is shown, so there the law says nothing.
    """
    own = truth(scenario)
    taken = f"{scenario.opening[-1].content} {reply} {own}".lower()
    label, aside = _pick(rng, _FURNITURE), _pick(rng, _ASIDES)
    if own.intent == "answer" or label.lower() in taken or aside in taken:
        return None
    lines = _lines(scenario)
    numbers = [int(match[1]) for line in lines if (match := _ELEMENT.match(line))]
    said = next((i for i, line in enumerate(lines) if line.startswith(SAID)), None)
    if said is None:
        return None
    if rng.random() < 0.3:
        lines.insert(0, aside)
    elif numbers:
        at = next(i for i, line in enumerate(lines) if _ELEMENT.match(line)) + int(rng.integers(len(numbers) + 1))
        lines.insert(at, f"[{max(numbers) + 1}] toolbar|10,10|{label}|")
    else:
        lines[said:said] = [_HEADER, f"[0] toolbar|10,10|{label}|", ""]
    return _showing(scenario, lines), reply


def provenance(scenario: Scenario, reply: str, rng: np.random.Generator) -> Subject | None:
    """The same request from another split, template and draw: nothing that a reply could be judged by."""
    mark = str(int(rng.integers(1 << 30)))
    split = _pick(rng, [s for s in ("train", "dev", "sealed") if s != scenario.split])
    moved = replace(scenario, id=content_hash(mark)[:16], split=split, template=mark, values=(mark,), twin=mark)
    return moved, reply


LAWS = (
    Law("case", True, case),
    Law("white space", True, white_space),
    Law("paraphrase", True, paraphrase),
    Law("poorer", False, poorer),
    Law("richer", False, richer),
    Law("order", True, order),
    Law("distractor", True, distractor),
    Law("provenance", True, provenance),
)
BY_NAME = FrozenMap({law.name: law for law in LAWS})


def _pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]


def _upper(text: str) -> str:
    """ASCII capitals: those of other alphabets may be more than one letter."""
    return "".join(c.upper() if c.isascii() else c for c in text)


def _says_something(told: Reply) -> bool:
    """Whether words alone could not lift the reply over a limit of length: it speaks three different ones."""
    return len(set(re.findall(r"[^\W\d_]{2,}", told.spoken.lower()))) >= SPOKEN


def _read(reply: str) -> Reply | None:
    try:
        return parse_reply(reply)
    except ReplyError:
        return None


def _reworded(
    scenario: Scenario, reply: str, change: Callable[[str], str], fields: Sequence[str] = tuple(_WORDED)
) -> Subject | None:
    """The reply with what is spoken changed, and those of the payload's fields; equal texts are changed alike."""
    told = _read(reply)
    if told is None:
        return None
    known: dict[str, str] = {}

    def once(text: str) -> str:
        return known.setdefault(text, change(text))

    payload = {k: once(v) if k in fields and isinstance(v, str) else v for k, v in told.payload.items()}
    return scenario, Reply(once(told.spoken), told.intent, payload).text()


def _ways(own: Truth) -> tuple[str, ...]:
    """Every way to name what the right reply has to name."""
    slot = (*own.names, *SLOT_NAMES.get(own.slot, ()))
    choices = (way for ways in (*own.candidates, *own.mentions) for way in ways)
    found = {*slot, *choices, *own.target, own.confirm_target, own.topic}
    return tuple(sorted((way for way in found if way.strip()), key=lambda way: (-len(way), way)))


def _without(text: str, ways: Sequence[str]) -> str:
    for way in (way for way in ways if way.lower() in text.lower()):
        text = re.sub(rf"(?<!\w){re.escape(way)}(?!\w)", "", text, flags=re.IGNORECASE)
    return text


def _everywhere(scenario: Scenario, told: Reply, change: Callable[[str], str]) -> Subject:
    """The reply with every text in it changed, but for the names of fields, acts and topics."""

    def inside(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [inside(each) for each in value]
        return {k: inside(v) for k, v in value.items()} if isinstance(value, dict) else value

    payload = {k: v if k in {"topic", "name", "action"} else inside(v) for k, v in told.payload.items()}
    return scenario, Reply(change(told.spoken), told.intent, payload).text()


def _lines(scenario: Scenario) -> list[str]:
    return scenario.opening[-1].content.split("\n")


def _showing(scenario: Scenario, lines: Sequence[str]) -> Scenario:
    """The scenario with other lines in the last message of its opening."""
    last = replace(scenario.opening[-1], content="\n".join(lines))
    return replace(scenario, opening=(*scenario.opening[:-1], last))


def _tail(scenario: Scenario) -> str:
    return f"{scenario.id} {scenario.opening[-1].content[-80:]!a}"
