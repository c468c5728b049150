"""The text form of a database and its hash, as the published results have them.

A mapping is written as the tuple of its (key, value) pairs sorted by key, a list as a tuple, anything else as Python
writes it; the hash is the SHA-256 of that text in UTF-8. So the order of keys does not matter, that of lists does, and
`1`, `1.0`, `"1"` and `True` differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Place = tuple[str, str]  # table, id


def text_form(value: Any) -> str:
    """The text form of a JSON value."""
    return repr(_canonical(value))


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((key, _canonical(value[key])) for key in sorted(value))
    if isinstance(value, list | tuple):
        return tuple(map(_canonical, value))
    return value


def sha256_of(value: Any) -> str:
    """SHA-256 of the text form, in hex."""
    return hashlib.sha256(text_form(value).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Page:
    """The text form of a whole database, where each record stands in it, and its hash."""

    text: bytes
    spans: Mapping[Place, tuple[int, int]]
    sha256: str

    def sha256_with(self, changed: Mapping[Place, bytes]) -> str:
        """The hash where these records have other texts. Raises KeyError for a place that the page does not have."""
        if not changed:
            return self.sha256
        digest, view, done = hashlib.sha256(), memoryview(self.text), 0
        for (start, end), text in sorted((self.spans[place], text) for place, text in changed.items()):
            digest.update(view[done:start])
            digest.update(text)
            done = end
        digest.update(view[done:])
        return digest.hexdigest()


def page_of(tables: Mapping[str, Mapping[str, Any]]) -> Page:
    """The text form of a database: `text_form(tables)`, with the places of the records."""
    text, spans = bytearray(b"("), {}
    for name in sorted(tables):
        text += f"({name!r}, (".encode()
        for key in sorted(tables[name]):
            text += f"({key!r}, ".encode()
            start = len(text)
            text += text_form(tables[name][key]).encode()
            spans[name, key] = (start, len(text))
            text += b"), "
        _close(text, len(tables[name]))
        text += b"), "
    _close(text, len(tables))
    return Page(bytes(text), spans, hashlib.sha256(text).hexdigest())


def _close(text: bytearray, members: int) -> None:
    """End a tuple whose members are each followed by a comma and a blank: only a single member keeps its comma."""
    if members:
        del text[-1 if members == 1 else -2 :]
    text += b")"
