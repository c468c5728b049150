"""Random tiny models of other families: caps, windows, other heads, other caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.unit.backends.hf.conftest import SPEC, grouped_rows, perturb, random_ids, weighted

from askfirst.backends.hf import packed, trainer
from askfirst.backends.hf.models import Loaded
from askfirst.backends.hf.policy import HfPolicy
from askfirst.errors import ModelError
from askfirst.policy import SampleRequest, Sampling, StepSettings

SIZES = {
    "vocab_size": 448, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "eos_token_id": 3,
}  # fmt: skip


def tiny(config: Any, attention: str = "sdpa") -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(10)
    return model.eval()


FAMILIES: dict[str, Callable[[], Any]] = {
    "qwen2": lambda: tiny(transformers.Qwen2Config(**SIZES)),
    "qwen3": lambda: tiny(transformers.Qwen3Config(**SIZES, head_dim=8)),
    "mistral with a window of 6": lambda: tiny(transformers.MistralConfig(**SIZES, head_dim=8, sliding_window=6)),
    "gemma2 with caps": lambda: tiny(transformers.Gemma2Config(**SIZES, head_dim=8, sliding_window=6), "eager"),
    "gemma3 with a window of 6": lambda: tiny(transformers.Gemma3TextConfig(**SIZES, head_dim=8, sliding_window=6)),
    "cohere": lambda: tiny(transformers.CohereConfig(**SIZES, logit_scale=0.25)),
    "granite": lambda: tiny(transformers.GraniteConfig(**SIZES, logits_scaling=4.0)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_sampling_and_learning_agree_with_a_plain_pass(family: str, tokenizer: Any) -> None:
    policy = HfPolicy(Loaded(FAMILIES[family](), tokenizer, (3,)), SPEC, 0)
    perturb(policy)
    assert policy.network.packs
    rows = grouped_rows()
    result = policy.update(rows, weighted(rows), StepSettings(lr=0.0))
    assert result.grad_norm > 0
    for row, found in zip(rows, result.logprobs, strict=True):
        np.testing.assert_allclose(found, plain(policy, row.token_ids, row.mask), atol=1e-4)
    for prompt, group in zip(
        prompts := [random_ids(n, n) for n in (5, 9, 14)],
        policy.sample([SampleRequest(p, (1, 2)) for p in prompts], Sampling(8)),
        strict=True,
    ):
        for completion in group:
            ids = np.array(prompt + completion.token_ids)
            mask = np.arange(len(ids)) >= len(prompt)
            np.testing.assert_allclose(completion.logprobs, plain(policy, ids, mask)[mask], atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_in_turn_are_those_computed_together(
    family: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = HfPolicy(Loaded(FAMILIES[family](), tokenizer, (3,)), SPEC, 0)
    perturb(policy)
    rows = grouped_rows()
    adapter = [p for p in policy.network.model.parameters() if p.requires_grad]
    found = []
    for at_once in (1 << 30, 300, 1):
        monkeypatch.setattr(packed, "SCORES_AT_ONCE", at_once)
        policy.network.model.zero_grad()
        value, logprobs = trainer.backward(policy.network, rows, weighted(rows), 1536)
        found.append([np.array([value]), *logprobs, *(p.grad.numpy().copy() for p in adapter)])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5)


def plain(policy: HfPolicy, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Logprobs by the model's own forward pass over the whole sequence."""
    row = torch.from_numpy(ids)
    with torch.no_grad():
        logprobs = torch.log_softmax(policy.network.model(row.unsqueeze(0), use_cache=False).logits[0].double(), -1)
    found = np.concatenate([[0.0], logprobs[:-1].gather(1, row[1:, None]).squeeze(1).numpy()])
    return np.where(mask, found, 0.0)


@pytest.mark.parametrize(
    "config",
    [
        transformers.GPT2Config(vocab_size=448, n_embd=32, n_layer=1, n_head=2, n_positions=64),
        transformers.MambaConfig(vocab_size=448, hidden_size=32, num_hidden_layers=1),
    ],
    ids=lambda c: c.model_type,
)
def test_an_unsupported_architecture_is_refused_at_once(config: Any, tokenizer: Any) -> None:
    model = transformers.AutoModelForCausalLM.from_config(config)
    with pytest.raises(ModelError):
        HfPolicy(Loaded(model, tokenizer, (3,)), SPEC, 0)


def test_a_model_that_cannot_be_packed_is_trained_without(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askfirst.backends.hf.check._packed", lambda network, ids: torch.zeros(5, 448))
    policy = HfPolicy(Loaded(FAMILIES["qwen2"](), tokenizer, (3,)), SPEC, 0)
    assert not policy.network.packs


@pytest.mark.parametrize(("path", "message"), [("_token_by_token", "key-value cache"), ("logits", "linear map")])
def test_a_model_that_differs_where_it_must_not_is_refused(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    if path == "logits":
        monkeypatch.setattr("askfirst.backends.hf.network.Network.logits", lambda self, hidden: hidden.sum(-1, True))
    else:
        monkeypatch.setattr("askfirst.backends.hf.check._token_by_token", lambda network, ids: torch.zeros(6, 448))
    with pytest.raises(ModelError, match=message):
        HfPolicy(Loaded(FAMILIES["qwen2"](), tokenizer, (3,)), SPEC, 0)
