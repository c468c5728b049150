"""The policy of this backend: weights and optimiser at a Tinker service, the chat's tokens here."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tinker
from tinker import types
from transformers import GenerationConfig

from askfirst import store
from askfirst.backends._chat import Chat, Speaking
from askfirst.backends.tinker import remote
from askfirst.errors import BackendFault, InputError
from askfirst.policy import (
    Completion,
    ModelSpec,
    Objective,
    SampleRequest,
    Sampling,
    StepSettings,
    UpdateResult,
)
from askfirst.values import Floats, Row, StopReason

STATE_FILE = "tinker.json"
ALPHA = 32.0  # of every adapter at a service of this API
TOLERANCE = {"fp32": 1e-4, "bf16": 0.15}  # as of backend hf


class TinkerPolicy(Speaking):
    """Implements `askfirst.policy.Policy`. The weights that a saved folder names stay at the service."""

    def __init__(self, spec: ModelSpec, seed: int) -> None:
        """Raises InputError where no service answers, and for a model or an adapter that it does not offer."""
        if spec.lora_alpha != ALPHA or spec.sampler != "own":
            raise InputError(
                f"adapters of a Tinker service have alpha {ALPHA:g} and its own sampler",
                where="model.lora_alpha, model.sampler",
            )
        self.name, self._rank, self._seed = spec.name, spec.lora_rank, seed
        self.logprob_tolerance = TOLERANCE[spec.dtype]
        self._service = remote.connect()
        weakref.finalize(self, _end, self._service)  # the service need not wait until it is silent for too long
        try:
            self._training = self._fresh()
            tokenizer = self._training.get_tokenizer()
        except (BackendFault, OSError, ValueError) as error:
            raise InputError(f"the service does not offer this model: {error}", where=spec.name) from error
        self._chat = Chat(tokenizer, spec.name, _ends(tokenizer.name_or_path))
        self._reference: tinker.TrainingClient | None = None
        self._reference_path: str | None = None
        self._sampling: tinker.SamplingClient | None = None
        self._saved = 0
        self._weights: remote.Weights | None = None
        self.trainable_parameters = self._now().parameters

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, keep: bool = False
    ) -> list[list[Completion]]:
        """Completions in the order of requests and seeds. What is kept between turns is up to the service."""
        del keep
        if self._sampling is None:
            self._sampling = remote.asked(
                "the weights were not passed on", self._training.save_weights_and_get_sampling_client
            )
        client, ends = self._sampling, sorted(self._chat.end_ids)
        given = types.SamplingParams(max_tokens=sampling.max_tokens, stop=ends, temperature=sampling.temperature)
        futures = [
            [
                client.sample(
                    types.ModelInput.from_ints(list(request.prompt_ids)), 1, given.model_copy(update={"seed": seed})
                )
                for seed in request.seeds
            ]
            for request in requests
        ]
        return [[_completion(future) for future in group] for group in futures]

    def logprobs(self, rows: Sequence[Row], reference: bool = False) -> list[Floats]:
        """Logprobs (T,) in nats at temperature 1 at each masked token, of the policy or its reference."""
        if not reference:
            return remote.logprobs(self._training, rows)
        if self._reference is None:
            self._reference = self._fresh()  # an adapter that was never trained changes nothing
        return remote.logprobs(self._reference, rows)

    def update(self, rows: Sequence[Row], objective: Objective, settings: StepSettings) -> UpdateResult:
        """One AdamW step down Σ objective with the constants of backend `hf`, the gradient's norm clipped.

        Raises BackendFault for no rows, and where the objective returns what is not finite or of another shape.
        """
        if not rows:
            raise BackendFault("an update needs at least one row")
        found = self.logprobs(rows)
        values, slopes = [], []
        for i, row in enumerate(rows):
            value, slope = objective(i, found[i].copy())
            if np.shape(slope) != found[i].shape or not (math.isfinite(value) and np.isfinite(slope).all()):
                raise BackendFault(f"row {i}: the objective or its slope is not finite, or of another shape")
            values.append(float(value))
            slopes.append(np.where(row.mask, slope, 0.0))
        params = types.AdamParams(
            learning_rate=settings.lr,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            weight_decay=settings.weight_decay,
            grad_clip_norm=settings.grad_clip,
        )
        norm = remote.learn(self._training, rows, slopes, params)
        self._moved()
        return UpdateResult(math.fsum(values), norm, tuple(found))

    def footprint(self, prompts: Sequence[tuple[int, ...]], copies: int, new: int) -> None:
        """None: the memory is the service's."""
        del prompts, copies, new

    def anchor(self) -> None:
        """From here on the reference is the policy as it stands, and the optimiser starts afresh."""
        self._reference_path = self._keep()
        self._reference = self._from(self._reference_path, optimizer=False)
        self._training = self._from(self._reference_path, optimizer=False)

    def save(self, folder: Path) -> None:
        """Keep weights and optimiser at the service, and write their names and the adapter's files into a folder."""
        for name, body in self._now().files.items():
            store.write_bytes(folder / Path(name).name, body)
        record = {"version": 1, "base": self.name, "rank": self._rank, "reference": self._reference_path}
        store.write_json(folder / STATE_FILE, record | {"state": self._keep()})

    def load(self, folder: Path) -> None:
        """Go on from what `save` kept. Raises InputError for another model's, BackendFault where it is gone."""
        record = store.read_json(folder / STATE_FILE)
        own = {"version": 1, "base": self.name, "rank": self._rank}
        if not isinstance(record, dict) or {key: record.get(key) for key in own} != own or "state" not in record:
            raise InputError(f"not a checkpoint of {self.name} with rank {self._rank}", where=str(folder / STATE_FILE))
        self._training = self._from(str(record["state"]), optimizer=True)
        self._reference_path = record.get("reference")
        self._reference = None if self._reference_path is None else self._from(self._reference_path, optimizer=False)
        self._moved()

    def fingerprint(self) -> str:
        """sha256 over the trainable weights, which are downloaded for it."""
        return self._now().fingerprint

    def _fresh(self) -> tinker.TrainingClient:
        found: tinker.TrainingClient = remote.asked(
            "no adapter was made",
            lambda: self._service.create_lora_training_client(
                self.name, rank=self._rank, seed=self._seed, train_unembed=False
            ),
        )
        return found

    def _from(self, path: str, optimizer: bool) -> tinker.TrainingClient:
        make = (
            self._service.create_training_client_from_state_with_optimizer
            if optimizer
            else self._service.create_training_client_from_state
        )
        found: tinker.TrainingClient = remote.asked(f"{path} was not loaded", lambda: make(path))
        return found

    def _keep(self) -> str:
        """The path of the policy as it stands."""
        return str(remote.asked("the state was not saved", lambda: self._training.save_state(self._name())).path)

    def _name(self) -> str:
        self._saved += 1
        return f"askfirst-{self._saved}"

    def _now(self) -> remote.Weights:
        if self._weights is None:
            self._weights = remote.Weights.fetch(self._training, self._name())
        return self._weights

    def _moved(self) -> None:
        self._sampling = self._weights = None


def _end(service: tinker.ServiceClient) -> None:
    service.close("success")


def _completion(future: Any) -> Completion:
    (sequence,) = remote.asked("sampling failed", lambda: future).sequences
    stop = StopReason.END if sequence.stop_reason == "stop" else StopReason.LENGTH
    if sequence.logprobs is None:
        raise BackendFault("the service samples without logprobs", where="Tinker service")
    return Completion(tuple(sequence.tokens), tuple(sequence.logprobs), stop)


def _ends(source: str) -> tuple[int, ...]:
    """The tokens at which a model's own settings end generation, where its files say so."""
    try:
        found: Any = GenerationConfig.from_pretrained(source).eos_token_id
    except OSError:
        return ()
    return tuple(found) if isinstance(found, list | tuple) else () if found is None else (int(found),)
