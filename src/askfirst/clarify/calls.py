"""The calls that a policy of `clarify` makes, one a turn; their form is that of `askfirst.calls`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from askfirst.calls import ASK, CallError, Tool, call_text, question_of, read_call, schema
from askfirst.values import Act, Action, Ask, FrozenMap, Invalid, Refuse

PLAN, INFO = "propose_plan", "get_task_info"
ASSUMPTIONS, DECLINE = "assumptions", "decline"  # reserved keys of a plan
FORM = (
    "call one tool a turn, as one json object and nothing else. "
    '{"name":"ask_question","arguments":{"question":"..."}} asks the user. '
    '{"name":"get_task_info","arguments":{}} shows the task again. '
    '{"name":"propose_plan","arguments":{"plan":{key:value,...,"assumptions":[key,...]}}} ends the task; '
)
RULES = (
    "values are allowed ones; list under assumptions each key that you had to guess. "
    "a key left out costs half its price, a wrong assumption 60 % of it, any other wrong value all of it; "
    "an act that cannot be undone needs a yes. each thing asked about costs a question, an assumption about what is "
    'known and a key that is not wanted cost one too. what is no task of yours: {"plan":{"decline":"why"}}.'
)
INSTRUCTIONS = FORM + RULES
NATIVE_INSTRUCTIONS = (
    "call one tool a turn and say nothing else. " + RULES
)  # where tools are described by their schemas


TOOLS = (
    Tool(
        ASK,
        "Ask the user a question. Each thing asked about costs the price of a question.",
        schema(question={"type": "string", "description": "What to ask, in plain words."}),
    ),
    Tool(
        PLAN,
        "End the task with a plan.",
        schema(
            plan={
                "type": "object",
                "description": "A value for each key. Under assumptions a list of the keys that were guessed. "
                "For what is no task of yours only decline, with a reason.",
            }
        ),
    ),
    Tool(INFO, "Show the task, the rules and the number of questions left.", schema()),
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call by the protocol. `question` where it asks, `plan` where it proposes."""

    name: str
    question: str = ""
    plan: Mapping[str, Any] = FrozenMap()

    def text(self) -> str:
        """The call as one line of JSON."""
        arguments: dict[str, Any] = {}
        if self.name == ASK:
            arguments["question"] = self.question
        elif self.name == PLAN:
            arguments["plan"] = dict(self.plan)
        return call_text(self.name, arguments)


@lru_cache(maxsize=2048)
def parse_call(text: str) -> Call:
    """Exactly one call. Raises CallError with a short reason; refuses duplicate keys, NaN and deep nesting."""
    name, given = read_call(text)
    wanted = {ASK: {"question"}, PLAN: {"plan"}, INFO: set()}.get(name) if isinstance(name, str) else None
    if wanted is None:
        raise CallError("name is none of the three tools")
    if not isinstance(given, dict) or set(given) != wanted:
        raise CallError(f"arguments are not exactly {sorted(wanted)}")
    if name == ASK:
        return Call(name, question=question_of(given["question"]))
    return Call(name, plan=_plan(given["plan"])) if name == PLAN else Call(name)


def parse_action(text: str) -> Action:
    """The call as an action of the system; Invalid where it breaks the protocol."""
    try:
        call = parse_call(text)
    except CallError as error:
        return Invalid(str(error))
    if call.name == ASK:
        return Ask(call.question)
    if DECLINE in call.plan:
        return Refuse(str(call.plan[DECLINE]))
    return Act(call.name, FrozenMap({"plan": json.dumps(dict(call.plan), sort_keys=True)}))


def _plan(plan: object) -> Mapping[str, Any]:
    if not isinstance(plan, dict):
        raise CallError("plan is not an object")
    assumed = plan.get(ASSUMPTIONS, [])
    if not isinstance(assumed, list) or not all(isinstance(name, str) for name in assumed):
        raise CallError("assumptions are not a list of keys")
    if len(set(assumed)) != len(assumed):
        raise CallError("assumptions name a key twice")
    if DECLINE in plan and (len(plan) > 1 or not isinstance(plan[DECLINE], str) or not plan[DECLINE].strip()):
        raise CallError("decline is not a text with words, alone in its plan")
    return plan
