"""A change to a run after it was frozen: what may change, and how the record of it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from askfirst.errors import GateFailed

# How a run is judged was promised before it began. A change of that is another experiment.
PROMISED = frozenset(
    {"env", "reward", "evaluation", "gate", "monitor", "selection", "decision", "ship", "matrix", "arm"}
    | {"generated", "generation"}  # data that was audited, and by which bounds
    | {"calibration", "correctness", "search"}
)
MADE_WITH = frozenset(
    {"model.name", "model.backend", "model.lora_rank", "model.lora_alpha", "train.steps", "curriculum.mode"}
)
EVENT = "deviation"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a frozen run is changed, and by whom."""

    why: str
    who: str


@dataclass(frozen=True, slots=True)
class Change:
    """A field of the plan or a plugin's source, before and after; None where it is missing."""

    what: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Deviation:
    """A line of the ledger: who changed what after freezing, when, and why."""

    version: int
    event: str
    who: str
    why: str
    changes: tuple[Change, ...]
    plan_sha256: str
    recorded_at: str


def changes(locked: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[Change, ...]:
    """What two lock documents differ in, plan and plugin sources, field by field."""
    return tuple(
        Change(f"{part}.{c.what}", c.before, c.after)
        for part in ("plan", "sources")
        for c in differing(locked.get(part), now[part])
    )


def require_allowed(found: tuple[Change, ...], where: str) -> None:
    """Raise GateFailed for a change of how the run is judged, or of what its finished variants were made with."""
    for change in found:
        kind, _, field = change.what.partition(".")
        section = field.partition(".")[0] if kind == "plan" else field.partition("/")[0].removesuffix("s")
        if section in PROMISED or field in MADE_WITH:
            raise GateFailed(
                f"{change.what} was promised before the run; a deviation cannot change it",
                where=where,
                hint="choose another --out folder: that is another experiment",
            )


def entry(found: tuple[Change, ...], plan_sha256: str, reason: Reason) -> Deviation:
    """The ledger's line for changes that are allowed."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Deviation(1, EVENT, reason.who, reason.why, found, plan_sha256, now)


def differing(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """What two documents differ in, field by field, in the order of their names."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from differing(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif before != after:
        yield Change(path, before, after)
