"""Lists to look up: what a reply writes again stands in the opening, and little else is to be learnt from them.

A model that reads tasks alone meets too few words twice to learn, in as many steps as a build has, how to write one
again that it has never written. Here most of a reply is that. First each key has one value, then there are more.
In some of them the request cannot be read: then the dearest key is worth a question, and its answer can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askfirst.clarify.calls import PLAN, Call, parse_call
from askfirst.clarify.oracle import ask, naming
from askfirst.clarify.problem import BUDGET
from askfirst.clarify.scenes import HIGH, LOW
from askfirst.replies import SAID
from askfirst.specialists import _words as made
from askfirst.specialists.core import Pair
from askfirst.values import Message

VALUES = " | "  # stands between the allowed values of a key
PRICES = (6, 10, 12, 40, 60, 80)
# Prices that no other split has, so that which of two is dearer is read and not known by heart.
OTHER_SPLITS = {price for split in ("dev", "sealed") for price in (*HIGH[split], *LOW[split])}
LOWER, HIGHER = ([n for n in range(*between) if n not in OTHER_SPLITS] for between in ((2, 20), (30, 100)))
KEYS = (3, 4, 8)  # at least so many, and fewer than that in lists that are easy, and in those that are hard
FACTS = 10  # at most so many in a list


def in_turn(few: int, hard: float, random: np.random.Generator) -> Pair:
    """A desk that does not exist: made-up keys of `few` values each, and facts about them, one a turn.

    Each is answered by a plan of its key and value. No value is said twice, so that its key has to be found. `hard`
    from 0 to 1 is the share of names and values that may have several words, and of facts that are said in part and
    among other words; and there are more keys.
    """
    rows = [_row(few, _one_of(PRICES, random), hard, random) for _ in range(_keys(hard, random))]
    facts = [(row, at) for row in rows for at in range(few)]
    order = [facts[int(i)] for i in random.permutation(len(facts))[:FACTS]]
    said = [row.said(at, random.random() < hard, random) for row, at in order]
    plans = [Call(PLAN, plan={row.name: row.values[at]}).text() for row, at in order]
    messages = [_opening(rows, f"{said[0]}.", random)]
    for reply, fact in zip(plans, said[1:], strict=False):
        messages += [Message("assistant", reply), Message("user", f"{SAID}{fact}.")]
    return tuple(messages), plans[-1]


def asked(few: int, hard: float, asks: bool, random: np.random.Generator) -> Pair:
    """Such a desk and a request in words that mean nothing: a question about the key that costs most, and its answer.

    Or, without `asks`, a guess of its value. `few` and `hard` as in `in_turn`; one answer in ten knows nothing.
    """
    dear = int(random.integers(count := _keys(hard, random)))
    rows = [_row(few, _one_of(HIGHER if i == dear else LOWER, random), hard, random) for i in range(count)]
    row, at, knows = rows[dear], int(random.integers(few)), random.random() < 0.9
    answer = row.said(at, random.random() < hard, random) if knows else made.unread(random)
    opening = _opening(rows, f"{made.words(int(random.integers(3, 16)), random)}.", random)
    if not asks:
        return (opening,), Call(PLAN, plan={row.name: row.values[at]}).text()
    messages = (
        opening,
        Message("assistant", ask(naming(row.name))),
        Message("user", f"{answer[:1].upper()}{answer[1:]}.\nquestions left: {BUDGET - 1}"),
    )
    return messages, Call(PLAN, plan={row.name: row.values[at]} if knows else {}).text()


def _keys(hard: float, random: np.random.Generator) -> int:
    least, easy, most = KEYS
    return int(random.integers(least, easy + round(hard * (most - easy))))


@dataclass(frozen=True, slots=True)
class _Row:
    """A key as the opening shows it, with values that may share how they begin or end."""

    name: str
    price: int
    own: tuple[tuple[str, ...], ...]
    shared: made.Shared

    @property
    def values(self) -> list[str]:
        return [" ".join(self.shared.around(words)) for words in self.own]

    @property
    def line(self) -> str:
        return f"{self.name} ({self.price}): {VALUES.join(self.values)}"

    def said(self, at: int, hard: bool, random: np.random.Generator) -> str:
        """How a user says a value: as it is shown or, `hard`, in part and among other words."""
        return made.told(self.own[at], self.shared, random) if hard else self.values[at]


def _row(few: int, price: int, hard: float, random: np.random.Generator) -> _Row:
    """A key of `few` values; but for a share `hard` of these rows, its name and each value are one common word."""
    name, shared = made.name(random), made.shared(random)
    own = [made.value(shared, random) for _ in range(few)]
    if random.random() >= hard:
        name, shared, own = [made.common(random)], made.Shared(), [[made.common(random)] for _ in range(few)]
    return _Row("_".join(name), price, tuple(map(tuple, own)), shared)


def _opening(rows: Sequence[_Row], request: str, random: np.random.Generator) -> Message:
    prices = f"a question: {random.integers(2, 9)} (6 left, {random.integers(7, 11)}0% answered)"
    task = f"task: {made.words(2, random)}"
    return Message("user", "\n".join((task, *(row.line for row in rows), prices, SAID + request)))


def _one_of(numbers: Sequence[int], random: np.random.Generator) -> int:
    return numbers[int(random.integers(len(numbers)))]


def with_few_values(
    messages: tuple[Message, ...], last: str, few: int, random: np.random.Generator
) -> tuple[Message, ...]:
    """The messages with so many allowed values of each key that the plan has, its own among them."""
    plan = parse_call(last).plan
    lines = []
    for line in messages[0].content.split("\n"):
        head, mark, shown = line.partition("): ")
        own, values = plan.get(head.partition(" (")[0]), shown.split(VALUES)
        if mark and own in values:
            others = [value for value in values if value != own]
            kept = {own, *(others[int(i)] for i in random.permutation(len(others))[: few - 1])}
            lines.append(head + mark + VALUES.join(value for value in values if value in kept))
        else:
            lines.append(line)
    return (replace(messages[0], content="\n".join(lines)), *messages[1:])
