"""The part of the Tinker API that looks at checkpoints and training runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tinker import types

from askfirst.errors import InputError
from askfirst.serve.tinker.service import Service
from askfirst.serve.tinker.shelf import EXTERNAL, RECORD, SAMPLER, TRAINING, Place

TYPES = {TRAINING: "training", SAMPLER: "sampler", EXTERNAL: "external"}
VALID = timedelta(days=1)  # of a link to a file


class Rest:
    """Checkpoints on the shelf of a service, as the SDK's RestClient asks for them."""

    def __init__(self, service: Service) -> None:
        self._service, self._shelf = service, service.shelf

    def training_run(self, model_id: str) -> types.TrainingRun:
        """What a model is, in training or not."""
        about, places = self._shelf.about(model_id), self._shelf.of_model(model_id)
        latest: dict[str, types.Checkpoint] = {place.kind: self._checkpoint(place) for place in places}
        return types.TrainingRun(
            training_run_id=model_id,
            base_model=about.base_model,
            model_owner="local",
            is_lora=True,
            lora_rank=about.rank,
            last_request_time=datetime.now(UTC),
            last_checkpoint=latest.get(TRAINING),
            last_sampler_checkpoint=latest.get(SAMPLER),
            user_metadata=dict(about.user_metadata) or None,
        )

    def checkpoints(self, model_id: str) -> types.CheckpointsListResponse:
        """The checkpoints of a model, the oldest first."""
        self._shelf.about(model_id)
        return types.CheckpointsListResponse(checkpoints=[self._checkpoint(p) for p in self._shelf.of_model(model_id)])

    def weights_info(self, uri: str) -> types.WeightsInfoResponse:
        """What a checkpoint is of."""
        about = self._shelf.find(Place.parse(uri))[1].about
        return types.WeightsInfoResponse(
            base_model=about.base_model, is_lora=True, lora_rank=about.rank, train_unembed=False, train_mlp=True,
            train_attn=True,
        )  # fmt: skip

    def delete(self, model_id: str, checkpoint_id: str) -> None:
        """Delete a checkpoint."""
        self._shelf.remove(_place(model_id, checkpoint_id))

    def expire(self, model_id: str, checkpoint_id: str, ttl_seconds: int | None) -> None:
        """Give a checkpoint another end."""
        if ttl_seconds is not None and ttl_seconds < 1:
            raise InputError(f"ttl_seconds is {ttl_seconds}")
        self._shelf.expire(_place(model_id, checkpoint_id), ttl_seconds)

    def urls(self, model_id: str, checkpoint_id: str, here: str) -> dict[str, Any]:
        """A link for each file of an external checkpoint; `here` is where this server is."""
        place = _place(model_id, checkpoint_id)
        folder, _ = self._shelf.find(place)
        if place.kind != EXTERNAL:
            raise InputError(f"{place.uri} is not in an external format", hint="save_weights_external makes one")
        base = f"{here}/api/v1/files/{model_id}/{place.name}"
        names = [path.name for path in sorted(folder.iterdir()) if path.name != RECORD]
        return {"urls": {name: f"{base}/{name}" for name in names}, "expires": (datetime.now(UTC) + VALID).isoformat()}

    def file(self, model_id: str, name: str, file: str) -> Path:
        """One file of an external checkpoint."""
        folder, _ = self._shelf.find(Place(model_id, EXTERNAL, name).checked())
        found = {path.name: path for path in folder.iterdir() if path.name != RECORD}
        if file not in found:
            raise InputError(f"no file is called {file!r}")
        return found[file]

    def _checkpoint(self, place: Place) -> types.Checkpoint:
        _, record = self._shelf.find(place)
        ends = datetime.fromtimestamp(record.expires_at, UTC) if record.expires_at else None
        return types.Checkpoint.model_validate({
            "checkpoint_id": f"{place.kind}/{place.name}",
            "checkpoint_type": TYPES[place.kind],
            "time": datetime.fromtimestamp(record.created_at, UTC),
            "tinker_path": place.uri,
            "size_bytes": self._shelf.size(place),
            "user_metadata": dict(record.user_metadata) or None,
            "expires_at": ends,
        })  # fmt: skip


def _place(model_id: str, checkpoint_id: str) -> Place:
    return Place.parse(f"tinker://{model_id}/{checkpoint_id}")
