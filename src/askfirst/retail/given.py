"""What a tool may do with an argument of any JSON type, refused in the words of CPython 3.11 where it may not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


class Refused(ValueError):
    """A tool's answer is this error."""


def key(value: Any) -> Any:
    """A value to look up by. Raises Refused for lists and objects."""
    if isinstance(value, dict | list):
        raise Refused(f"unhashable type: '{type(value).__name__}'")
    return value


def lowered(value: Any) -> str:
    """A text in lower case. Raises Refused for anything else."""
    if not isinstance(value, str):
        raise Refused(f"'{type(value).__name__}' object has no attribute 'lower'")
    return value.lower()


def members(value: Any) -> Sequence[Any]:
    """The members of a list, or the characters of a text. Raises Refused for anything else."""
    if not isinstance(value, list | str):
        raise Refused(f"'{type(value).__name__}' object is not iterable")
    return value


def shown(record: Any) -> str:
    """A record as tools show it: JSON in ASCII, keys in stored order."""
    return json.dumps(record, default=dict)
