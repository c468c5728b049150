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
KEYS = (3, 8)
SILENT = 0.6  # share of the keys of which nothing is said, in every other list


def listing(few: int, hard: float, random: np.random.Generator) -> Pair:
    """A desk that does not exist: made-up keys of `few` values each, and what is said, in any order, of all of them or,
    in every other list, of some.

    `hard` from 0 to 1 is the share of facts that are said in part and among other words, and of lists in which, of a
    share UNREAD of the keys, words tell nothing.
    """
    rows = [_row(few, _one_of(PRICES, random), hard, random) for _ in range(int(random.integers(*KEYS)))]
    silent = SILENT if random.random() < 0.5 else 0.0
    facts: list[_Row] = []
    for row in rows:
        if not facts or random.random() >= silent:
            unread = random.random() < hard * made.UNREAD
            facts.append(replace(row, said=made.unread(random), value="") if unread else row)
    facts = [facts[int(i)] for i in random.permutation(len(facts))]
    request = f"{made.words(int(random.integers(1, 5)), random)}: {', '.join(row.said for row in facts)}."
    plan = {row.name: row.value for row in facts if row.value}
    return (_opening(rows, request, random),), Call(PLAN, plan=plan).text()


def asked(few: int, hard: float, asks: bool, random: np.random.Generator) -> Pair:
    """Such a desk and a request in words that mean nothing: a question about the key that costs most, and its answer.

    Or, without `asks`, a guess of its value. `few` and `hard` as in `listing`; one answer in ten knows nothing.
    """
    dear = int(random.integers(count := int(random.integers(*KEYS))))
    rows = [_row(few, _one_of(HIGHER if i == dear else LOWER, random), hard, random) for i in range(count)]
    row, knows = rows[dear], random.random() < 0.9
    answer = row.said if knows else made.unread(random)
    opening = _opening(rows, f"{made.words(int(random.integers(3, 16)), random)}.", random)
    if not asks:
        return (opening,), Call(PLAN, plan={row.name: row.value}).text()
    messages = (
        opening,
        Message("assistant", ask(naming(row.name))),
        Message("user", f"{answer[:1].upper()}{answer[1:]}.\nquestions left: {BUDGET - 1}"),
    )
    return messages, Call(PLAN, plan={row.name: row.value} if knows else {}).text()


@dataclass(frozen=True, slots=True)
class _Row:
    """A key as the opening shows it, one of its values, and how a user says that."""

    line: str
    name: str
    value: str
    said: str


def _row(few: int, price: int, hard: float, random: np.random.Generator) -> _Row:
    name, shared = "_".join(made.name(random)), made.ending(random)
    values = [made.value(shared, random) for _ in range(few)]
    shown = [" ".join((*words, *shared)) for words in values]
    chosen = int(random.integers(few))
    said = made.told(values[chosen], shared, random) if random.random() < hard else shown[chosen]
    return _Row(f"{name} ({price}): {VALUES.join(shown)}", name, shown[chosen], said)


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
