"""A tiny Llama with the nano tokenizer, made fresh for each test that changes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import numpy as np
import pytest

from askfirst.policy import ModelSpec
from askfirst.values import Row

if find_spec("torch") is None:  # the backend's packages are an extra
    collect_ignore_glob = ["test_*.py"]
else:
    import torch

    from askfirst.backends.hf import nano
    from askfirst.backends.hf.models import Loaded, end_ids
    from askfirst.backends.hf.policy import HfPolicy

    SHAPE = nano.NanoShape(vocabulary=400, hidden=32, layers=2, heads=4, key_value_heads=2, mlp=64, context=256)

REPLY = (
    '{"spokenText": "Which draft?", "intent": "clarify", "payload": {"question": "Which draft?", "topic": "target"}}'
)
TEXTS = (
    "on-screen elements:\n[1] button|120,40|Delete|report draft\n\nuser said: delete the draft",
    REPLY,
    "user said: send the mail to Anna at 5pm",
    '{"spokenText": "I cannot do that.", "intent": "out_of_scope", "payload": {"reason": "no weather data"}}',
    "set a timer for ten minutes, then write to Bob and Carol about the meeting on Friday",
)
SPEC = ModelSpec("tiny", lora_rank=4, lora_alpha=8.0)


@pytest.fixture(scope="session")
def tokenizer() -> object:
    return nano.make_tokenizer(TEXTS, SHAPE.vocabulary)


@pytest.fixture
def make(tokenizer: object) -> Callable[..., HfPolicy]:
    """A function that opens the tiny policy; twice the same arguments, twice the same policy."""

    def opened(spec: ModelSpec = SPEC, seed: int = 0) -> HfPolicy:
        model = nano.make_model(tokenizer, SHAPE, seed=3)
        with torch.no_grad():  # wider logits than a fresh model's, so that differences show
            model.model.embed_tokens.weight.mul_(10)
        model.to({"fp32": torch.float32, "bf16": torch.bfloat16}[spec.dtype])
        return HfPolicy(Loaded(model, tokenizer, end_ids(model)), spec, seed)

    return opened


@pytest.fixture
def policy(make: Callable[..., HfPolicy]) -> HfPolicy:
    return make()


@pytest.fixture
def trained(policy: HfPolicy) -> HfPolicy:
    """A policy whose adapter has moved: B is no longer 0."""
    perturb(policy)
    return policy


def perturb(policy: HfPolicy) -> None:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for layer in policy._adapter.layers.values():
            layer.b.copy_(torch.randn(layer.b.shape, generator=generator) * 0.05)


def row(prompt: Sequence[int], reply: Sequence[int], advantage: float = 1.0) -> Row:
    ids = np.array([*prompt, *reply], dtype=np.int64)
    mask = np.arange(len(ids)) >= len(prompt)
    return Row(ids, mask, np.zeros(len(ids)), np.zeros(0), np.where(mask, advantage, 0.0))


def random_ids(count: int, seed: int) -> tuple[int, ...]:
    return tuple(np.random.Generator(np.random.Philox(key=seed)).integers(4, 380, count).tolist())


def grouped_rows() -> list[Row]:
    """Three prompts of different lengths with three, two and one replies, of different lengths, interleaved."""
    prompts = [random_ids(12, 1), random_ids(9, 2), random_ids(15, 3)]
    order = (0, 1, 0, 2, 1, 0)
    return [row(prompts[p], random_ids(3 + i, 10 + i), 1.0 - 2 * (i % 2)) for i, p in enumerate(order)]


def weighted(rows: Sequence[Row]) -> Callable[[int, np.ndarray], tuple[float, np.ndarray]]:
    """The plain policy-gradient objective −Σ advantage · logprob."""

    def objective(index: int, logprobs: np.ndarray) -> tuple[float, np.ndarray]:
        weights = np.where(rows[index].mask, -rows[index].advantages, 0.0)
        return float((weights * logprobs).sum()), weights

    return objective
