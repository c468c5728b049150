"""Requests that are clear by themselves: action, answer, dictate, edit, out of scope, destructive."""

from __future__ import annotations

from askfirst.envs.judgment._carriers import carry, open_ended
from askfirst.envs.judgment._draw import Draw, fill
from askfirst.envs.judgment._frames import Frame, open_class
from askfirst.envs.judgment._kinds import KINDS
from askfirst.envs.judgment._pairs import NOISE_CHANCE, Made, alternatives, draw_values
from askfirst.envs.judgment._screen import Element, chrome, lay_out, noise, opening, several
from askfirst.envs.judgment._words import APPS
from askfirst.replies import Truth

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def make_plain(frame: Frame, draw: Draw) -> Made:
    """The frame filled from the draws of its split, with a screen that suits it."""
    values = draw_values(frame.before + frame.after, frame.split, draw)
    elements = _screen(frame, draw)
    if frame.kinds and elements:
        values |= {"label": elements[0].label, "k": NUMBERS[len(elements)]}
    said = carry(fill(draw.choose(frame.say), values), frame.say, draw, open_ended(frame.say))
    drawn = tuple(values[v] for v in open_class(frame.before + frame.after))
    labels = tuple(v for e in elements for v in e.values)
    return Made(opening(lay_out(elements, draw), said), _truth(frame, values), drawn + labels)


def _screen(frame: Frame, draw: Draw) -> list[Element]:
    head = frame.family.split(".")[0]
    if head == "answer" and frame.kinds:
        return several(draw.pick(frame.kinds), frame.split, draw, 1 + draw.below(4))
    if head == "edit":
        return [_text_area("selected text", frame, draw), *chrome(draw, draw.below(3))]
    if head == "dictate":
        return [_text_area("text field", frame, draw), *chrome(draw, draw.below(3))]
    if not draw.chance(NOISE_CHANCE):
        return []
    if draw.chance(0.4):
        return [Element("dock_icon", app, "app", "app", app) for app in draw.some(APPS, 1 + draw.below(3))]
    return noise(tuple(KINDS), frame.split, draw, 1 + draw.below(3))


def _text_area(text: str, frame: Frame, draw: Draw) -> Element:
    topic = draw_values(("topic",), frame.split, draw)["topic"]
    return Element("text_area", topic.capitalize(), text, "text", topic, (topic, topic.capitalize()))


def _truth(frame: Frame, values: dict[str, str]) -> Truth:
    head = frame.family.split(".")[0]
    if head == "destructive":
        ways = tuple(fill(way, values) for way in frame.carry)
        return Truth("confirm_destructive", target=ways, confirm_target=ways[-1])
    if head == "action":
        needed = tuple(fill(way, values) for way in frame.carry)
        name = frame.carry[0].strip("{}") if frame.carry else ""
        return Truth("action", mentions=(alternatives(name, needed[0]),) if needed else ())
    if head == "dictate":
        return Truth("dictate", mentions=((fill(frame.act, values),),))
    return Truth(head)
