"""The policy of this backend: a transformers causal LM with a LoRA adapter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from askfirst.backends._chat import Chat, Speaking
from askfirst.backends.hf import memory, targets, trainer
from askfirst.backends.hf.check import check
from askfirst.backends.hf.lora import Adapter, assign, read_tensors, write_tensors
from askfirst.backends.hf.models import Loaded, multiplies_bf16
from askfirst.backends.hf.network import Network
from askfirst.backends.hf.norm import stand_in
from askfirst.backends.hf.sampler import Manner, Sampler
from askfirst.backends.hf.targets import Asked, Weigh
from askfirst.backends.hf.vllm import VllmSampler
from askfirst.errors import BackendFault, InputError
from askfirst.policy import (
    Completion,
    Footprint,
    ModelSpec,
    Objective,
    SampleRequest,
    Sampling,
    StepSettings,
    Teacher,
    UpdateResult,
)
from askfirst.values import Floats, Row

OPTIMIZER_FILE = "optimizer.safetensors"
ROWS_AT_ONCE = 128  # completions decoded together
TOKENS_AT_ONCE = 1536  # padded token positions of a training micro-batch; more would pad more
# Cached decoding against a full pass differs by up to 2e-5 nats in fp32 and .07 on average in bf16.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.15}


@dataclass(frozen=True, slots=True)
class Adam:
    """The constants of AdamW, which are PyTorch's own defaults."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8


