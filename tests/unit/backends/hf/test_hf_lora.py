"""Adapters: equal to the base at first, standard files, nothing loaded that does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.unit.backends.hf.conftest import SHAPE, SPEC, perturb, random_ids

from askfirst.backends.hf import nano
from askfirst.backends.hf.policy import HfPolicy
from askfirst.errors import InputError
from askfirst.policy import ModelSpec

IDS = torch.tensor([random_ids(12, 1)])


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_the_first_forward_pass_is_the_bases_to_the_bit(make: Callable[..., HfPolicy], dtype: str) -> None:
    policy = make(ModelSpec("tiny", 4, 8.0, dtype))
    with torch.no_grad():
        adapted = policy.network.model(IDS).logits
        with policy._adapter.fixed(reference=True):
            assert torch.equal(adapted, policy.network.model(IDS).logits)


def test_every_linear_layer_but_the_head_is_adapted(policy: HfPolicy) -> None:
    per_layer = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    names = [name.rpartition(".")[2] for name in policy._adapter.layers]
    assert sorted(names) == sorted([*per_layer] * SHAPE.layers)
    assert policy.trainable_parameters == sum(p.numel() for p in policy.network.model.parameters() if p.requires_grad)


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")  # PEFT asks transformers for it
def test_peft_loads_the_folder_and_computes_the_same(trained: HfPolicy, tokenizer: Any, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    trained.save(tmp_path)
    base = nano.make_model(tokenizer, SHAPE, seed=3)
    with torch.no_grad():
        base.model.embed_tokens.weight.mul_(10)
        loaded = peft.PeftModel.from_pretrained(base, tmp_path).eval()
        theirs, ours = loaded(IDS).logits, trained.network.model(IDS).logits
        assert (theirs - ours).abs().max() < 1e-4
        with loaded.disable_adapter():
            assert (loaded(IDS).logits - ours).abs().max() > 0.01


def test_the_seed_draws_the_adapter(make: Callable[..., HfPolicy]) -> None:
    assert make(seed=1).fingerprint() == make(seed=1).fingerprint() != make(seed=2).fingerprint()


def test_an_adapter_of_another_shape_is_refused(
    make: Callable[..., HfPolicy], trained: HfPolicy, tmp_path: Path
) -> None:
    trained.save(tmp_path)
    other = make(ModelSpec("tiny", 8, 8.0))
    before = other.fingerprint()
    with pytest.raises(InputError, match="rank 4"):
        other.load(tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps({**config, "r": 8}))
    with pytest.raises(InputError, match="shape"):
        other.load(tmp_path)
    assert other.fingerprint() == before


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "optimizer.safetensors"])
def test_a_damaged_file_is_refused_by_name(trained: HfPolicy, tmp_path: Path, name: str) -> None:
    trained.save(tmp_path)
    before = trained.fingerprint()
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:100])
    with pytest.raises(InputError, match=name):
        trained.load(tmp_path)
    assert trained.fingerprint() == before


def test_a_rank_of_zero_is_refused(make: Callable[..., HfPolicy]) -> None:
    with pytest.raises(InputError, match="lora_rank"):
        make(ModelSpec("tiny", 0, SPEC.lora_alpha))


def test_perturbing_moves_the_policy_and_not_its_base(policy: HfPolicy) -> None:
    with torch.no_grad():
        before = policy.network.model(IDS).logits
        perturb(policy)
        assert not torch.equal(policy.network.model(IDS).logits, before)
        with policy._adapter.fixed(reference=True):
            assert torch.equal(policy.network.model(IDS).logits, before)


def test_what_reads_one_tensor_is_computed_together_while_nothing_is_trained(policy: HfPolicy) -> None:
    perturb(policy)
    with torch.no_grad():
        trained = policy.network.model(IDS).logits
        with policy._adapter.fixed():
            assert torch.equal(policy.network.model(IDS).logits, trained)
        with policy._adapter.fixed(together=True):
            sizes = sorted({len(layer.together.layers) for layer in policy._adapter.layers.values()})
            assert sizes == [1, 2, 3]  # out and down alone; gate and up; queries, keys and values
            torch.testing.assert_close(policy.network.model(IDS).logits, trained, atol=1e-4, rtol=1e-4)


def test_the_gradients_of_an_adapted_layer_are_those_of_autograd(policy: HfPolicy) -> None:
    perturb(policy)
    layer = policy._adapter.layers["model.layers.0.self_attn.q_proj"]
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(5, layer.base.in_features, generator=generator, requires_grad=True)
    slope = torch.randn(5, layer.base.out_features, generator=generator)
    plain = x @ layer.base.weight.t() + layer.together.scale * (x @ layer.a.t()) @ layer.b.t()
    wanted = (x, layer.a, layer.b)
    expected = torch.autograd.grad(plain, wanted, slope)
    found = torch.autograd.grad(layer(x), wanted, slope)
    for theirs, ours in zip(expected, found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
