"""Trackio: runs in its local database, which `trackio show` opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.trackers._tracked import PROJECT, Tracked, flat


def start(run: Tracked) -> Any:
    """Open a run, or go on with the one of that name."""
    import trackio

    name = f"{run.group}/{run.name}"
    return trackio.init(
        project=PROJECT, name=name, group=run.group, config=flat(run.config), resume="allow", embed=False
    )


def log(handle: Any, values: Mapping[str, float], step: int) -> None:
    """Add the values of a step."""
    handle.log(dict(values), step=step)


def finish(handle: Any) -> None:
    """Close the run."""
    handle.finish()
