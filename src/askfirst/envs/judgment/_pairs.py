"""Ambiguous requests and their clear twins, made from the same draws."""

from __future__ import annotations

import re
from dataclasses import dataclass

from askfirst.envs.judgment._carriers import carry, open_ended
from askfirst.envs.judgment._draw import Draw, fill
from askfirst.envs.judgment._frames import Frame, open_class
from askfirst.envs.judgment._kinds import KINDS, MODS, may_be_confused
from askfirst.envs.judgment._screen import (
    CATEGORISED,
    Category,
    Element,
    categories,
    chrome,
    distinctive,
    element,
    lay_out,
    noise,
    opening,
    several,
)
from askfirst.envs.judgment._words import APPS, POOLS
from askfirst.replies import SLOT_NAMES, Truth

NOISE_CHANCE = 0.35
# Written with capitals on the screen, but spoken.
_SPOKEN_LOW = frozenset({"app", "title"})
_ASKED = re.compile(r"\bwh(?:ich|at) ([a-z]+)")
_NO_NOUN = frozenset("is are do does should would exactly you i to one".split())


@dataclass(frozen=True, slots=True)
class Made:
    """What a frame was filled to: the text shown and the truth it is judged by."""

    shown: str
    truth: Truth
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A request that needs a question and the same one that does not."""

    frame: Frame
    ambiguous: Made
    clear: Made


def draw_values(names: tuple[str, ...], split: str, draw: Draw) -> dict[str, str]:
    """A value for each variable; a second draw from a pool (`person2`) differs from the first."""
    found: dict[str, str] = {}
    for name in names:
        pool = APPS if name.rstrip("2") == "app" else POOLS[name.rstrip("2")][split]
        value = draw.pick(pool)
        while name.endswith("2") and value == found.get(name[:-1]):
            value = draw.pick(pool)
        found[name] = value.lower() if name.rstrip("2") in _SPOKEN_LOW else value
    return found


def make_pair(frame: Frame, draw: Draw) -> Pair:
    """The frame filled from the draws of its split."""
    match frame.family:
        case "pronoun.thing":
            return _pronoun(frame, draw)
        case family if family.startswith("several."):
            kind = family.split(".")[1]
            return _category(frame, kind, draw) if kind in CATEGORISED else _several(frame, kind, draw)
        case _:
            return _missing(frame, draw)


def alternatives(name: str, value: str) -> tuple[str, ...]:
    """The ways to write a value in an action's arguments."""
    if name in ("duration", "percent"):
        return (value, value.split(maxsplit=1)[0])
    if name == "when":
        return (value, value.replace(" at ", " "))
    return (value,)


def slot_names(frame: Frame) -> tuple[str, ...]:
    """The ways to name what a frame lacks: those of its slot, and for a target the nouns its own questions use."""
    names = SLOT_NAMES[frame.slot]
    if frame.slot != "target":
        return names
    nouns = [n for ask in frame.ask for n in _ASKED.findall(ask) if n not in _NO_NOUN]
    return tuple(dict.fromkeys([*names, *(f"{w} {n}" for n in nouns for w in ("which", "what"))]))


def _missing(frame: Frame, draw: Draw) -> Pair:
    values = draw_values(frame.before + frame.after, frame.split, draw)
    seed = draw.below(1 << 30)
    say, clear = Draw(seed).choose(frame.say), Draw(seed).choose(frame.clear)
    carrier = draw.below(1 << 30)
    elements = noise(frame.kinds, frame.split, draw, 1 + draw.below(3)) if draw.chance(NOISE_CHANCE) else []
    first = next(v for v in frame.after if v in frame.clear)
    named = [*elements[:-1], _called(values[first])] if elements and frame.family == "missing.target" else elements
    layout = draw.below(1 << 30)
    asked = Truth("clarify", frame.slot, slot_names(frame), topic=frame.topic)
    acted = Truth("action", mentions=(alternatives(first, values[first]),))
    bare = open_ended(frame.say) or open_ended(frame.clear)
    shown = [
        opening(lay_out(screen, Draw(layout)), carry(fill(text, values), template, Draw(carrier), bare))
        for screen, text, template in ((elements, say, frame.say), (named, clear, frame.clear))
    ]
    labels = [tuple(v for e in screen for v in e.values) for screen in (elements, named)]
    before, every = (tuple(values[v] for v in open_class(names)) for names in (frame.before, tuple(values)))
    return Pair(
        frame,
        Made(shown[0], asked, before + labels[0]),
        Made(shown[1], acted, every + labels[1]),
    )


def _called(value: str) -> Element:
    """What a clear request names, where other things are on the screen: it is there too."""
    label = value[:1].upper() + value[1:]
    return Element("row", label, "item", "item", value, (value, label))


def _several(frame: Frame, kind: str, draw: Draw) -> Pair:
    made, split = KINDS[kind], frame.split
    count = 2 + draw.below(3)
    matching = several(kind, split, draw, count)
    shared = made.modified and draw.chance(0.3)
    if shared:
        stem = matching[0].stem
        matching = [element(kind, split, draw, stem, mod) for mod in draw.some(MODS, count)]
    others = [k for k in KINDS if not may_be_confused(kind, k)]
    extra = noise(others, split, draw, draw.below(3))
    phrase = made.named.format(s=matching[0].stem.lower(), n=made.noun) if shared else made.noun
    if made.named and not shared and draw.chance(0.4):  # the twin names one of them
        chosen = draw.pick(matching)
        named = made.named.format(s=chosen.stem.lower(), n=made.noun)
        return _choice(frame, draw, (phrase, named), (matching + extra, matching + extra), (matching, chosen))
    # The twin has one of them on a screen that is as full.
    chosen = matching[0]
    if shared:
        rest = [e for e in several(kind, split, draw, count) if e.stem != chosen.stem][: count - 1]
    else:
        rest = noise(others, split, draw, count - 1)
    return _choice(frame, draw, (phrase, phrase), (matching + extra, [chosen, *rest, *extra]), (matching, chosen))