class HfPolicy(Speaking):
    """Implements `askfirst.policy.Policy`. Not safe for use by two threads at once."""

    def __init__(self, loaded: Loaded, spec: ModelSpec, seed: int) -> None:
        """Adapts the model in place; `seed` draws the adapter. Raises ModelError for an unsupported model."""
        self.name = spec.name
        self.rows_at_once, self.tokens_at_once = ROWS_AT_ONCE, TOKENS_AT_ONCE
        self.total_parameters = sum(p.numel() for p in loaded.model.parameters())
        self.logprob_tolerance = TOLERANCE[next(loaded.model.parameters()).dtype]
        stand_in(loaded.model)
        self.network = Network(loaded.model)
        self._chat = Chat(loaded.tokenizer, spec.name, loaded.end_ids)
        check(self.network)
        self._sampler: Sampler | VllmSampler = Sampler(self.network, self._chat.end_ids)
        self._adapter = Adapter(loaded.model, spec.lora_rank, spec.lora_alpha, seed)
        self.trainable_parameters = sum(p.numel() for p in self._adapter.parameters.values())
        self._optimizer = torch.optim.AdamW(self._adapter.parameters.values(), lr=0.0, weight_decay=0.0)
        self._forget()

    def sample_with(self, engine: Any) -> None:
        """From here on completions come from a `vllm.LLM` of the same model, opened with LoRA."""
        self._sampler = VllmSampler(engine, self._chat.end_ids, lambda folder: self._adapter.save(folder, self.name))

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, keep: bool = False
    ) -> list[list[Completion]]:
        """Completions in the order of requests and seeds; each depends on its prompt and seed only.

        With `keep`, prompts of the next call that continue these completions are not computed again.
        """
        with self._adapter.fixed(together=True):
            return self._sampler.sample(requests, sampling, self.rows_at_once, keep)

    def stream(self, prompt_ids: tuple[int, ...], seed: int, sampling: Sampling) -> Iterator[Completion]:
        """The completion that `sample` gives for a prompt and a seed, as far as it is drawn: with one token, with two,
        and at last whole. Between two of them the policy may be used for something else, and by another thread.
        """
        drawn = Sampler(self.network, self._chat.end_ids).stream(prompt_ids, seed, sampling)
        while True:
            # Entered anew for each token: a generator that is held within a context would hold its caller there too.
            with self._adapter.fixed(together=True), torch.inference_mode(), self.network.own_attention():
                found = next(drawn, None)
            if found is None:
                return
            yield found

    def sample_in(
        self, manner: Manner, requests: Sequence[SampleRequest], sampling: Sampling
    ) -> list[list[Completion]]:
        """Completions as `sample` makes them, chosen and ended in another manner than the policy's own."""
        with self._adapter.fixed(together=True):
            sampler = Sampler(self.network, manner.end_ids, manner)
            return sampler.sample(requests, sampling, self.rows_at_once)

    @property
    def end_ids(self) -> frozenset[int]:
        """The tokens that end a completion."""
        return self._chat.end_ids

    @property
    def tokenizer(self) -> Any:
        """The model's own, of transformers."""
        return self._chat.tokenizer

    def logprobs(self, rows: Sequence[Row], reference: bool = False) -> list[Floats]:
        """Logprobs in nats at temperature 1 at each masked token, of the policy or its reference: (T,), or (T, 1 + K)
        for a row with alternatives."""
        with self._adapter.fixed(reference):
            return trainer.logprobs(self.network, rows, self.tokens_at_once)

    def teacher_logprobs(self, rows: Sequence[Row], teacher: Teacher) -> list[Floats]:
        """As `logprobs`, of a teacher. That of a trust region mixes logits, and takes a pass of either model."""
        if teacher.kind in ("frozen", "live"):
            return self.logprobs(rows, reference=teacher.kind == "frozen")
        if teacher.kind == "ema":
            with self._adapter.fixed(average=True):
                return trainer.logprobs(self.network, rows, self.tokens_at_once)
        models = (lambda: self._adapter.fixed(reference=True)), self._adapter.fixed
        return trainer.mixed(self.network, rows, self.tokens_at_once, models, teacher.rate)

    def follow(self, rate: float) -> None:
        """Move the average teacher `rate` of the way to the policy, by their effective weights."""
        self._adapter.follow(rate)

    def choices(self, rows: Sequence[Row], count: int) -> list[NDArray[np.int64]]:
        """Ids (T, count) of the likeliest tokens at each masked token. Raises InputError for more than there are."""
        if count > int(self.network.config.vocab_size):
            raise InputError(f"{count} alternatives are more than the model's {self.network.config.vocab_size} tokens")
        with self._adapter.fixed():
            return trainer.choices(self.network, rows, self.tokens_at_once, count)

    def update(self, rows: Sequence[Row], objective: Objective, settings: StepSettings) -> UpdateResult:
        """One AdamW step (Loshchilov & Hutter 2019) down Σ objective, the gradient's norm clipped.

        Raises BackendFault, with weights and optimiser untouched, for no rows or a gradient that is not finite.
        """
        if not rows:
            raise BackendFault("an update needs at least one row")
        self.drop_gradient()
        value, logprobs = trainer.backward(self.network, rows, objective, self.tokens_at_once)
        return UpdateResult(value, self.step(settings), tuple(logprobs))

    def step(self, settings: StepSettings, adam: Adam = Adam()) -> float:
        """One AdamW step along the gradient gathered so far, which stays; its norm before it was clipped.

        Raises BackendFault, with weights and optimiser untouched, for a gradient that is not finite.
        """
        weights = list(self._adapter.parameters.values())
        for weight in weights:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        norm = float(torch.nn.utils.clip_grad_norm_(weights, settings.grad_clip))
        if not np.isfinite(norm):
            raise BackendFault(f"the gradient's norm is {norm}", hint="lower the learning rate")
        for group in self._optimizer.param_groups:
            group["lr"], group["weight_decay"] = settings.lr, settings.weight_decay
            group["betas"], group["eps"] = (adam.beta1, adam.beta2), adam.eps
        self._optimizer.step()
        self._sampler.forget()
        return norm

    def drop_gradient(self) -> None:
        """Forget the gradient gathered so far."""
        for weight in self._adapter.parameters.values():
            weight.grad = None

    def gather(self, asked: Sequence[Asked], weigh: Weigh) -> tuple[list[float], list[Floats]]:
        """Add to the gradient that of Σ weigh; the value and the logprobs (N, K) of each sequence."""
        return targets.backward(self.network, asked, weigh, self.tokens_at_once)

    def score(self, asked: Sequence[Asked]) -> list[Floats]:
        """Logprobs (N, K) in nats of the tokens asked for, at temperature 1."""
        with self._adapter.fixed():
            return targets.logprobs(self.network, asked, self.tokens_at_once)

    def likeliest(self, ids: Sequence[int], k: int) -> tuple[np.ndarray, Floats]:
        """The k likeliest tokens (N, k) behind each token of a sequence, and their logprobs (N, k)."""
        with self._adapter.fixed():
            return targets.likeliest(self.network, ids, k)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What whoever runs it here should know."""
        weights = next(self.network.model.parameters())
        if weights.device.type != "cpu" or weights.dtype != torch.bfloat16 or multiplies_bf16():
            return ()
        return ("this processor has no products in bf16 and takes several times as long for them as in fp32",)

    @property
    def optimiser_settings(self) -> tuple[float, float]:
        """Learning rate and weight decay as the optimiser has them."""
        (group,) = self._optimizer.param_groups
        return float(group["lr"]), float(group["weight_decay"])

    def footprint(self, prompts: Sequence[tuple[int, ...]], copies: int, new: int) -> Footprint:
        """Memory of the model's device for sampling `copies` completions of `new` tokens of each prompt and for an
        update on them, whichever takes more; within 15 % in benchmarks/memory.py."""
        # Before anything is tried: what malloc keeps of a trial will be used again.
        held = memory.held(self.network.device)
        available = held + memory.free(self.network.device)
        sampling = memory.sampling_bytes(self.network, prompts, copies, new, self.rows_at_once)
        learning = memory.learning_bytes(self.network, prompts, copies, new, self.tokens_at_once)
        return Footprint(held + memory.UNSEEN + max(sampling, learning), available)

    def anchor(self) -> None:
        """From here on the reference is the policy as it stands, and the optimiser starts afresh."""
        self._adapter.anchor()
        self._forget()

    def save(self, folder: Path) -> None:
        """Write a PEFT adapter, reference, average teacher and the optimiser's state into an existing folder."""
        self._adapter.save(folder, self.name)
        write_tensors(folder / OPTIMIZER_FILE, self._optimizer_state())

    def save_weights(self, folder: Path) -> None:
        """Write a PEFT adapter alone into an existing folder."""
        self._adapter.save(folder, self.name)

    def load_weights(self, folder: Path) -> None:
        """Read the adapter that `save` or `save_weights` wrote; the optimiser stays as it is."""
        self._adapter.load(folder)
        self._sampler.forget()

    def load(self, folder: Path) -> None:
        """Read back what `save` wrote. Raises InputError where the files do not fit this model."""
        found = read_tensors(folder / OPTIMIZER_FILE)
        self.load_weights(folder)
        assign(self._optimizer_state(), found, folder / OPTIMIZER_FILE)

    def fingerprint(self) -> str:
        """sha256 over the trainable weights."""
        return self._adapter.fingerprint()

    def _forget(self) -> None:
        for weight in self._adapter.parameters.values():
            # There from the start, so that a checkpoint has one layout at every step.
            self._optimizer.state[weight] = {
                "step": torch.tensor(0.0),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }

    def _optimizer_state(self) -> dict[str, Tensor]:
        return {
            f"{name}.{key}": value
            for name, weight in self._adapter.parameters.items()
            for key, value in self._optimizer.state[weight].items()
        }
