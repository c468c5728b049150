"""Which split a frame or a value belongs to.

A value's split is a fixed rule on its place in its list, so that lists grow at the end. A frame's split is written
before it in its table: dev and sealed frames combine words that train frames have, in ways that none of them does,
because a request full of unknown words tests a vocabulary and not judgment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SPLITS = ("train", "dev", "sealed")
# 14 of 20 train, 3 dev, 3 sealed.
VALUE_PLACES = (
    "train train train dev train train sealed train train dev "
    "train train sealed train train train dev train train sealed"
)
# For the short label lists of categories: two of twelve for dev and for sealed.
LABEL_PLACES = "train train train train dev sealed"


def split_of_line(line: str) -> tuple[str, str]:
    """The split a frame's line of a table names, `dev: …` or `sealed: …`, else train; and the rest of the line."""
    head, colon, rest = line.partition(": ")
    return (head, rest) if colon and head in SPLITS[1:] else ("train", line)


def by_split(values: Sequence[str], places: str = VALUE_PLACES) -> Mapping[str, tuple[str, ...]]:
    """The values of each split by place in the list; `places` names the split of each place, over and over."""
    cycle = places.split()
    return {split: tuple(v for i, v in enumerate(values) if cycle[i % len(cycle)] == split) for split in SPLITS}
