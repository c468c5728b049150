"""Open-class words: what requests are about. Every value belongs to exactly one split (see `_split`)."""

from __future__ import annotations

from itertools import product

from askfirst.envs.judgment._split import by_split
from askfirst.envs.judgment._tables import lines


def _read() -> dict[str, tuple[str, ...]]:
    whole = "\n".join(lines("words.txt")).replace("\n ", " ")
    pools = (line.split(": ", 1) for line in whole.split("\n"))
    return {name: tuple(" ".join(value.split()) for value in values.split(",")) for name, values in pools}


_LISTS = _read()

_DAYS = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "tomorrow",
    "next monday",
    "next friday",
)
_CLOCK = (
    *(
        f"at {h}"
        for h in ("seven", "eight", "nine", "ten", "eleven", "noon", "one", "two", "three", "four", "five", "six")
    ),
    *(f"at {h}:30" for h in (7, 8, 9, 10, 11, 2, 3, 4, 5)),
    *(f"at {h}pm" for h in (1, 2, 3, 4, 5, 6, 7, 8)),
)
_PAST = (
    *(f"last {day}" for day in _DAYS[:7]),
    *(
        f"{month} {n}"
        for n in (3, 8, 12, 17, 21, 26)
        for month in ("january", "february", "march", "april", "may", "june")
    ),
)
_UNITS = ("minutes", "seconds", "hours")
_SPANS = tuple(f"{n} {unit}" for unit in _UNITS for n in range(2, 60) if unit != "hours" or n < 13)
_COUNTS = (
    *"two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen twenty".split(),
    *(str(n) for n in range(13, 61)),
)

POOLS = {
    name: by_split(values)
    for name, values in {
        **_LISTS,
        "title": tuple(f"{adjective} {noun}" for noun, adjective in product(_LISTS["noun"], _LISTS["adjective"])),
        "when": tuple(f"{day} {clock}" for clock, day in product(_CLOCK, _DAYS)),
        "past": _PAST,
        "duration": _SPANS,
        "percent": tuple(f"{n} percent" for n in range(5, 100)),
        "count": _COUNTS,
    }.items()
    if name not in ("app", "adjective", "noun")
}

# Closed class: shared by all splits.
APPS = _LISTS["app"]
