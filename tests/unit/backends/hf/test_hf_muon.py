"""The optimiser of models built from scratch, against torch's own, which knows bf16 alone."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from askfirst.backends.hf.muon import Muon, orthogonal  # noqa: E402


@pytest.mark.parametrize(("dtype", "gap"), [(torch.bfloat16, 2e-2), (torch.float32, 4e-2)])
def test_steps_are_those_of_torch_within_its_rounding(dtype: torch.dtype, gap: float) -> None:
    torch.manual_seed(0)
    shapes = [(24, 48), (24, 48), (48, 24), (16, 16)]
    ours = [torch.randn(shape).requires_grad_() for shape in shapes]
    theirs = [w.detach().clone().requires_grad_() for w in ours]
    own = Muon(ours, 0.1, 0.05, dtype)
    other = torch.optim.Muon(theirs, 0.1, 0.05, adjust_lr_fn="match_rms_adamw")
    before = [w.detach().clone() for w in ours]
    for _ in range(3):
        for one, two in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape)
            two.grad = one.grad.clone()
        own.step()
        other.step()
    for start, one, two in zip(before, ours, theirs, strict=True):
        assert (one - two).norm() <= gap * (two - start).norm()


def test_singular_values_are_about_one() -> None:
    found = orthogonal(torch.randn(3, 40, 24, generator=torch.Generator().manual_seed(1)))
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.6
    assert values.max() < 1.3
