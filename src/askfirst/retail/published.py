"""The published episode and its reward, with their quirks, so that figures compare with published ones.

The reward is 1 where the whole database is as the gold calls leave a fresh one and, if the task has outputs, each
stands in something that the agent said to the user; else 0. What it cannot see, and what it mistakes:

* Nothing of the conversation counts: who writes without authenticating, asking or confirming earns as much. Nor do
  reads, failed calls, and writes that are undone later.
* Where the gold calls change nothing, doing nothing is right.
* A gold call that fails is part of the replay, and so is its having no effect.
* An output may stand anywhere in any message, inside another word or number, in either case, commas removed from the
  message only; what is said beside a call or in its arguments does not count. Other spellings of a number do not.
* The unrounded amount of changed items makes the order of the pairs matter in the last bit.
* An episode that reaches the limit of steps earns 0 unscored, whatever it did.
* Transferring ends an episode, with bad arguments too, and hides no change made before.

One thing is not kept: the published program scored against the gold database from a second scoring on. Here scoring
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from askfirst.retail.database import Database
from askfirst.retail.tasks import Call, Task
from askfirst.retail.tools import TOOLS, Kind, call
from askfirst.retail.world import World
from askfirst.values import FrozenMap

STEPS = 30  # messages of the agent
STOP = "###STOP###"  # in what the user says, anywhere


class Ending(StrEnum):
    """Why a published episode ended."""

    USER_STOP = "user_stop"
    TERMINAL_TOOL = "terminal_tool"
    STEP_LIMIT = "step_limit"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The reward, 0 or 1, and its parts; None for what was not scored or, of `outputs`, for a task without any."""

    reward: float
    actions: bool | None
    outputs: Mapping[str, bool] | None


@dataclass(frozen=True, slots=True)
class Replay:
    """The gold calls on a fresh database: what each answered, and the database after them."""

    observations: tuple[str, ...]
    database: Database


def gold(world: World, task: Task) -> Replay:
    """Replay the gold calls of a task."""
    database = Database(world)
    return Replay(tuple(call(database, each.name, each.arguments) for each in task.actions), database)


def judge(task: Task, database: Database, said: Sequence[str]) -> Outcome:
    """The published reward of an episode that ended with this database, in which the agent `said` this to the user.

    Only for episodes that were ended by the user or by a transfer.
    """
    right = database.same_as(gold(database.world, task).database)
    heard = [text.lower().replace(",", "") for text in said]
    found = {wanted: any(wanted.lower() in text for text in heard) for wanted in task.outputs}
    return Outcome(float(right and all(found.values())), right, found or None)


class Episode:
    """One published episode, played a step of the agent at a time."""

    def __init__(self, world: World, task: Task) -> None:
        self.task, self.database = task, Database(world)
        self.said: list[str] = []
        self.calls: list[Call] = []
        self.ended: Ending | None = None

    @property
    def steps(self) -> int:
        """How many messages of the agent there were."""
        return len(self.said) + len(self.calls)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The agent calls a tool; what it answers. Raises ValueError where the episode has ended."""
        self._require_going_on()
        self.calls.append(Call(name, FrozenMap(arguments)))
        answer = call(self.database, name, arguments)
        self._end(Ending.TERMINAL_TOOL if name in TOOLS and TOOLS[name].kind is Kind.END else None)
        return answer

    def say(self, text: str, reply: str) -> None:
        """The agent says something and the user replies. Raises ValueError where the episode has ended."""
        self._require_going_on()
        self.said.append(text)
        self._end(Ending.USER_STOP if STOP in reply else None)

    def outcome(self) -> Outcome:
        """The published reward. Raises ValueError where the episode goes on."""
        if self.ended is None:
            raise ValueError("the episode has not ended")
        if self.ended is Ending.STEP_LIMIT:
            return Outcome(0.0, None, None)
        return judge(self.task, self.database, self.said)

    def _require_going_on(self) -> None:
        if self.ended is not None:
            raise ValueError(f"the episode has ended: {self.ended}")

    def _end(self, ending: Ending | None) -> None:
        self.ended = ending or (Ending.STEP_LIMIT if self.steps == STEPS else None)


Step = Call | str
_TRANSFER = Call("transfer_to_human_agents", FrozenMap({"summary": "The user asks for a human."}))


def _oracle(task: Task) -> Iterable[Step]:
    yield " ".join(task.outputs) or "It is done."
    yield from task.actions


def _blind_writes(task: Task) -> Iterable[Step]:
    yield " ".join(task.outputs) or "It is done."
    yield from (each for each in task.actions if TOOLS[each.name].kind is Kind.WRITE)


# What needs no language to play: the ceiling, and floors of the reward.
SCRIPTS: Mapping[str, Callable[[Task], Iterable[Step]]] = {
    "gold calls and outputs": _oracle,
    "gold writes blind": _blind_writes,
    "do nothing": lambda task: (),
    "transfer at once": lambda task: (_TRANSFER,),
}


def play(world: World, task: Task, script: Iterable[Step]) -> Episode:
    """An episode with a scripted agent, whose user stops when the script is at its end."""
    episode = Episode(world, task)
    for step in script:
        if episode.ended is None:
            if isinstance(step, str):
                episode.say(step, "Go on.")
            else:
                episode.call(step.name, step.arguments)
    if episode.ended is None:
        episode.say("Goodbye.", STOP)
    return episode
