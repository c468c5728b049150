"""What a user wants of the retailer, and the calls and words that are right."""

from __future__ import annotations

from dataclasses import dataclass

from askfirst.values import FrozenMap


@dataclass(frozen=True, slots=True)
class Call:
    """A tool with its arguments by name, frozen."""

    name: str
    arguments: FrozenMap


@dataclass(frozen=True, slots=True)
class Task:
    """`instruction` is what the user knows and wants, and only the user is told it.

    `actions` are the gold calls, `outputs` what the agent has to say. `user_id` is who the task is said to be about.
    """

    id: str
    user_id: str
    instruction: str
    actions: tuple[Call, ...]
    outputs: tuple[str, ...]
