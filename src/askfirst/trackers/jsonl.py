"""One file of JSON lines for each run: the settings, then a line of values for each step, then the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from askfirst.store import append_line
from askfirst.trackers._tracked import Tracked


def start(run: Tracked) -> Path:
    """Begin, or go on with, the file of a run."""
    path = run.folder / f"{run.file_name}.jsonl"
    append_line(path, {"event": "start", "group": run.group, "name": run.name, "config": dict(run.config)})
    return path


def log(handle: Path, values: Mapping[str, float], step: int) -> None:
    """Add the values of a step."""
    append_line(handle, {"event": "log", "step": step, "values": dict(values)})


def finish(handle: Path) -> None:
    """Add the end."""
    append_line(handle, {"event": "finish"})
