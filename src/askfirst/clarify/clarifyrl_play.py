"""An episode of `clarify` as the published ClarifyRL environment would keep it.

Fields, critical and required keys are the family's, in both. What has no counterpart there is left as it falls:
a key that is stated in the request was brought out by no question, a plan that declines lacks the required keys, and
`assumptions` is a key outside the family. A question counts once, whatever it asks about; there the simulated user
answers about one field at most, here about all of them. Steps are limited to MAX_TURNS, as its hard tasks are.
"""

from __future__ import annotations

import json

from askfirst.calls import ASK, CallError
from askfirst.clarify.calls import INFO, parse_call
from askfirst.clarify.clarifyrl import Call, Episode, Setting, replay, scope_of
from askfirst.clarify.episode import MAX_TURNS, recorded, spoken
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.problem import Hidden
from askfirst.values import FrozenMap, Scenario, Trajectory

UNREADABLE = Call("")  # no tool of that name: a call that fails


def setting_of(hidden: Hidden) -> Setting:
    """The profile and the keys of a scenario."""
    problem = hidden.problem
    fields = [FAMILIES[problem.family].field(key.name) for key in problem.keys]
    return Setting(
        profile=hidden.truth,
        critical=tuple(f.name for f in fields if f.critical and f.name in hidden.truth),
        required=tuple(f.name for f in fields if f.required),
        scope=tuple(dict.fromkeys((*scope_of(problem.family), *(key.name for key in problem.keys)))),
    )


def played(hidden: Hidden, scenario: Scenario, trajectory: Trajectory) -> Episode:
    """The episode call by call; `hidden` is what the scenario hides."""
    told = [dict(each.told) for each in recorded(scenario, trajectory).asked]
    calls: list[Call] = []
    for text in spoken(trajectory.messages):
        try:
            call = parse_call(text)
        except CallError:
            calls.append(UNREADABLE)
            continue
        if call.name == ASK:
            about = tuple(told.pop(0)) if told else ()
            calls.append(Call(ASK, FrozenMap({"question": call.question}), about))
        else:
            arguments = {} if call.name == INFO else {"plan": json.dumps(dict(call.plan), ensure_ascii=False)}
            calls.append(Call(call.name, FrozenMap(arguments)))
    return replay(setting_of(hidden), calls, MAX_TURNS)
