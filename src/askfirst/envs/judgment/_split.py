"""Which split a frame or a value belongs to: a fixed rule on its place in its list, so that lists grow at the end."""

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
_FRAMES = "train train dev train sealed train train"


def split_of_frame(place: int) -> str:
    """Split of the frame at a place of its family's list: 5/7 train, 1/7 dev, 1/7 sealed, all three within five."""
    return _FRAMES.split()[place % 7]


def by_split(values: Sequence[str], places: str = VALUE_PLACES) -> Mapping[str, tuple[str, ...]]:
    """The values of each split by place in the list; `places` names the split of each place, over and over."""
    cycle = places.split()
    return {split: tuple(v for i, v in enumerate(values) if cycle[i % len(cycle)] == split) for split in SPLITS}
