"""What environments that draw by strata share: checked weights, counts by weight, and distinct items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from askfirst.errors import EnvironmentFault, InputError, SplitError

T = TypeVar("T")

SPLITS = ("train", "dev", "sealed")
_PATIENCE = 400  # draws in a row that may all be repeats before a stratum counts as exhausted


def check_draw(split: str, n: int) -> None:
    """Raise SplitError for a split that is none of the three, InputError for a negative count."""
    if split not in SPLITS:
        raise SplitError(f"no split is called {split!r}", hint=f"choose one of: {', '.join(SPLITS)}")
    if n < 0:
        raise InputError(f"cannot draw {n} scenarios")


def checked_weights(strata: Mapping[str, float], known: Sequence[str]) -> dict[str, float]:
    """The positive weights in the order of `known`. Raises InputError for weights that make no mix."""
    unknown = sorted(set(strata) - set(known))
    if unknown:
        raise InputError(f"no stratum is called {', '.join(unknown)}", hint=f"choose from: {', '.join(known)}")
    if not all(0 <= w < float("inf") for w in strata.values()) or sum(strata.values()) <= 0:
        raise InputError("strata weights must be finite, not negative and not all zero")
    return {name: float(strata[name]) for name in known if strata.get(name, 0) > 0}


def apportion(weights: Mapping[str, float], n: int) -> dict[str, int]:
    """n shared out in proportion to the weights: whole parts first, then the largest remainders, ties by order."""
    total = sum(weights.values())
    exact = {name: n * weight / total for name, weight in weights.items()}
    counts = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: round(counts[name] - exact[name], 9))  # equal up to rounding: a tie
    for name in by_remainder[: n - sum(counts.values())]:
        counts[name] += 1
    return counts


def distinct(stream: Iterator[T], n: int, keys: Callable[[T], Sequence[str]], where: str) -> list[T]:
    """The first n items none of whose keys was seen before. Raises EnvironmentFault for an exhausted stream."""
    found: list[T] = []
    seen: set[str] = set()
    repeats = 0
    while len(found) < n:
        item = next(stream)
        own = keys(item)
        if not seen.isdisjoint(own):
            repeats += 1
            if repeats > _PATIENCE:
                raise EnvironmentFault(f"only {len(found)} distinct scenarios found, {n} asked for", where=where)
            continue
        seen.update(own)
        found.append(item)
        repeats = 0
    return found
