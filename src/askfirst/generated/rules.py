"""When other words for a request still ask for the same: what must survive a paraphrase, and what must not come in.

The rules are strict rather than right: what breaks one may still be a good paraphrase, and is not taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import ModuleType

from askfirst.canary import BIG_BENCH, MARK
from askfirst.metrics import words
from askfirst.replies import PAYLOADS, SAID, Truth, truth
from askfirst.store import content_hash
from askfirst.values import FrozenMap, Message, Scenario

Words = tuple[str, ...]
DRAWN = 600  # scenarios of each split that names are collected from
LONGEST, MORE = 60, 8  # words of a request, and those that it may have beyond twice as many as before
# Words that say when or how much: one that was not there may well be what is missing.
AMOUNTS = frozenset(
    """two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty ninety hundred
    thousand half quarter dozen couple twice double percent today tonight tomorrow yesterday morning afternoon evening
    noon midnight am pm o'clock hour hours minute minutes second seconds day days week weeks weekend month months year
    years monday tuesday wednesday thursday friday saturday sunday january february march april june july august
    september october november december daily weekly monthly later soon now immediately earlier""".split()
)
# Words for people and for what is said that need no name.
PEOPLE = frozenset(
    """mom mum mother dad father parents wife husband partner brother sister son daughter boss manager colleague
    colleagues coworker coworkers friend friends team everyone everybody someone somebody him her them us neighbor
    neighbour landlord doctor teacher client customer saying says""".split()
)
_QUOTES = re.compile(r"[\"“”„«»`{}\[\]<>|*#]")
_NAME = re.compile(r"(?<=\s)[A-Z][a-z'-]+")


@dataclass(frozen=True, slots=True)
class Names:
    """What the requests of an environment are about, by their words: open-class values of all splits, and names that
    it reserves."""

    known: frozenset[Words]

    def new_in(self, text: Sequence[str], before: Sequence[str]) -> list[Words]:
        """The names that stand in a text and did not stand in what was there before."""
        longest = max(map(len, self.known), default=0)
        runs = {tuple(text[a : a + n]) for n in range(1, longest + 1) for a in range(len(text) - n + 1)}
        return sorted(run for run in runs & self.known if not within(run, before))


@lru_cache(maxsize=4)  # a function of the environment's source
def names_of(env: ModuleType) -> Names:
    """Collected from draws of every split; `env.RESERVED` are names that no value is, such as those of apps."""
    shown = [(s, words(_shown(s))) for split in ("train", "dev", "sealed") for s in env.scenarios(split, DRAWN, 0)]
    found = {value for s, said in shown for value in _values(s) if within(value, said)}
    return Names(frozenset(found | {tuple(words(name)) for name in getattr(env, "RESERVED", ())}))


def request_of(scenario: Scenario) -> str:
    """What the user said, as it was said, without the screen or the form that it stands in."""
    return scenario.opening[-1].content.rpartition(SAID)[2].strip()


def resaid(scenario: Scenario, text: str, env: str) -> Scenario:
    """The scenario with other words for its request; everything that it is judged against stays."""
    last = scenario.opening[-1]
    before, said, _ = last.content.rpartition(SAID)
    opening = (*scenario.opening[:-1], Message(last.role, f"{before}{said}{text}"))
    return replace(scenario, opening=opening, id=identity(opening, scenario.hidden, env))


def identity(opening: Sequence[Message], hidden: FrozenMap, env: str) -> str:
    """The id of a scenario with other words, from its content."""
    return content_hash([env, "resaid", opening, hidden])[:16]


def broken(scenario: Scenario, text: str, names: Names) -> tuple[str, ...]:
    """The rules that a text for the request of a scenario breaks, by name; none where it may stand for it.

    `scenario` is as the environment made it.
    """
    before, said = request_of(scenario), tuple(words(text))
    was = tuple(words(before))
    tests: Mapping[str, Callable[[], bool]] = {
        "empty": lambda: len(said) < 2,
        "not_one_line": lambda: len(text.splitlines()) != 1 or text != text.strip(),
        "unchanged": lambda: said == was,
        "too_long": lambda: len(said) > min(LONGEST, 2 * len(was) + MORE),
        "markup": lambda: bool(set(_QUOTES.findall(text)) - set(before)),
        "canary": lambda: MARK in text.lower() or BIG_BENCH in text.lower(),
        "tells_the_intent": lambda: any(_tells(name, said) and not _tells(name, was) for name in PAYLOADS),
        "lost_value": lambda: any(within(v, was) and not within(v, said) for v in _values(scenario)),
        "lost_detail": lambda: _lost(scenario, was, said),
        "lost_number": lambda: bool(_amounts(was) - _amounts(said)),
        "new_number": lambda: bool(_amounts(said) - _amounts(was)),
        "new_name": lambda: bool(_capitals(text) - set(was)) or bool((set(said) & PEOPLE) - set(was)),
        "new_value": lambda: bool(names.new_in(said, was)),
        "says_what_is_missing": lambda: any(
            within(way, said) and not within(way, was) for way in _candidates(scenario) if len(" ".join(way)) > 2
        ),
    }
    return tuple(name for name, breaks in tests.items() if breaks())


def within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether some words stand in a text in a row; no words stand in none."""
    size = len(part)
    return size > 0 and any(tuple(whole[a : a + size]) == tuple(part) for a in range(len(whole) - size + 1))


def _shown(scenario: Scenario) -> str:
    return "\n".join(message.content for message in scenario.opening)


def _values(scenario: Scenario) -> list[Words]:
    """The words of what a scenario was made from; of `kind: value` both the whole and the value."""
    texts = [text for value in scenario.values for text in (value, value.partition(": ")[2])]
    return [found for text in texts if (found := tuple(words(text)))]


def _truth(scenario: Scenario) -> Truth | None:
    try:
        return truth(scenario)
    except TypeError:
        return None  # of another protocol, which is judged by its values alone


def _lost(scenario: Scenario, was: Words, said: Words) -> bool:
    """Whether something that a reply must name can no longer be named by what was said."""
    hidden = _truth(scenario)
    if hidden is None:
        return False
    groups: Iterable[Sequence[str]] = (*hidden.mentions, hidden.target, hidden.topic.split()[-1:])
    for group in groups:
        ways = [tuple(words(way)) for way in group]
        if any(within(way, was) for way in ways) and not any(within(way, said) for way in ways):
            return True
    return False


def _candidates(scenario: Scenario) -> list[Words]:
    hidden = _truth(scenario)
    return [tuple(words(way)) for group in hidden.candidates for way in group] if hidden else []


def _amounts(said: Iterable[str]) -> set[str]:
    return {word for word in said if word in AMOUNTS or any(c.isdigit() for c in word)}


def _capitals(text: str) -> set[str]:
    return {name.lower() for name in _NAME.findall(text)}


def _tells(intent: str, said: Sequence[str]) -> bool:
    """Whether the name of an intent stands in a text; `action`, `answer` and `edit` are words like any other."""
    return "_" in intent and within(words(intent.replace("_", " ")), said)
