"""System prompts by name: one that an environment ships, or a file."""

from __future__ import annotations

from pathlib import Path

from askfirst.errors import InputError


def system_prompt(name: str, compact: str, **others: str) -> str:
    """The prompt called `compact` or like one of the others, or the text of `file:PATH`.

    Raises InputError for anything else or unreadable.
    """
    shipped = {"compact": compact, **others}
    if name in shipped:
        return shipped[name]
    kind, _, path = name.partition(":")
    if kind != "file" or not path:
        known = ", ".join(shipped)
        raise InputError(f"no system prompt is called {name!r}", hint=f"write {known}, or file:PATH")
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError as error:
        raise InputError(f"cannot read the system prompt: {error.strerror}", where=path) from error
    except UnicodeDecodeError as error:
        raise InputError("the system prompt is not UTF-8 text", where=path) from error
