"""Lists to look up: what a reply writes again stands in the opening, and little else is to be learnt from them.

A model that reads tasks alone meets too few words twice to learn, in as many steps as a build has, how to write one
again that it has never written. Here most of a reply is that. First each key has one value, then there are more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from askfirst.clarify.calls import PLAN, Call, parse_call
from askfirst.replies import SAID
from askfirst.specialists import _words as made
from askfirst.specialists.core import Pair
from askfirst.values import Message

VALUES = " | "  # stands between the allowed values of a key
PRICES = (6, 10, 12, 40, 60, 80)
KEYS = (3, 8)
SILENT = 0.6  # share of the keys of which nothing is said, in such a list


def listing(few: int, hard: float, random: np.random.Generator) -> Pair:
    """A desk that does not exist: made-up keys of `few` values each, and what is said of all of them or, in every other
    list, of some: which these are is told by where their words stand in the list, and by nothing else.

    `hard` from 0 to 1 is the share of lists whose facts are said in any order, of facts said in part and among other
    words, and, of a share UNREAD of the keys, in words that tell nothing.
    """
    lines: list[str] = []
    said: list[str] = []
    plan: dict[str, str] = {}
    silent = SILENT if random.random() < 0.5 else 0.0
    for _ in range(int(random.integers(*KEYS))):
        name, shared = "_".join(made.name(random)), made.ending(random)
        values = [made.value(shared, random) for _ in range(few)]
        shown = [" ".join((*words, *shared)) for words in values]
        lines.append(f"{name} ({PRICES[int(random.integers(len(PRICES)))]}): {VALUES.join(shown)}")
        chosen = int(random.integers(few))
        if random.random() < silent and lines[1:]:
            continue
        if random.random() < hard * made.UNREAD:
            said.append(made.unread(random))
        else:
            said.append(made.told(values[chosen], shared, random) if random.random() < hard else shown[chosen])
            plan[name] = shown[chosen]
    order = random.permutation(len(said)) if random.random() < hard else range(len(said))
    facts = ", ".join(said[int(i)] for i in order)
    prices = f"a question: {random.integers(2, 9)} (6 left, {random.integers(7, 11)}0% answered)"
    shown_all = "\n".join((f"task: {made.words(2, random)}", *lines, prices))
    opening = f"{shown_all}\n{SAID}{made.words(int(random.integers(1, 5)), random)}: {facts}."
    return (Message("user", opening),), Call(PLAN, plan=plan).text()


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
