"""Weights & Biases, offline: run directories that `wandb sync` uploads when somebody wants that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.trackers._tracked import PROJECT, Tracked


def start(run: Tracked) -> Any:
    """Open an offline run beside those that are open."""
    import wandb

    run.folder.mkdir(parents=True, exist_ok=True)
    return wandb.init(
        project=PROJECT,
        group=run.group,
        name=run.name,
        config=dict(run.config),
        dir=str(run.folder),
        mode="offline",
        reinit="create_new",
    )


def log(handle: Any, values: Mapping[str, float], step: int) -> None:
    """Add the values of a step."""
    handle.log(dict(values), step=step)


def finish(handle: Any) -> None:
    """Close the run."""
    handle.finish()
