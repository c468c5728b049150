"""What the one thread of the server does: passes, steps and samples of adapters over one base model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tinker import types

from askfirst.backends.hf.lora import CONFIG_FILE
from askfirst.backends.hf.models import Loaded, twin
from askfirst.backends.hf.policy import Adam, HfPolicy
from askfirst.backends.hf.sampler import Manner
from askfirst.backends.hf.targets import Asked
from askfirst.errors import BackendFault, InputError
from askfirst.policy import Completion, ModelSpec, SampleRequest, Sampling, StepSettings
from askfirst.serve.tinker import losses, wire
from askfirst.store import read_json, seed_from
from askfirst.values import Floats

ALPHA = 32.0  # of every adapter, as at the service that the API is of
MASKED = -99999.0  # the SDK's logprob of a place that has none
SAMPLES = 4096  # that one request may ask for
STOP_BYTES = 8  # more than a stop string that are looked at for it: tokens may be cut anywhere


@dataclass(frozen=True, slots=True)
class Drawing:
    """A sampling request with the seed of each of its samples."""

    request: types.SampleRequest
    seeds: tuple[int, ...]


class Engine:
    """One base model; every adapter has modules of its own over its weights."""

    def __init__(self, base: Loaded, name: str) -> None:
        self._base, self._name = base, name
        # Rank → a policy that samples, and the folder whose weights it has; None: those of the base.
        self._samplers: dict[int, tuple[HfPolicy, Path | None]] = {}
        first = self.open(1, 0)
        self._samplers[0] = (first, None)
        self.context, self.vocabulary = first.network.context, int(first.network.config.vocab_size)

    def open(self, rank: int, seed: int) -> HfPolicy:
        """A fresh adapter. Raises InputError for a rank that is none."""
        return HfPolicy(twin(self._base), ModelSpec(self._name, rank, ALPHA), seed)

    def run_pass(self, policy: HfPolicy, request: wire.Pass) -> bytes:
        """Logprobs and loss of a request, and unless it is forward only its gradient, added to what was gathered."""
        loss, settings = losses.named(request.loss_fn, request.config)
        data = [self._read(i, message, request.loss_fn) for i, message in enumerate(request.data)]
        if not data:
            raise InputError("a pass needs data")

        def weigh(index: int, logprobs: Floats) -> tuple[float, Floats]:
            datum = data[index]
            value, slope = loss(datum.inputs, settings, logprobs[:, 0] if datum.flat else logprobs)
            return value, slope[:, None] if datum.flat else slope

        asked = [datum.asked for datum in data]
        if request.forward_only:
            found = policy.score(asked)
            values = [weigh(i, logprobs)[0] for i, logprobs in enumerate(found)]
        else:
            values, found = policy.gather(asked, weigh)
        total = math.fsum(values)
        if not math.isfinite(total):
            raise BackendFault("the loss is not finite")
        shaped = [found[i][:, 0] if datum.flat else found[i] for i, datum in enumerate(data)]
        return wire.write_pass(shaped, total)

    def step(self, policy: HfPolicy, params: types.AdamParams) -> dict[str, Any]:
        """One AdamW step along what was gathered, which is used up. The norm is that before it was clipped."""
        numbers = params.model_dump()
        if not all(math.isfinite(x) and x >= 0 for x in numbers.values()) or max(params.beta1, params.beta2) >= 1:
            raise InputError(f"AdamParams must be finite, not negative, and the betas below 1: {numbers}")
        clip = params.grad_clip_norm or math.inf
        try:
            norm = policy.step(
                StepSettings(params.learning_rate, clip, params.weight_decay),
                Adam(params.beta1, params.beta2, params.eps),
            )
        finally:
            policy.drop_gradient()
        return {"metrics": {"unclipped_grad_l2:mean": norm}}

    def sample(self, folder: Path | None, drawings: Sequence[Drawing]) -> list[bytes]:
        """Answers to requests that are drawn in one manner from the adapter in a folder, or from the base model."""
        policy = self._sampler(folder)
        prompts = [self._prompt(drawing) for drawing in drawings]
        params = drawings[0].request.sampling_params
        manner = self._manner(policy, params)
        groups: list[list[Completion]] = [[] for _ in drawings]
        # Requests without a bound of their own fill the context, each as far as its prompt leaves room.
        rooms = [params.max_tokens or max(1, self.context - len(prompt)) for prompt in prompts]
        for room in sorted(set(rooms)):
            chosen = [i for i, each in enumerate(rooms) if each == room]
            wanted = [SampleRequest(prompts[i], drawings[i].seeds) for i in chosen]
            found = policy.sample_in(manner, wanted, Sampling(room, params.temperature))
            for i, completions in zip(chosen, found, strict=True):
                groups[i] = completions
        return [
            wire.write_sampled(self._sampled(policy, drawing.request, prompt, completions))
            for drawing, prompt, completions in zip(drawings, prompts, groups, strict=True)
        ]

    def _read(self, index: int, message: Any, loss: str) -> wire.Datum:
        try:
            datum = wire.read_datum(message)
            losses.check(loss, datum.inputs)
            self._check_ids(datum.asked.ids)
            self._check_ids(datum.asked.targets)
        except InputError as error:
            raise InputError(error.message, where=f"datum {index}", hint=error.hint) from error
        return datum

    def _check_ids(self, ids: Any) -> None:
        array = np.asarray(ids)
        if array.size and not (array.min() >= 0 and array.max() < self.vocabulary):
            raise InputError(f"token {array.min()} or {array.max()} is outside the vocabulary of {self.vocabulary}")
        if len(array) > self.context:
            raise InputError(f"{len(array)} tokens exceed the model's context of {self.context}")

    def _sampler(self, folder: Path | None) -> HfPolicy:
        rank = 0 if folder is None else int(read_json(folder / CONFIG_FILE)["r"])
        policy, held = self._samplers.get(rank) or (self.open(rank, 0), None)
        if folder is not None and held != folder:
            policy.load_weights(folder)
        self._samplers[rank] = (policy, folder)
        return policy

    def _prompt(self, drawing: Drawing) -> tuple[int, ...]:
        request, prompt = drawing.request, wire.prompt_of(drawing.request.prompt)
        self._check_ids(prompt)
        if request.prompt_alt_tokens_k:
            raise InputError("prompt_alt_tokens_k is not offered by this server")
        last = request.prompt_logprobs_last_n
        if last is not None and not (request.prompt_logprobs and 1 <= last <= len(prompt) - 1):
            raise InputError(f"prompt_logprobs_last_n {last} needs prompt_logprobs and a prompt of more tokens")
        for k in (request.topk_prompt_logprobs, request.topk_sample_logprobs):
            if not 0 <= k <= self.vocabulary:
                raise InputError(f"the {k} likeliest tokens of a vocabulary of {self.vocabulary} are asked for")
        return prompt

    def _manner(self, policy: HfPolicy, params: types.SamplingParams) -> Manner:
        stop, temperature = params.stop, params.temperature
        if not (math.isfinite(temperature) and temperature >= 0 and 0 < params.top_p <= 1):
            raise InputError(f"temperature {temperature} and top_p {params.top_p} sample nothing")
        if params.max_tokens is not None and params.max_tokens < 1:
            raise InputError(f"max_tokens is {params.max_tokens}")
        texts = [stop] if isinstance(stop, str) else [s for s in stop or () if isinstance(s, str)]
        ids = frozenset(s for s in stop or () if isinstance(s, int)) if not isinstance(stop, str) else frozenset()
        # An empty list asks for no end at all; anything else ends where the model does, too.
        ends = frozenset() if stop is not None and len(stop) == 0 else policy.end_ids | ids
        if any(not text for text in texts):
            raise InputError("a stop string is empty")
        width = max((len(text.encode()) for text in texts), default=0) + STOP_BYTES

        def stopped(tokens: Sequence[int]) -> bool:
            said = policy.tokenizer.decode(list(tokens[-width:]), skip_special_tokens=False)
            return any(text in said for text in texts)

        return Manner(ends, max(0, params.top_k), params.top_p, stopped if texts else None)

    def _sampled(
        self, policy: HfPolicy, request: types.SampleRequest, prompt: tuple[int, ...], completions: list[Completion]
    ) -> wire.Sampled:
        k = request.topk_sample_logprobs
        top = []
        for completion in completions if k else ():
            ids, found = policy.likeliest((*prompt, *completion.token_ids[:-1]), k)
            top.append(wire.Top(ids[len(prompt) - 1 :], found[len(prompt) - 1 :]))
        first = len(prompt) - request.prompt_logprobs_last_n if request.prompt_logprobs_last_n else 1
        return wire.Sampled(
            completions,
            top,
            self._prompt_logprobs(policy, prompt, first) if request.prompt_logprobs else None,
            self._top_prompt(policy, prompt, request.topk_prompt_logprobs, first),
            self._targets(policy, request, prompt),
        )

    def _prompt_logprobs(self, policy: HfPolicy, prompt: tuple[int, ...], first: int) -> Floats:
        """Logprobs (N,) of a prompt's tokens from the place `first` on, NaN before it."""
        ids = np.array(prompt, dtype=np.int64)
        found = np.full(len(ids), np.nan)
        if len(ids) > 1:
            found[first:] = policy.score([Asked(ids[:-1], ids[1:, None])])[0][first - 1 :, 0]
        return found

    def _top_prompt(self, policy: HfPolicy, prompt: tuple[int, ...], k: int, first: int) -> wire.Top | None:
        if not k:
            return None
        ids, logprobs = np.zeros((len(prompt), k), dtype=np.int64), np.full((len(prompt), k), MASKED)
        if len(prompt) > 1:
            best, values = policy.likeliest(prompt[:-1], k)
            ids[first:], logprobs[first:] = best[first - 1 :], values[first - 1 :]
        return wire.Top(ids, logprobs)

    def _targets(self, policy: HfPolicy, request: types.SampleRequest, prompt: tuple[int, ...]) -> Floats | None:
        """Logprobs (N − 1, K) of the tokens that the request names for each place of the prompt; 0 for −1."""
        given = request.target_prompt_logprobs
        if given is None:
            return None
        values, shape = np.array(given.data, dtype=np.int64), tuple(given.shape or ())
        sparse = given.sparse_crow_indices is not None
        if len(shape) != 2 or shape[0] != len(prompt) - 1 or not 0 < math.prod(shape) <= wire.CELLS:
            raise InputError(f"target_prompt_logprobs have shape {shape} for a prompt of {len(prompt)} tokens")
        if sparse:
            rows, columns = (np.array(x, dtype=np.int64) for x in (given.sparse_crow_indices, given.sparse_col_indices))
            values = wire.dense(values + 1, rows, columns, shape) - 1
        elif values.size != math.prod(shape):
            raise InputError(f"target_prompt_logprobs have {values.size} values for shape {shape}")
        wanted = values.reshape(shape)
        self._check_ids(np.where(wanted == -1, 0, wanted))
        asked = Asked(np.array(prompt[:-1], dtype=np.int64), np.maximum(wanted, 0))
        return np.where(wanted == -1, 0.0, policy.score([asked])[0])


def seeds_of(request: types.SampleRequest, name: str) -> tuple[int, ...]:
    """The seed of each sample: the request's own for the first, others of it and their number, or all of `name`."""
    if not 1 <= request.num_samples <= SAMPLES:
        raise InputError(f"num_samples is {request.num_samples}, which must be from 1 to {SAMPLES}")
    seed = request.sampling_params.seed
    if seed is None:
        return tuple(seed_from("tinker", name, i) for i in range(request.num_samples))
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}, which must be from 0 to 2^63 − 1")
    return (seed, *(seed_from("tinker", seed, i) for i in range(1, request.num_samples)))
