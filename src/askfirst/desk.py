"""Episodes that are played from outside, by a server or another trainer, and scored like every other one.

A task is named by its split and a whole number, its seed, and is the same wherever it is drawn: a data set needs to
carry no more than these two. A `Session` takes what the policy says, one text a turn, and ends as the environment does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.cases import play
from askfirst.errors import InputError, PluginError, SplitError
from askfirst.rollout import Scorer
from askfirst.values import Message, Scenario, Score, StopReason, Trajectory

SPLITS = ("train", "dev")  # the sealed split is opened by a run and by nothing else
BLOCK = 20  # tasks that are drawn at once, so that neighbours are distinct and keep the mix of the environment
MOST = 2**32  # seeds are below
TASKS = 10_000  # of a split that are listed where tasks are listed; every seed names one

# Tools of a server for harnesses, which no policy needs and no list of tools holds: begin a task; say a text as it is.
START, REPLY = "start_task", "reply"


class EpisodeOver(RuntimeError):
    """Something was said after the end of an episode."""


@dataclass(frozen=True, slots=True)
class Desk:
    """An environment with tools, and the reward for its episodes."""

    name: str
    env: ModuleType
    scorer: Scorer

    @classmethod
    def named(cls, env: str = "clarify", reward: str = "utility") -> Desk:
        """Raises PluginError for unknown names, and for an environment without tools."""
        module = plugins.load("envs", env)
        if not hasattr(module, "TOOLS"):
            raise PluginError(f"environment {env!r} has no TOOLS that could be served", hint="clarify has")
        return cls(env, module, Scorer.named(reward))

    @property
    def reward(self) -> str:
        """The name of the reward."""
        return plugins.name_of(self.scorer.module)

    def task(self, split: str, seed: int) -> Scenario:
        """The task of that name. Raises SplitError for a split that is not served, InputError for a strange seed."""
        if split not in SPLITS:
            raise SplitError(f"split {split!r} is not served", hint=f"choose one of: {', '.join(SPLITS)}")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < MOST:
            raise InputError(f"a seed is a whole number from 0 to {MOST - 1}, found {seed!r}")
        return _block(self.env, split, seed // BLOCK)[seed % BLOCK]

    def open(self, scenario: Scenario) -> Session:
        """A new episode of a scenario."""
        return Session(self, scenario)

    def score(self, scenario: Scenario, replies: Iterable[str]) -> Score:
        """The score of an episode in which the policy says `replies`, one a turn. What is left at its end is unsaid."""
        return self.scorer.score(scenario, play(self.env, scenario, replies))


class Session:
    """One episode under way. Not for several threads at once."""

    def __init__(self, desk: Desk, scenario: Scenario) -> None:
        self.desk, self.scenario, self.over = desk, scenario, False
        self._messages: tuple[Message, ...] = tuple(desk.env.start(scenario))
        self._spoken = len(self._messages)

    @property
    def task(self) -> str:
        """What the policy is shown first."""
        return "\n".join(message.content for message in self.desk.env.start(self.scenario))

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was shown and said so far."""
        return self._messages

    def say(self, text: str) -> str:
        """What the environment answers; empty at the end. Raises EpisodeOver where the end has been before."""
        if self.over:
            raise EpisodeOver("the episode is over")
        said = (*self._messages, Message("assistant", text))
        answer: Message | None = self.desk.env.step(self.scenario, said)
        self._spoken, self.over = len(said), answer is None
        self._messages = said if answer is None else (*said, answer)
        return answer.content if answer else ""

    def score(self) -> Score:
        """The score of what has been said; of an episode that is not over, as of one that was cut off."""
        stop = StopReason.END if self.over else StopReason.LENGTH
        return self.desk.scorer.score(self.scenario, Trajectory(self._messages[: self._spoken], (), stop))


def verdict_on(scenario: Scenario, score: Score) -> dict[str, Any]:
    """What is said of an episode at its end, and not before."""
    return {
        "scenario_id": scenario.id,
        "passed": score.passed,
        "failures": list(score.failures),
        "terms": dict(score.terms),
        "reward": score.reward,
    }


@lru_cache(maxsize=512)
def _block(env: ModuleType, split: str, number: int) -> tuple[Scenario, ...]:
    return tuple(env.scenarios(split, BLOCK, number))
