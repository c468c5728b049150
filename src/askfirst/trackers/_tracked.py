"""What a tracker is told of a run when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = "askfirst"


@dataclass(frozen=True, slots=True)
class Tracked:
    """A run in a tracker: its group (the run folder's name), its own name, its settings, and where files may go."""

    group: str
    name: str
    config: Mapping[str, Any]
    folder: Path

    @property
    def file_name(self) -> str:
        """The name as part of a path."""
        return self.name.replace("/", "-")


def flat(config: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested settings under dotted names."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        found |= flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found
