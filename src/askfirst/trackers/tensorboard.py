"""Event files for TensorBoard, a folder for each run. Needs the package `tensorboard`; TensorFlow is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.trackers._tracked import Tracked


def start(run: Tracked) -> Any:
    """Open the writer of a run; a run that goes on adds a file to its folder."""
    from tensorboard.summary import Writer

    return Writer(str(run.folder / run.name))


def log(handle: Any, values: Mapping[str, float], step: int) -> None:
    """Add a scalar for each value."""
    for name, value in values.items():
        handle.add_scalar(name, value, step)
    handle.flush()


def finish(handle: Any) -> None:
    """Close the file."""
    handle.close()
