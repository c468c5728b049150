"""What a run says while it runs. The command line turns events into a progress line or into JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from askfirst.values import FrozenMap


@dataclass(frozen=True, slots=True)
class Event:
    """`kind`: plan, watch, gates, warmstart, step, warning, lost, evaluated, finished, select, sealed or verdict.

    `name`: what it is of.
    """

    kind: str
    name: str = ""
    text: str = ""
    values: FrozenMap = field(default_factory=FrozenMap)


Listener = Callable[[Event], None]


def both(one: Listener, other: Listener) -> Listener:
    """A listener that hands each event to two, one after the other."""

    def listen(event: Event) -> None:
        one(event)
        other(event)

    return listen


def silent(event: Event) -> None:
    """A listener that does nothing."""
