"""MLflow with a local SQLite store: `mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db` opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askfirst.trackers._tracked import PROJECT, Tracked, flat

LONGEST = 500  # characters of a setting


@dataclass(frozen=True, slots=True)
class Handle:
    """A client and the run that it is for."""

    client: Any
    run_id: str


def start(run: Tracked) -> Handle:
    """Create a run in the store of the folder."""
    import mlflow

    run.folder.mkdir(parents=True, exist_ok=True)
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{run.folder.resolve()}/mlflow.db")
    found = client.get_experiment_by_name(PROJECT)
    experiment = found.experiment_id if found else client.create_experiment(PROJECT)
    made = client.create_run(experiment, run_name=run.name, tags={"group": run.group})
    for name, value in flat(run.config).items():
        client.log_param(made.info.run_id, name, str(value)[:LONGEST])
    return Handle(client, made.info.run_id)


def log(handle: Handle, values: Mapping[str, float], step: int) -> None:
    """Add a metric for each value."""
    for name, value in values.items():
        handle.client.log_metric(handle.run_id, name, value, step=step)


def finish(handle: Handle) -> None:
    """Mark the run as finished."""
    handle.client.set_terminated(handle.run_id)
