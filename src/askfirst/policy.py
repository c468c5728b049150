"""The one thing with state: a model that samples, scores, learns and can be saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askfirst.values import Floats, Message, Row, StopReason


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What to open. `dtype` is that of the frozen weights; adapters are always fp32.

    `threads` is how many the process may use; 0 leaves it to the backend. `sampler` is "own" or another engine that
    the backend knows.
    """

    name: str
    lora_rank: int = 16
    lora_alpha: float = 32.0
    dtype: str = "fp32"
    threads: int = 0
    sampler: str = "own"


@dataclass(frozen=True, slots=True)
class Sampling:
    """`temperature` 0 is greedy. No top-p or top-k: sampler logprobs stay those of the policy."""

    max_tokens: int
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A prompt and one seed for each completion wanted from it."""

    prompt_ids: tuple[int, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """Sampled tokens (the end token included when it was sampled) and their logprobs in nats."""

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop: StopReason


TeacherKind = Literal["frozen", "live", "ema", "trust_region"]
# Row index and policy logprobs in, (value, d value / d logprob) out, both (T,), or (T, 1 + K) where the row names
# alternatives: the token's own first.
Objective = Callable[[int, Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True)
class StepSettings:
    """One optimiser step: AdamW with gradient-norm clipping. `lr` is the step's own, after schedule."""

    lr: float
    grad_clip: float = 1.0
    weight_decay: float = 0.0


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """`logprobs` are those the gradient was taken at, one array a row, shaped as in `Policy.logprobs`, 0 off the
    mask."""

    value: float
    grad_norm: float
    logprobs: tuple[Floats, ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes that a process will hold at most, and those that it could have: what it holds now and what is free."""

    peak: int
    available: int


@runtime_checkable
class Policy(Protocol):
    """What a backend's `open(spec, seed)` returns."""

    name: str
    trainable_parameters: int
    logprob_tolerance: float  # largest mean |sampled − recomputed| in nats that is mere rounding

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of a chat, ready for the assistant's reply."""

    def encode_reply(self, text: str) -> tuple[int, ...]:
        """Tokens of a reply as the policy would have sampled it, the end token included."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of sampled tokens, without the end token."""

    def encode_next(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens that continue a chat behind its last reply as it was sampled, end token included: what was said
        since, up to where the assistant speaks again."""

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, keep: bool = False
    ) -> list[list[Completion]]:
        """Completions in the order of requests and seeds. A completion depends on its prompt and seed only.

        With `keep`, prompts of the next call may continue these completions, and should then cost their new part only.
        """

    def logprobs(self, rows: Sequence[Row], reference: bool = False) -> list[Floats]:
        """Logprobs (T,) at each masked token; of the policy, or of the reference (adapter off).

        Of a row with alternatives (T, 1 + K), the token's own first; only where the policy is `Choosing`.
        """

    def update(self, rows: Sequence[Row], objective: Objective, settings: StepSettings) -> UpdateResult:
        """One optimiser step on Σ objective over the rows."""

    def footprint(self, prompts: Sequence[tuple[int, ...]], copies: int, new: int) -> Footprint | None:
        """Memory for sampling `copies` completions of `new` tokens of each prompt, and for an update on them.

        None where it is too little to matter.
        """

    def anchor(self) -> None:
        """From here on the reference is the policy as it stands, and the optimiser starts afresh.

        Before the first call the reference is the model as opened (adapter off).
        """

    def save(self, folder: Path) -> None:
        """Write adapter, reference and optimiser state into an existing folder."""

    def load(self, folder: Path) -> None:
        """Read back what `save` wrote; sampling afterwards is bitwise the same."""

    def fingerprint(self) -> str:
        """sha256 over the trainable weights."""


@dataclass(frozen=True, slots=True)
class Teacher:
    """Whose distribution a policy is taught with (arXiv 2601.20802, table 4).

    frozen: the reference; live: the policy as it stands; ema: weights that follow the policy's, `rate` of the way after
    every step; trust_region: q ∝ reference^(1 − rate) · policy^rate.
    """

    kind: TeacherKind = "frozen"
    rate: float = 0.01


@runtime_checkable
class Teaching(Protocol):
    """What a policy offers beside `Policy` to have the teachers ema and trust_region."""

    def teacher_logprobs(self, rows: Sequence[Row], teacher: Teacher) -> list[Floats]:
        """As `Policy.logprobs`, of a teacher of any kind."""

    def follow(self, rate: float) -> None:
        """Move the average teacher to (1 − rate) of what it was and `rate` of the policy as it stands.

        What is averaged are effective weights. Before the first call, and after an anchor, it is the reference.
        `save` and `load` keep it.
        """


@runtime_checkable
class Choosing(Protocol):
    """What a policy offers beside `Policy` to learn from alternatives to what it sampled."""

    def choices(self, rows: Sequence[Row], count: int) -> list[NDArray[np.int64]]:
        """Ids (T, count) of the tokens that the policy finds likeliest at each masked token, likeliest first; 0 off the
        mask."""
