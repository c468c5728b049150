"""What is asked of a Tinker service: clients, passes, and the weights of an adapter as bytes."""

from __future__ import annotations

import hashlib
import json
import math
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import tinker
from tinker import types
from tinker.lib.base_url import resolve_base_url

from askfirst.errors import BackendFault, InputError
from askfirst.values import Floats, Row

LOSS = "cross_entropy"
# What the SDK raises for a request that failed, whichever end it failed at.
FAILED = (tinker.TinkerError, ValueError, RuntimeError, TimeoutError, httpx.HTTPError)
NORMS = ("unclipped_grad_l2:mean", "grad_norm:mean", "grad_norm")  # metrics that are the norm of a gradient
CONNECT_SECONDS = 10.0
FILES = (".safetensors", ".json")


def connect() -> tinker.ServiceClient:
    """A client of the service that the environment names. Raises InputError where none answers."""
    url = urlsplit(resolve_base_url())
    port = url.port or (443 if url.scheme == "https" else 80)
    hint = "start one: askfirst serve tinker; and set TINKER_BASE_URL and TINKER_API_KEY as it says"
    try:
        # The SDK would try again for minutes.
        socket.create_connection((url.hostname or "", port), CONNECT_SECONDS).close()
        client = tinker.ServiceClient()
        client.holder.get_session_id()
    except (OSError, *FAILED) as error:
        raise InputError(f"no Tinker service answers: {error}", where=url.geturl(), hint=hint) from error
    return client


def asked(what: str, ask: Callable[[], Any]) -> Any:
    """What a service answers. Raises BackendFault where it does not."""
    try:
        return ask().result()
    except FAILED as error:
        raise BackendFault(f"{what}: {error}", where="Tinker service") from error


def logprobs(client: tinker.TrainingClient, rows: Sequence[Row]) -> list[Floats]:
    """Logprobs (T,) in nats at each masked token of the rows, 0 elsewhere."""
    chosen = _trained(rows)
    found = [np.zeros(len(row.token_ids)) for row in rows]
    if chosen:
        data = [datum(rows[i], rows[i].mask.astype(np.float64)) for i in chosen]
        outputs = asked("a forward pass failed", lambda: client.forward(data, LOSS)).loss_fn_outputs
        for i, output in zip(chosen, outputs, strict=True):
            mask = rows[i].mask
            found[i][mask] = output["logprobs"].to_numpy()[mask[1:]]
    return found


def learn(
    client: tinker.TrainingClient, rows: Sequence[Row], slopes: Sequence[Floats], params: types.AdamParams
) -> float:
    """One step of Adam down Σ slope · logprob; the norm of its gradient, as the service reports it."""
    data = [datum(rows[i], -slopes[i]) for i in _trained(rows)]
    passed = client.forward_backward(data, LOSS) if data else None
    stepped = client.optim_step(params)  # sent before the pass is waited for: they are done in order
    if passed is not None:
        asked("a backward pass failed", lambda: passed)
    metrics: Mapping[str, float] = asked("a step failed", lambda: stepped).metrics or {}
    for name in NORMS:
        if name in metrics:
            return float(metrics[name])
    raise BackendFault(
        f"the service reports no norm of the gradient, which every step records: {sorted(metrics) or 'nothing'}",
        where="Tinker service",
    )


def datum(row: Row, weights: Floats) -> types.Datum:
    """A row as the API has it: each token predicts the next, whose logprob has a weight."""
    ids = row.token_ids.tolist()
    inputs = {
        "target_tokens": types.TensorData(data=ids[1:], dtype="int64", shape=[len(ids) - 1]),
        "weights": types.TensorData(data=weights[1:].astype(np.float32), dtype="float32", shape=[len(ids) - 1]),
    }
    return types.Datum(model_input=types.ModelInput.from_ints(ids[:-1]), loss_fn_inputs=inputs)


def _trained(rows: Sequence[Row]) -> list[int]:
    chosen = [i for i, row in enumerate(rows) if row.mask.any()]
    for i in chosen:
        if rows[i].mask[0]:
            raise BackendFault(f"row {i}: its first token is masked, but nothing comes before it to predict it")
    return chosen


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of an adapter by their names."""

    files: Mapping[str, bytes]

    @classmethod
    def fetch(cls, client: tinker.TrainingClient, name: str) -> Weights:
        """Those that a model has now. `name` is new for this model."""
        path = asked("the weights were not saved", lambda: client.save_weights_external(name)).path
        urls = asked("the weights are not offered", lambda: tinker.RestClient().get_external_weights_urls(path)).urls
        return cls({file: _download(url) for file, url in sorted(urls.items()) if file.endswith(FILES)})

    @property
    def fingerprint(self) -> str:
        """sha256 over the tensors."""
        digest = hashlib.sha256()
        for name, body in self._tensors().items():
            digest.update(name.encode() + b"\0" + body)
        return digest.hexdigest()

    @property
    def parameters(self) -> int:
        """How many numbers they are."""
        found = 0
        for name, body in self._tensors().items():
            try:
                header = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])
                shapes = [entry["shape"] for key, entry in header.items() if key != "__metadata__"]
                found += sum(math.prod(shape) for shape in shapes)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BackendFault(f"{name} is no safetensors file: {error}", where="Tinker service") from error
        return found

    def _tensors(self) -> dict[str, bytes]:
        return {name: body for name, body in self.files.items() if name.endswith(FILES[0])}


def _download(url: str) -> bytes:
    try:
        body: bytes = httpx.get(url, follow_redirects=True, timeout=300.0).raise_for_status().content
    except httpx.HTTPError as error:
        raise BackendFault(f"the weights do not come: {error}", where="Tinker service") from error
    return body
