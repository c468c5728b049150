"""A desk as an OpenEnv environment: WebSocket steps and MCP calls go through one `step`, so both earn the same.

What a policy sees is the task, the answers and, at the end, the score. Steps before the end earn 0, so that the sum of
the rewards of an episode is its score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
)
from openenv.core.env_server.types import EnvironmentMetadata, Observation, State
from pydantic import Field

from askfirst import __version__
from askfirst.calls import call_text
from askfirst.desk import REPLY, SPLITS, START, TASKS, Desk, Session, verdict_on
from askfirst.errors import InputError


class TaskObservation(Observation):  # type and fields as `/schema` lists them
    """What `reset` answers."""

    task: str = Field(description="The request, with the keys of the plan, allowed values and prices.")
    instructions: str = Field(description="The rules, for a policy that calls tools natively.")
    system_prompt: str = Field(description="The rules, for a policy that writes its calls as JSON text.")


class DeskState(State):
    """Where an episode stands."""

    done: bool = Field(default=False, description="Whether the episode is over.")


class DeskEnvironment(Environment):
    """One session. `serial` numbers the episodes of a server that name no task of their own."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, desk: Desk, serial: Iterator[int]) -> None:
        super().__init__()
        self._desk, self._serial = desk, serial
        self._session: Session | None = None
        self._state = DeskState()
        self._closed = False

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "train",
        index: int | None = None,
        **others: Any,
    ) -> TaskObservation:
        """Start the task that `split` and `index` name, or else `seed`, or else the next number of the server.

        Raises InputError for strange options, RuntimeError after the session has ended.
        """
        self._check_open()
        if others:
            raise InputError(f"reset takes seed, episode_id, split and index, not {', '.join(sorted(others))}")
        if index is not None and index >= TASKS:
            raise InputError(f"index {index} is outside the {TASKS} tasks of split {split!r}")
        number = next(self._serial)
        wanted = next(each for each in (index, seed, number) if each is not None)
        self._session = self._desk.open(self._desk.task(split, wanted))
        self._state = DeskState(episode_id=episode_id or f"episode-{number}")
        env = self._desk.env
        return TaskObservation(
            task=self._session.task, instructions=env.NATIVE_INSTRUCTIONS, system_prompt=env.SYSTEM_PROMPT
        )

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "train",
        index: int | None = None,
        **others: Any,
    ) -> TaskObservation:
        """As `reset`; it takes about a millisecond."""
        return self.reset(seed, episode_id, split, index, **others)

    def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Observation:
        """A tool call, or the list of tools. Raises RuntimeError before a reset and after the end of an episode."""
        self._check_open()
        if isinstance(action, ListToolsAction):
            self._state.step_count += 1
            return ListToolsObservation(tools=self._tools(), reward=0.0)
        if not isinstance(action, CallToolAction):
            raise InputError(f"an action is list_tools or call_tool, found {type(action).__name__}")
        if action.tool_name == START and (self._session is None or self._session.over):
            begun = self.reset(**action.arguments)
            return CallToolObservation(tool_name=START, result=f"{begun.task}\n{begun.instructions}", reward=0.0)
        if self._session is None:
            raise RuntimeError(f"no episode: reset first; over MCP open a session and call {START}")
        if self._session.over:
            raise RuntimeError("the episode is over: reset starts another")
        self._state.step_count += 1
        answer = self._session.say(_said(action))
        if not self._session.over:
            return CallToolObservation(tool_name=action.tool_name, result=answer, reward=0.0)
        self._state.done = True
        score = self._session.score()
        verdict = verdict_on(self._session.scenario, score)
        return CallToolObservation(
            tool_name=action.tool_name, result="The task is over.", done=True, reward=score.total, metadata=verdict
        )

    async def step_async(self, action: Any, timeout_s: float | None = None, **others: Any) -> Observation:
        """As `step`; it takes about a millisecond."""
        return self.step(action, timeout_s, **others)

    @property
    def state(self) -> DeskState:
        """Episode and steps; nothing of the task."""
        return self._state

    def close(self) -> None:
        """End the session: the server closes what has been idle for too long, and nothing is answered after that."""
        self._closed, self._session = True, None

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, version and what it is."""
        return EnvironmentMetadata(
            name=self._desk.name,
            description="Ask or act: a request may lack something, questions have a price, the optimum is known.",
            version=f"{__version__}+env{self._desk.env.VERSION}",
        )

    def list_splits(self) -> list[str]:
        """The splits that are served."""
        return list(SPLITS)

    def num_tasks(self, split: str) -> int:
        """How many tasks of a split have an index."""
        self._desk.task(split, 0)
        return TASKS

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """The name of a task: `reset` takes its split and index. Raises IndexError outside the split."""
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(f"index {index} is outside the {TASKS} tasks of split {split!r}")
        return {"id": f"{split}-{index}", "split": split, "index": index}

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """The names of the tasks of a slice."""
        return [self.get_task(split, index) for index in range(self.num_tasks(split))[start:stop]]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """The names of all tasks that have an index."""
        return self.get_task_range(split)

    def _tools(self) -> list[Tool]:
        tools = self._desk.env.TOOLS
        return [Tool(name=t.name, description=t.description, input_schema=dict(t.parameters)) for t in tools]

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(
                "the session has ended, by its client or because it was idle for too long: connect again"
            )


def _said(action: CallToolAction) -> str:
    """A call as the policy would have written it. The tool `reply` carries a text as it was written."""
    text = action.arguments.get("text")
    if action.tool_name == REPLY and set(action.arguments) == {"text"} and isinstance(text, str):
        return text
    return call_text(action.tool_name, action.arguments)
