"""System prompts by name: one that an environment ships, or a file."""

from __future__ import annotations

from pathlib import Path

from askfirst.errors import InputError


def system_prompt(name: str, compact: str) -> str:
    """The prompt called `compact`, or the text of `file:PATH`. Raises InputError for anything else or unreadable."""
    if name == "compact":
        return compact
    kind, _, path = name.partition(":")
    if kind != "file" or not path:
        raise InputError(f"no system prompt is called {name!r}", hint="write compact, or file:PATH")
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError as error:
        raise InputError(f"cannot read the system prompt: {error.strerror}", where=path) from error
    except UnicodeDecodeError as error:
        raise InputError("the system prompt is not UTF-8 text", where=path) from error
