"""What a tool may do with an argument of any JSON type, refused in the words of CPython 3.11 where it may not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


class Refused(ValueError):
    """A tool's answer is this error."""


def key(value: Any) -> Any:
    """A value to look up by. Raises Refused for lists and objects."""
    if isinstance(value, Mapping | list | tuple):
        raise Refused(f"unhashable type: '{_kind(value)}'")
    return value


def lowered(value: Any) -> str:
    """A text in lower case. Raises Refused for anything else."""
    if not isinstance(value, str):
        raise Refused(f"'{_kind(value)}' object has no attribute 'lower'")
    return value.lower()


def members(value: Any) -> Sequence[Any]:
    """The members of a list, or the characters of a text. Raises Refused for anything else."""
    if not isinstance(value, list | tuple | str):
        raise Refused(f"'{_kind(value)}' object is not iterable")
    return value


def shown(record: Any) -> str:
    """A record as tools show it: JSON in ASCII, keys in stored order."""
    return json.dumps(record, default=dict)


def _kind(value: Any) -> str:
    return "dict" if isinstance(value, Mapping) else "list" if isinstance(value, tuple) else type(value).__name__
