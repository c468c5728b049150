"""The reward of the published ClarifyRL environment, as it runs and as its model card states it, quirks included.

With the hidden profile, its critical fields (weight 2, others 1), the required keys, the fields that questions brought
out and the number of questions asked:

    format         1 where the plan is an object that has every required key, not null and not blank
    field_match    weighted share of profile fields that the plan has right, whatever they come from
    info_gain      share of critical fields brought out
    efficiency     1 - asked/budget
    hallucination  1 - share of the plan's keys that no question brought out; values are not looked at

    as it runs     0 where format is 0, else .50 field_match + .20 info_gain + .15 efficiency + .15 hallucination
    on the card    .60 correctness + .20 efficiency + .20 format, where field_match stands for correctness

The card names no gate and defines none of its terms. Source of the facts: the public environment, used as a black box.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askfirst.clarify.families import FAMILIES
from askfirst.values import FrozenMap

CODE: Mapping[str, float] = FrozenMap(
    {"field_match": 0.50, "info_gain": 0.20, "efficiency": 0.15, "hallucination": 0.15}
)
CARD: Mapping[str, float] = FrozenMap({"field_match": 0.60, "efficiency": 0.20, "format": 0.20})
GATE = 0.5  # of format, under which nothing else counts
BUDGET = 6
NEW_FIELD, USELESS, DUPLICATE, OVER_CAP = 0.05, 0.02, -0.02, -0.05  # what a question is paid at once
SUBMITTED, NEVER_SUBMITTED = 0.05, -0.1  # what training adds to the reward of the last step
# Tool → its arguments, each a text.
TOOLS: Mapping[str, tuple[str, ...]] = FrozenMap(
    {"ask_question": ("question",), "propose_plan": ("plan",), "get_task_info": ()}
)
# Head word → what else may stand for it.
SYNONYMS: Mapping[str, tuple[str, ...]] = FrozenMap(
    {"vegetarian": ("veg",), "google meet": ("gmeet", "meet"), "in person": ("inperson", "offline")}
)
_SEPARATORS = re.compile(r"[-_]")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a plan is scored against. `scope`: the keys of the family."""

    profile: Mapping[str, Any]
    critical: tuple[str, ...]
    required: tuple[str, ...]
    scope: tuple[str, ...]
    budget: int = BUDGET


@dataclass(frozen=True, slots=True)
class Parts:
    """The five components, each from 0 to 1, whether the gate is passed or not."""

    format: float
    field_match: float
    info_gain: float
    efficiency: float
    hallucination: float

    def weighed(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Name → weight times component."""
        return {name: weight * getattr(self, name) for name, weight in weights.items()}

    @property
    def code(self) -> float:
        """The score as it runs."""
        return 0.0 if self.format < GATE else sum(self.weighed(CODE).values())

    @property
    def card(self) -> float:
        """The score that the model card states."""
        return sum(self.weighed(CARD).values())


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `about` are the fields that the user's answer tells, none for a question that is not understood."""

    tool: str
    arguments: Mapping[str, Any] = FrozenMap()
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What a call is paid, whether the episode is over after it, and whether the tool failed."""

    reward: float
    done: bool
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode as the environment keeps it; `parts` is None unless a plan was scored."""

    steps: tuple[Step, ...]
    revealed: tuple[str, ...]
    asked: int
    parts: Parts | None

    @property
    def trained_on(self) -> float:
        """What the optimiser is given: the reward of the last step, which has replaced all earlier ones, and a bonus
        for having submitted a plan or a penalty for not."""
        last = self.steps[-1].reward if self.steps else 0.0
        return last + (NEVER_SUBMITTED if self.parts is None else SUBMITTED)


def scope_of(family: str) -> tuple[str, ...]:
    """The keys of a family, none for an unknown one."""
    return tuple(field.name for field in FAMILIES[family].fields) if family in FAMILIES else ()


def parts(setting: Setting, plan: str | None, revealed: Sequence[str], asked: int) -> Parts:
    """The components for a plan as text; None and what does not parse to an object count as a plan without keys."""
    try:
        body = read_plan(plan)
    except (ValueError, RecursionError):
        body = None
    found = body or {}
    weights = {name: 2.0 if name in setting.critical else 1.0 for name in setting.profile}
    right = [name for name in weights if name in found and same(found[name], setting.profile[name])]
    critical, own = set(setting.critical), [name for name in found if name in setting.scope]
    return Parts(
        format=float(body is not None and all(_filled(body.get(name)) for name in setting.required)),
        field_match=sum(weights[name] for name in right) / sum(weights.values()) if weights else 1.0,
        info_gain=len(critical & set(revealed)) / len(critical) if critical else 1.0,
        efficiency=min(1.0, max(0.0, 1 - asked / setting.budget)) if setting.budget > 0 else 1.0,
        hallucination=1 - sum(name not in revealed for name in own) / len(own) if own else 1.0,
    )


def read_plan(text: str | None) -> dict[str, Any] | None:
    """The object that a plan's text is, by Python's own JSON reader; None where it is no object or not JSON.

    Raises ValueError for a number with too many digits and RecursionError for deep nesting, at which a tool call fails.
    """
    try:
        body = json.loads(text or "")
    except json.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None


def same(one: Any, other: Any) -> bool:
    """Whether two values count as equal: as text without case, `-`, `_` and extra space; as a synonym; as numbers."""
    left, right = _text(one), _text(other)
    if left == right or right in SYNONYMS.get(left, ()) or left in SYNONYMS.get(right, ()):
        return True
    try:
        return float(left) == float(right)
    except ValueError:
        return False


def replay(setting: Setting, calls: Sequence[Call], max_steps: int) -> Episode:
    """The rewards of an episode call by call, also after its end.

    A tool that fails (no such tool, other arguments, not a text) is paid what the call before it was paid.
    """
    steps: list[Step] = []
    revealed: list[str] = []
    asked, scored, over = 0, None, False
    for number, call in enumerate(calls, start=1):
        if _fails(call):
            steps.append(Step(steps[-1].reward if steps else 0.0, over or number >= max_steps, failed=True))
            over = steps[-1].done
            continue
        reward = 0.0
        if not over and call.tool == "ask_question":
            over = asked >= setting.budget
            reward = OVER_CAP if over else _paid(call.about, revealed)
            asked += not over
            revealed += [] if over else [name for name in call.about if name not in revealed]
        elif not over and call.tool == "propose_plan":
            scored, over = parts(setting, call.arguments["plan"], revealed, asked), True
            reward = scored.code
        over = over or number >= max_steps
        steps.append(Step(reward, over))
    return Episode(tuple(steps), tuple(revealed), asked, scored)


def _paid(about: Sequence[str], revealed: Sequence[str]) -> float:
    if not about:
        return USELESS
    return DUPLICATE if set(about) <= set(revealed) else NEW_FIELD


def _fails(call: Call) -> bool:
    wanted = TOOLS.get(call.tool)
    given = call.arguments
    if wanted is None or set(given) != set(wanted) or not all(isinstance(value, str) for value in given.values()):
        return True
    try:
        read_plan(given.get("plan"))
    except (ValueError, RecursionError):
        return True
    return False


def _filled(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str:
    return " ".join(_SEPARATORS.sub(" ", str(value).strip().lower()).split())
