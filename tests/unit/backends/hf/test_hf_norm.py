"""Our norm is the library's, forward and backward, and stands in only where it is."""

from __future__ import annotations

import pytest
import torch
import transformers
from torch import Tensor
from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from askfirst.backends.hf import norm


def filled(size: int, dtype: torch.dtype) -> LlamaRMSNorm:
    module = LlamaRMSNorm(size, eps=1e-5).to(dtype)
    with torch.no_grad():
        module.weight.copy_(torch.linspace(0.5, 1.5, size))
    return module.requires_grad_(False)


def gradient(module: torch.nn.Module, x: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
    leaf = x.clone().requires_grad_()
    y = module(leaf)
    y.backward(slope)
    assert leaf.grad is not None
    return y.detach(), leaf.grad


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_values_and_gradients_are_the_librarys(dtype: torch.dtype, atol: float) -> None:
    generator = torch.Generator().manual_seed(0)
    theirs = filled(48, dtype)
    ours = norm.RmsNorm(theirs.weight, 1e-5)
    x, slope = (torch.randn((3, 5, 48), generator=generator).to(dtype) for _ in range(2))
    for a, b in zip(gradient(ours, x, slope), gradient(theirs, x, slope), strict=True):
        torch.testing.assert_close(a, b, atol=atol, rtol=0.02 if dtype == torch.bfloat16 else 1e-5)


def test_the_gradient_is_that_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn((2, 7), generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.linspace(0.5, 1.5, 7, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda t: norm._RmsNorm.apply(t, weight, 1e-5), (x,))


def test_only_norms_that_compute_the_same_are_replaced() -> None:
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    llama = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**sizes, **heads))
    assert norm.stand_in(llama) == 5
    gemma = transformers.AutoModelForCausalLM.from_config(transformers.Gemma2Config(**sizes, **heads, head_dim=8))
    before = [type(m) for m in gemma.modules()]
    assert norm.stand_in(gemma) == 0  # these multiply by 1 + w
    assert [type(m) for m in gemma.modules()] == before
    assert any(isinstance(m, Gemma2RMSNorm) for m in gemma.modules())
