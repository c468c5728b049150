"""Where a reader of `clarify` looks, token by token, to find the key and the value of what was said:

row     a word of a value looks at its key's name
start   a word of a value looks at the value's first word
match   a word that was said looks at the same word among the values, where it belongs to one of them
key     what stands before a key of a plan looks at the word by which its value was said
value   what stands before a value does

What writes keys looks at the first token of all, which holds nothing, before a value, and what writes values does so
before a key: `no key`, `no value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from askfirst.backends.hf.guided import Guide, Look

# Layers of `nano` and heads. Its heads 0 – 2 share what they read, and 3 – 5 do.
HEADS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "row": ((1, 0),),
    "start": ((1, 3),),
    "match": ((2, 0), (2, 3)),
    "key": ((4, 0),),
    "no value": ((4, 3),),
    "value": ((4, 3),),
    "no key": ((4, 0),),
}
CHAINS = (((1, 0), (2, 0), (4, 0)), ((1, 3), (2, 3), (4, 3)))  # of a key's name, and of a value's first word
UNTIL = 0.4  # share of a build after which heads look where they like
_WORD = re.compile(r"[A-Za-z]{2,}")
_NOTES = ("\nunless said otherwise: ", "\nusually: ", "\nnot possible: ")


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a row: where its words are, and all of its tokens."""

    row: int
    words: tuple[int, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """A key of the opening: where its name begins, and the tokens of that."""

    at: int
    name: tuple[int, ...]


class Reader:
    """Finds the looks in dialogues of one tokenizer, in which the fixed parts of `clarify` are a token each."""

    def __init__(self, tokenizer: Any) -> None:
        def only(text: str) -> int:
            (token,) = tokenizer(text, add_special_tokens=False)["input_ids"]
            return int(token)

        vocabulary: dict[str, int] = tokenizer.get_vocab()
        # Words, each with the one that it is in lower case.
        self._words = {i: vocabulary.get(text.lower(), i) for text, i in vocabulary.items() if _WORD.fullmatch(text)}
        self._open, self._shut, self._bar, self._line = map(only, (" (", "): ", " | ", "\n"))
        self._price, self._request = only("\na question: "), only("% answered)\nuser said: ")
        self._breaks = {self._line, self._price, *map(only, _NOTES)}
        self._plan, self._value, self._next = map(
            only, ('{"name": "propose_plan", "arguments": {"plan": {"', '": "', '", "')
        )
        self._ends = {*map(only, ('", "assumptions": ["', '"]}}}', '"}}}')), vocabulary["<|end|>"]}
        self._user, self._assistant = vocabulary["<|user|>"], vocabulary["<|assistant|>"]

    def looks(self, ids: Sequence[int]) -> list[Look]:
        """What should be looked at in a dialogue; nothing in one of another form."""
        ids = list(ids)
        if self._price not in ids or self._request not in ids:
            return []
        rows, values = self._schema(ids[: ids.index(self._price)])
        found: list[Look] = []
        for value in values:
            for at in value.words:
                found += [("row", at, rows[value.row].at), ("start", at, value.words[0])]
        where = self._told_apart(ids, values)
        said: dict[_Value, int] = {}
        user = True
        for at in range(ids.index(self._request) + 1, len(ids)):
            if ids[at] in (self._user, self._assistant):
                user = ids[at] == self._user
            elif ids[at] == self._plan:
                found += self._read(ids, at, rows, said)
            elif user and (word := self._words.get(ids[at])) in where:
                value, to = where[word]
                said[value] = at
                found.append(("match", at, to))
        return found

    def _schema(self, ids: Sequence[int]) -> tuple[list[_Row], list[_Value]]:
        """The rows of an opening and their values."""
        rows: list[_Row] = []
        values: list[_Value] = []
        for first, last in self._lines(ids):
            line = ids[first:last]
            if self._open in line and self._shut in line:
                shut = first + line.index(self._shut)
                for own in self._parts(ids, shut + 1, last):
                    if words := tuple(at for at in own if ids[at] in self._words):
                        values.append(_Value(len(rows), words, tuple(ids[at] for at in own)))
                rows.append(_Row(first, tuple(line[: line.index(self._open)])))
        return rows, values

    def _lines(self, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Where the lines that begin with no note stand."""
        cuts = [at for at, token in enumerate(ids) if token in self._breaks]
        for before, last in pairwise([*cuts, len(ids)]):
            if ids[before] == self._line:
                yield before + 1, last

    def _parts(self, ids: Sequence[int], first: int, last: int) -> Iterator[list[int]]:
        """Where the tokens of each value stand."""
        own: list[int] = []
        for at in range(first, last):
            if ids[at] == self._bar:
                yield own
                own = []
            else:
                own.append(at)
        yield own

    def _told_apart(self, ids: Sequence[int], values: Sequence[_Value]) -> dict[int, tuple[_Value, int]]:
        """The words that belong to one value alone, and where they stand in it."""
        found: dict[int, tuple[_Value, int]] = {}
        shared: set[int] = set()
        for value in values:
            for at in value.words:
                word = self._words[ids[at]]
                if word in found and found[word][0] is not value:
                    shared.add(word)
                found[word] = (value, at)
        return {word: own for word, own in found.items() if word not in shared}

    def _read(self, ids: Sequence[int], at: int, rows: Sequence[_Row], said: Mapping[_Value, int]) -> Iterator[Look]:
        """What is looked at to write a plan that begins at a token."""
        named = {(rows[value.row].name, value.tokens): to for value, to in said.items()}
        ends = {*self._ends, self._next}
        while at < len(ids) and ids[at] in (self._plan, self._next):
            middle = _first(ids, at + 1, {*ends, self._value})
            last = _first(ids, middle + 1, ends)
            entry = tuple(ids[at + 1 : middle]), tuple(ids[middle + 1 : last])
            if middle < len(ids) and ids[middle] == self._value and entry in named:
                yield from (("key", at, named[entry]), ("no value", at, 0))
                yield from (("value", middle, named[entry]), ("no key", middle, 0))
            at = last


def _first(ids: Sequence[int], at: int, wanted: set[int]) -> int:
    """Where the first of the tokens stands from a place on; behind the end where none does."""
    return next((i for i in range(at, len(ids)) if ids[i] in wanted), len(ids))


def guide(tokenizer: Any) -> Guide:
    """The guide for dialogues of `clarify`."""
    from askfirst.backends.hf.guided import Guide

    return Guide(Reader(tokenizer).looks, HEADS, CHAINS, until=UNTIL)
