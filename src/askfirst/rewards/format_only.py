"""A control, not a reward: a reply that keeps the protocol to the letter earns 1, whatever it says.

What a run gains under it, form alone gave: asking where one should act, or acting on a guess, is paid in full. Its
cases below say so; it passes nothing, and selection leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.cases import Case, scenario
from askfirst.replies import Reply, ReplyError, Truth, parse_reply
from askfirst.rewards._protocol import checked, truth_of
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

__all__ = ["ATTACKS", "BOUNDS", "CONTROL", "DEFAULTS", "HONEST", "VERSION", "score"]

VERSION = 1
BOUNDS = (0.0, 1.0)
CONTROL = True
DEFAULTS: FrozenMap = FrozenMap()
FORM, MALFORMED = "control", "malformed"

_WALK = scenario("remind me to water the fern", Truth("clarify", slot="time"))
_LAMP = scenario("switch the lamp off", Truth("action", mentions=(("lamp",),)))
_ASKS = Reply("when should i remind you?", "clarify", {"question": "when should i remind you?", "topic": "time"}).text()
_ACTS = Reply("switching it off.", "action", {"name": "Lamp.off", "args": {"item": "lamp"}}).text()
_REFUSES = Reply("i can't do that.", "out_of_scope", {"reason": "no such device"}).text()
_ANSWERS = Reply("it is a lamp.", "answer", {"text": "a lamp"}).text()
_NONSENSE = Reply("blue blue blue", "clarify", {"question": "blue blue blue", "topic": "app"}).text()

_PAID = "well formed and wrong: this control pays it in full"
_NO_FORM = "not one object of the protocol"
ATTACKS = (
    Case("form/empty", "form", _WALK, "", 0.0, _NO_FORM, codes=(MALFORMED,)),
    Case("form/prose", "form", _WALK, "when should i remind you?", 0.0, _NO_FORM, codes=(MALFORMED,)),
    Case("form/cut off", "form", _WALK, _ASKS[:-1], 0.0, _NO_FORM, codes=(MALFORMED,)),
    Case("form/fenced", "form", _WALK, f"```json\n{_ASKS}\n```", 0.0, _NO_FORM, codes=(MALFORMED,)),
    Case("form/twice", "form", _WALK, f"{_ASKS}{_ASKS}", 0.0, _NO_FORM, codes=(MALFORMED,)),
    Case("form/no topic", "form", _WALK, _ASKS.replace(', "topic": "time"', ""), 0.0, _NO_FORM, codes=(MALFORMED,)),
    Case("form/no intent", "form", _LAMP, _ACTS.replace("action", "acting", 1), 0.0, _NO_FORM, codes=(MALFORMED,)),
    Case("wrong/acts", "wrong", _WALK, _ACTS, 1.0, _PAID, codes=(FORM,)),
    Case("wrong/asks", "wrong", _LAMP, _ASKS, 1.0, _PAID, codes=(FORM,)),
    Case("wrong/refuses", "wrong", _LAMP, _REFUSES, 1.0, _PAID, codes=(FORM,)),
    Case("wrong/nonsense", "wrong", _WALK, _NONSENSE, 1.0, _PAID, codes=(FORM,)),
)
HONEST = (
    Case("asks", "clarify", _WALK, _ASKS, 1.0, "well formed", codes=(FORM,)),
    Case("acts", "action", _LAMP, _ACTS, 1.0, "well formed", codes=(FORM,)),
    Case("refuses", "out_of_scope", scenario("brew coffee", Truth("out_of_scope")), _REFUSES, 1.0, "well formed"),
    Case("answers", "answer", scenario("what is this", Truth("answer")), _ANSWERS, 1.0, "well formed", codes=(FORM,)),
)


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """1 where the last reply keeps the protocol, else 0; never a pass.

    Raises RewardFault for unknown params and for a scenario of another protocol.
    """
    checked(params, DEFAULTS)
    truth_of(scenario)
    try:
        parse_reply(trajectory.reply)
    except ReplyError:
        return Score(0.0, FrozenMap({"form": 0.0}), False, (MALFORMED,), f"format_only@{VERSION}")
    return Score(1.0, FrozenMap({"form": 1.0}), False, (FORM,), f"format_only@{VERSION}")
