"""Replies for each row of the shaped reward's table, whichever reward of this protocol is its base."""

from __future__ import annotations

from dataclasses import replace

from askfirst.cases import Case, scenario
from askfirst.replies import SLOT_NAMES, Reply, Truth
from askfirst.values import Scenario

_PARTY = scenario(
    "add the street party to my calendar",
    Truth("clarify", slot="time", names=SLOT_NAMES["time"], topic="time", pool=("content", "recipient", "time")),
)
_SETTLED = replace(_PARTY, id=f"{_PARTY.id}-settled", ambiguous=False)
_BIN = scenario("empty the bin on my desk", Truth("confirm_destructive", target=("bin",), confirm_target="bin"))
_RAIN = scenario("will it rain in quito tonight", Truth("out_of_scope"))
_SNAP = scenario("move this window to the top", Truth("action", mentions=(("top",),)))
_NAME = scenario("what should i call you", Truth("answer"))
_TYPE = scenario("thanks for lunch comma see you soon", Truth("dictate"))
_EDIT = scenario("make the title bold", Truth("edit"))


def _ask(question: str, spoken: str = "") -> str:
    return Reply(spoken or question, "clarify", {"question": question, "topic": "time"}).text()


_WHEN = _ask("what time does the street party start?")
_CONFIRM = Reply("that empties the bin, are you sure?", "confirm_destructive", {"action": "Bin.empty", "target": "bin"})
_REFUSE = Reply("i can't check the forecast.", "out_of_scope", {"reason": "live data"}).text()
_ACT = Reply("moving it to the top.", "action", {"name": "Window.snap", "args": {"position": "top"}}).text()
_SAY = Reply("you can call me pace.", "answer", {"text": ""}).text()

_HONEST: tuple[tuple[str, str, Scenario, str], ...] = (
    ("full", "asks", _PARTY, _WHEN),
    ("full", "confirms", _BIN, _CONFIRM.text()),
    ("full", "refuses", _RAIN, _REFUSE),
    ("full", "acts", _SNAP, _ACT),
    ("full", "answers", _NAME, _SAY),
    (
        "full",
        "types",
        _TYPE,
        Reply("typing that for you.", "dictate", {"text": "Thanks for lunch, see you soon"}).text(),
    ),
    ("full", "edits", _EDIT, Reply("making it bold now.", "edit", {"reference": "title", "transform": "bold"}).text()),
    ("partial", "asks-twice", _PARTY, _ask("which day is it? where is it?", "which day is it? where is it?")),
    (
        "partial",
        "names-nothing",
        _BIN,
        Reply("are you sure about that?", "confirm_destructive", {"action": "x", "target": "it"}).text(),
    ),
)
_ATTACKS: tuple[tuple[str, str, Scenario, str], ...] = (
    ("over_asking", "asks-before-acting", _SNAP, _ask("when should i move it?")),
    ("over_asking", "asks-before-answering", _NAME, _ask("what time should i say it?")),
    ("over_asking", "asks-before-refusing", _RAIN, _ask("what time tonight do you mean?")),
    ("over_asking", "asks-before-confirming", _BIN, _ask("when should i empty it?")),
    ("over_asking", "asks-before-typing", _TYPE, _ask("when should i type it?")),
    ("over_asking", "asks-before-editing", _EDIT, _ask("when should i change it?")),
    ("over_asking", "asks-what-is-settled", _SETTLED, _WHEN),
    ("over_asking", "asks-nothing-of-what-is-settled", _SETTLED, _ask("where is the street party?")),
    ("partial", "farms-intent", _PARTY, _ask("x?", "x")),
    ("partial", "asks-something-else", _PARTY, _ask("where is the street party?")),
    (
        "partial",
        "confirms-nothing",
        _BIN,
        '{"spokenText": "ok?", "intent": "confirm_destructive", "payload": {"action": "x", "target": "y"}}',
    ),
    ("nothing", "guesses", _PARTY, _ACT),
    ("nothing", "refuses-everything", _PARTY, _REFUSE),
    ("nothing", "acts-on-destructive", _BIN, _ACT),
    ("nothing", "answers-out-of-scope", _RAIN, _SAY),
    ("nothing", "refuses-to-act", _SNAP, _REFUSE),
    ("nothing", "empty", _PARTY, ""),
    ("nothing", "prose", _PARTY, "what time does the street party start?"),
    ("nothing", "unparsable", _RAIN, _REFUSE[:-2]),
    ("nothing", "intent-only-word", _RAIN, "out_of_scope"),
)


def _rows(table: tuple[tuple[str, str, Scenario, str], ...], why: str) -> tuple[tuple[str, Case], ...]:
    return tuple((row, Case(f"{row}/{name}", row, where, text, 0.0, why)) for row, name, where, text in table)


FLOORS = _rows(_HONEST, "earns at least its row of the table")
ROWS = _rows(_ATTACKS, "earns at most its row of the table")
