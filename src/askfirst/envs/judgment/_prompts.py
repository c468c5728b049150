"""The compact system prompt that ships with the package."""

from __future__ import annotations

from askfirst.envs import _prompts
from askfirst.envs.judgment._tables import text


def system_prompt(name: str) -> str:
    """The prompt called `compact`, or the text of `file:PATH`. Raises InputError for anything else or unreadable."""
    return _prompts.system_prompt(name, text("compact.txt").strip())
