"""Elements on the screen: drawn from kinds and categories, laid out, and written the way the policy sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from askfirst.envs.judgment._draw import Draw, fill
from askfirst.envs.judgment._kinds import CHROME, CLOSED, KINDS, MODS
from askfirst.envs.judgment._split import LABEL_PLACES, by_split
from askfirst.envs.judgment._tables import lines
from askfirst.envs.judgment._words import APPS, POOLS
from askfirst.replies import SAID

HEADER = "on-screen elements:"
_FIRST = re.compile(r"\{([a-z]+)")
_WORD = re.compile(r"[a-z0-9']+")
_DULL = frozenset("the a an of to in for and draft shot speaker sync with".split())


@dataclass(frozen=True, slots=True)
class Element:
    """Something on the screen. `stem` is what a person would call it by; `value` the open-class part of its label."""

    role: str
    label: str
    text: str
    kind: str
    stem: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Category:
    """Labels of one category of a kind, such as the recipe pages among the pages."""

    kind: str
    noun: str
    role: str
    name: str
    labels: tuple[str, ...]
    text: str


@cache
def categories(kind: str, split: str) -> tuple[Category, ...]:
    """The categories of a kind with the labels of a split; apps and contacts share what is closed-class."""
    if kind == "contact":
        surnames = POOLS["surname"][split]
        return tuple(
            Category("contact", "", "contact", person, tuple(f"{person.capitalize()} {s}" for s in surnames), "contact")
            for person in POOLS["person"][split]
        )
    found, head = [], dict[str, str]()
    for line in lines("cats.txt"):
        if line.startswith("["):
            name, *options = line.strip("[]").split()
            head = {"kind": name, **dict(o.split("=", 1) for o in options)}
        elif head["kind"] == kind:
            name, labels = line.split(": ", 1)
            every = tuple(label.strip() for label in labels.split(","))
            mine = every if kind == "app" else by_split(every, LABEL_PLACES)[split]
            found.append(Category(kind, head["noun"], head["role"], name, mine, head["text"].replace("{cat}", name)))
    return tuple(found)


CATEGORISED = ("page", "app", "button", "contact")


def element(kind: str, split: str, draw: Draw, stem: str = "", mod: str = "") -> Element:
    """One element of a kind; with a given `stem` it shares that with another and differs by `mod`."""
    made = KINDS[kind]
    match = _FIRST.search(made.label)
    first = match.group(1) if match else ""
    values = {name: draw.pick(options) for name, options in CLOSED.items() if name in made.label}
    values["app"] = draw.pick(APPS)
    for name in POOLS:
        if "{" + name in made.label:
            values[name] = draw.pick(POOLS[name][split])
    if first == "app":
        first = "topic"
    if stem:
        values[first] = stem
    values["mod"] = f"-{mod}" if mod else (f"-{draw.pick(MODS)}" if draw.chance(0.4) else "")
    label = fill(made.label, values)
    return Element(made.role, label, made.text, kind, values[first], (values[first], label))


def several(kind: str, split: str, draw: Draw, count: int) -> list[Element]:
    """`count` elements of a kind with different stems."""
    found: dict[str, Element] = {}
    while len(found) < count:
        one = element(kind, split, draw)
        found.setdefault(one.stem, one)
    return list(found.values())


def chrome(draw: Draw, count: int) -> list[Element]:
    """Window furniture."""
    return [Element("toolbar", label, "", "chrome", label) for label in draw.some(CHROME, count)]


def noise(kinds: Sequence[str], split: str, draw: Draw, count: int) -> list[Element]:
    """Elements of some of the kinds (`chrome` included when there is none to choose from)."""
    found = []
    for _ in range(count):
        kind = draw.pick(kinds) if kinds and draw.chance(0.8) else "chrome"
        found.extend(chrome(draw, 1) if kind == "chrome" else [element(kind, split, draw)])
    return list({e.label: e for e in found}.values())


def distinctive(elements: Sequence[Element], utterance: str) -> tuple[tuple[str, ...], ...]:
    """For each element the ways to name it: label, stem, and words that no other one and not the utterance has."""
    words = [set(_WORD.findall(e.label.lower().replace("_", " "))) for e in elements]
    said = set(_WORD.findall(utterance.lower()))
    stems = [e.stem.lower() for e in elements]
    found = []
    for i, one in enumerate(elements):
        others = set().union(*(w for j, w in enumerate(words) if j != i)) if len(elements) > 1 else set()
        own = [w for w in _WORD.findall(one.label.lower()) if w not in others and w not in said and _telling(w)]
        ways = [one.label]
        if stems.count(stems[i]) == 1 and _telling(stems[i]):
            ways.append(one.stem)
        found.append(tuple(dict.fromkeys([*ways, *own])))
    return tuple(found)


def distinct_labels(labels: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """For each of the labels the ways to name it: whole, or by a word that none of the others has."""
    return distinctive([Element("", label, "", "", label) for label in labels], "")


def _telling(word: str) -> bool:
    return (len(word) > 2 or (len(word) == 2 and word[1].isdigit())) and word not in _DULL and word not in _EXTENSIONS


_EXTENSIONS = frozenset("zip xlsx docx jpg mov png dmg com".split())


def lay_out(elements: Sequence[Element], draw: Draw) -> tuple[str, ...]:
    """The elements as numbered lines `[N] role|x,y|label|text`, in a column or a row of the screen."""
    x, y = 20 * (2 + draw.below(20)), 10 * (4 + draw.below(20))
    dx, dy = (0, 10 * (3 + draw.below(4))) if draw.chance(0.75) else (10 * (8 + draw.below(8)), 0)
    return tuple(f"[{i}] {e.role}|{x + i * dx},{y + i * dy}|{e.label}|{e.text}" for i, e in enumerate(elements))


def opening(lines: Sequence[str], utterance: str) -> str:
    """What the policy is shown: the elements, if any, and what the user said."""
    said = f"{SAID}{utterance}"
    return "\n".join([HEADER, *lines, "", said]) if lines else said
