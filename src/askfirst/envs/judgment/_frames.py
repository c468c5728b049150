"""The frames: request templates read from the text tables beside this file, each in exactly one split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from askfirst.envs.judgment._split import split_of_line
from askfirst.envs.judgment._tables import FRAMES, lines
from askfirst.errors import EnvironmentFault

PAIRS = ("missing", "several", "pronoun", "vague")

_VARIABLE = re.compile(r"\{([a-z]+\d?)\}")
_FROM_SCREEN = frozenset({"n", "label", "k"})


@dataclass(frozen=True, slots=True)
class Frame:
    """One request template. `before` are the variables of the request itself, `after` those its clear twin adds.

    Templates hold variables `{person}` (a value of that pool, `{person2}` is another draw) and choices `(send|email)`.
    `act` is an action as `Name argument=template; …`, where `@` before a template means a list with one contact
    to resolve; for other intents it is what the payload says.
    """

    id: str
    family: str
    split: str
    say: str
    clear: str
    done: str
    act: str
    carry: tuple[str, ...]
    ask: tuple[str, ...]
    slot: str
    topic: str
    kinds: tuple[str, ...]  # noise on the screen of a request, or what a pronoun or answer refers to
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def is_pair(self) -> bool:
        """Whether the frame makes an ambiguous request and its clear twin."""
        return self.family.split(".")[0] in PAIRS


@cache
def frames() -> tuple[Frame, ...]:
    """Every frame, in the order of the tables."""
    return tuple(frame for table in FRAMES for frame in _read(table))


@cache
def by_id() -> dict[str, Frame]:
    """Frame of an id."""
    return {frame.id: frame for frame in frames()}


@cache
def families(split: str, group: str) -> tuple[tuple[Frame, ...], ...]:
    """The frames of a split, one tuple for each family of a group such as `missing` or `out_of_scope`."""
    found: dict[str, list[Frame]] = {}
    for frame in frames():
        if frame.split == split and frame.family.split(".")[0] == group:
            found.setdefault(frame.family, []).append(frame)
    return tuple(tuple(group) for group in found.values())


def open_class(names: tuple[str, ...]) -> tuple[str, ...]:
    """The variables whose values belong to one split: all but app names."""
    return tuple(name for name in names if name.rstrip("2") != "app")


def variables(template: str) -> tuple[str, ...]:
    """The value variables of a template in order of appearance, each once."""
    return tuple(dict.fromkeys(v for v in _VARIABLE.findall(template) if v not in _FROM_SCREEN))


def _read(table: str) -> Iterator[Frame]:
    family, settings, place = "", dict[str, str](), 0
    for line in lines(table):
        if line.startswith("["):
            family, *options = line.strip("[]").split()
            settings, place = dict(o.split("=", 1) for o in options), 0
            continue
        split, frame = split_of_line(line)
        yield _frame(family, settings, (place, split), [field.strip() for field in frame.split(" | ")])
        place += 1


def _frame(family: str, settings: dict[str, str], at: tuple[int, str], fields: list[str]) -> Frame:
    place, split = at
    head = family.split(".", 1)[0]
    clear, act, carry, ask, kinds = "", "", "", "", settings.get("noise", settings.get("screen", ""))
    match ("thing" if family == "pronoun.thing" else head), fields:
        case "several", [say, done]:
            done = f"{done} {{label}} now"
            act = "App.launch name={label}" if family == "several.app" else "AX.press target={label}"
        case "thing", [say, kinds, done, act, ask]:
            pass
        case "missing" | "pronoun" | "vague", [say, clear, done, act, ask]:
            clear = f"{say} {clear[1:].strip()}" if clear.startswith("+") else clear
        case "out_of_scope" | "edit" | "dictate" | "answer", [say, done, act, *_]:
            act = act.strip(" |")
        case "action" | "destructive", [say, done, act, *rest]:
            carry = rest[0] if rest else ""
            act = act.strip(" |")
        case _:
            raise EnvironmentFault(f"a frame of {family} has {len(fields)} fields", where=f"{family}/{place}")
    before = variables(say)
    every = variables(f"{say} {clear} {act}")
    return Frame(
        id=f"{family}/{place:02d}",
        family=family,
        split=split,
        say=say,
        clear=clear,
        done=done,
        act=act,
        carry=tuple(c.strip() for c in carry.strip(" |").split(",") if c.strip()),
        ask=tuple(a.strip() for a in ask.split(" / ") if a.strip()),
        slot=settings.get("slot", ""),
        topic=settings.get("topic", ""),
        kinds=tuple(k.strip() for k in kinds.split(",") if k.strip()),
        before=before,
        after=tuple(v for v in every if v not in before),
    )