def _category(frame: Frame, kind: str, draw: Draw) -> Pair:
    groups = categories(kind, frame.split)
    picked = draw.some(groups, 3)
    main = picked[0]
    labels = draw.some(main.labels, min(2 + draw.below(2), len(main.labels)))
    matching = [_of(main, label) for label in labels]
    rest = [_of(group, draw.pick(group.labels)) for group in picked[1:]]
    extra = rest[: draw.below(3)]
    phrase = f"{main.name} {main.noun}".strip()
    if draw.chance(0.3):
        chosen = draw.pick(matching)
        named = f"{chosen.label.lower()} {main.noun}".strip()
        return _choice(frame, draw, (phrase, named), (matching + extra, matching + extra), (matching, chosen))
    return _choice(frame, draw, (phrase, phrase), (matching + extra, [matching[0], *rest]), (matching, matching[0]))


def _of(group: Category, label: str) -> Element:
    values = () if group.kind == "app" else (label, group.name) if group.kind == "contact" else (label,)
    return Element(group.role, label, group.text, group.kind, label, values)


def _pronoun(frame: Frame, draw: Draw) -> Pair:
    kind = draw.pick(frame.kinds)
    chosen = element(kind, frame.split, draw)
    if draw.chance(0.4):  # too many things it could be
        matching = [chosen, *(e for e in several(kind, frame.split, draw, 2) if e.stem != chosen.stem)]
        ambiguous = matching + chrome(draw, draw.below(2))
        clear = [chosen, *chrome(draw, len(ambiguous) - 1)]
        return _choice(frame, draw, ("", ""), (ambiguous, clear), (matching, chosen))
    full = draw.chance(0.5)
    ambiguous = chrome(draw, 1 + draw.below(3)) if full else []
    return _choice(frame, draw, ("", ""), (ambiguous, [*ambiguous[1:], chosen]), ([], chosen))


def _choice(
    frame: Frame,
    draw: Draw,
    phrases: tuple[str, str],
    screens: tuple[list[Element], list[Element]],
    meant: tuple[list[Element], Element],
) -> Pair:
    """A pair whose sides differ in noun phrase or screen. `meant`: all that could be, and the one that is."""
    values = draw_values(frame.before + frame.after, frame.split, draw)
    say, carrier, layout = draw.choose(frame.say), draw.below(1 << 30), draw.below(1 << 30)
    matching, chosen = meant
    bare = open_ended(frame.say)
    said = [carry(fill(say, values | {"n": phrase}), frame.say, Draw(carrier), bare) for phrase in phrases]
    screens_unique = [_without_namesakes(screen, [*matching, chosen]) for screen in screens]
    shown = []
    for screen, text in zip(screens_unique, said, strict=True):
        order = Draw(layout)
        shown.append(opening(lay_out(order.shuffled(screen), order), text))
    labels = [tuple(v for e in screen for v in e.values) for screen in screens_unique]
    ways = distinctive(matching, said[0]) if len(matching) > 1 else ()
    one = distinctive([chosen, *(e for e in screens_unique[1] if e.label != chosen.label)], "")[0]
    before = tuple(values[v] for v in open_class(tuple(values)))
    return Pair(
        frame,
        Made(shown[0], _asked(frame, matching, phrases[0], ways), before + labels[0]),
        Made(shown[1], Truth("action", mentions=(one,)), before + labels[1]),
    )


def _without_namesakes(screen: list[Element], meant: list[Element]) -> list[Element]:
    """The screen without repeats, and without things that are called like one of those that could be meant."""
    stems = {e.stem.lower() for e in meant}
    kept = [e for e in screen if e in meant or e.stem.lower() not in stems]
    return list({e.label: e for e in reversed(kept)}.values())[::-1]


def _asked(frame: Frame, matching: list[Element], phrase: str, ways: tuple[tuple[str, ...], ...]) -> Truth:
    if frame.family == "pronoun.thing" and not matching:
        return Truth("clarify", "target", slot_names(frame), topic="target")
    if frame.family == "pronoun.thing":
        noun = KINDS[matching[0].kind].noun
        names = tuple(dict.fromkeys([*slot_names(frame), f"which {noun}", f"what {noun}"]))
        return Truth("clarify", "target", names, ways, topic=f"which {noun}")
    kind = frame.family.split(".")[1]
    slot = {"app": "app", "contact": "recipient"}.get(kind, "target")
    noun = phrase if kind == "contact" else phrase.rsplit(maxsplit=1)[-1] if kind in CATEGORISED else KINDS[kind].noun
    others = {n for other, names in SLOT_NAMES.items() if other != slot for n in names}
    own = [f"{w} {n}" for n in dict.fromkeys((noun, phrase)) for w in ("which", "what") if f"{w} {n}" not in others]
    topic = f"which {kind if kind == 'contact' else noun}"
    return Truth("clarify", slot, tuple(dict.fromkeys([*SLOT_NAMES[slot], *own])), ways, topic=topic)
