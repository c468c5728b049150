"""Shared prefixes, micro-batches and blocks of logits change the cost of a gradient and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.unit.backends.hf.conftest import grouped_rows, random_ids, row, weighted

from askfirst.backends.hf import trainer
from askfirst.backends.hf.policy import HfPolicy
from askfirst.errors import BackendFault
from askfirst.values import Row


def gradients(policy: HfPolicy) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in policy._adapter.parameters.values()])


def backward(policy: HfPolicy, rows: list[Row], budget: int = 4096) -> tuple[torch.Tensor, list[np.ndarray]]:
    for weight in policy._adapter.parameters.values():
        weight.grad = torch.zeros_like(weight)
    _, logprobs = trainer.backward(policy.network, rows, weighted(rows), budget)
    return gradients(policy), logprobs


def by_autograd(policy: HfPolicy, rows: list[Row]) -> tuple[torch.Tensor, list[np.ndarray]]:
    """The same objective written down directly: one full pass a row, all logits."""
    for weight in policy._adapter.parameters.values():
        weight.grad = torch.zeros_like(weight)
    found = []
    for r in rows:
        ids = torch.from_numpy(r.token_ids)
        lp = torch.log_softmax(policy.network.model(ids.unsqueeze(0), use_cache=False).logits[0], dim=-1)
        lp = torch.cat([lp.new_zeros(1), lp[:-1].gather(1, ids[1:, None]).squeeze(1)])
        lp = torch.where(torch.from_numpy(r.mask), lp, 0.0)
        (-(torch.from_numpy(r.advantages) * lp).sum()).backward()
        found.append(lp.detach().double().numpy())
    return gradients(policy), found


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("budget", [1, 60, 4096])
def test_logprobs_and_gradients_are_those_of_autograd(trained: HfPolicy, share: bool, budget: int) -> None:
    rows = grouped_rows()
    expected_gradient, expected = by_autograd(trained, rows)
    trained.network.packs = share
    gradient, logprobs = backward(trained, rows, budget)
    for ours, theirs in zip(logprobs, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert (gradient - expected_gradient).abs().max() < 1e-5 * expected_gradient.abs().max()


def test_blocks_of_logits_change_nothing(trained: HfPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = grouped_rows()
    whole, logprobs = backward(trained, rows)
    monkeypatch.setattr(trainer, "LOGITS_AT_ONCE", 1)
    split, others = backward(trained, rows)
    assert (whole - split).abs().max() < 1e-5 * whole.abs().max()
    for a, b in zip(logprobs, others, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_masked_out_tokens_have_no_gradient(trained: HfPolicy) -> None:
    """A turn of the user's between two of the policy's: its advantages are of no account."""
    prompt, reply, user, second = (random_ids(n, n) for n in (6, 4, 5, 3))
    ids = np.array(prompt + reply + user + second)
    mask = np.array([False] * 6 + [True] * 4 + [False] * 5 + [True] * 3)
    none = np.zeros(0)
    quiet = Row(ids, mask, np.zeros(18), none, np.where(mask, 1.0, 0.0))
    loud = Row(ids, mask, np.zeros(18), none, np.where(mask, 1.0, 1e6))
    first, logprobs = backward(trained, [quiet])
    second_gradient, _ = backward(trained, [loud])
    assert torch.equal(first, second_gradient)
    assert (logprobs[0][~mask] == 0).all()
    expected, _ = by_autograd(trained, [quiet])
    assert (first - expected).abs().max() < 1e-5 * expected.abs().max()


def test_a_fresh_adapter_learns_through_b_only(policy: HfPolicy) -> None:
    backward(policy, grouped_rows())
    weights = policy._adapter.parameters
    assert all(bool(w.grad.any()) == ("lora_B" in name) for name, w in weights.items())


def test_reading_and_learning_see_the_same_logprobs_to_the_bit(trained: HfPolicy) -> None:
    rows = grouped_rows()
    _, learning = backward(trained, rows)
    reading = trainer.logprobs(trained.network, rows, 4096)
    assert all(np.array_equal(a, b) for a, b in zip(learning, reading, strict=True))


@pytest.mark.parametrize(
    ("value", "slope"), [(0.0, np.zeros(3)), (float("nan"), np.zeros(8)), (0.0, np.full(8, np.inf))]
)
def test_a_malformed_objective_is_our_fault(policy: HfPolicy, value: float, slope: np.ndarray) -> None:
    rows = [row(random_ids(5, 1), random_ids(3, 2))]
    with pytest.raises(BackendFault, match="row 0"):
        trainer.backward(policy.network, rows, lambda i, lp: (value, slope), 4096)


def test_chosen_logprobs_and_their_gradient_are_those_of_log_softmax() -> None:
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(6, 50, generator=generator, dtype=torch.float64) * 8
    targets = torch.stack([torch.arange(6) * 7, torch.arange(6) * 5, torch.arange(6) * 7], dim=1)
    slope = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    leaf = logits.clone().requires_grad_()
    expected = torch.log_softmax(leaf, dim=1).gather(1, targets)
    given = logits.clone().requires_grad_()
    found = trainer.chosen(given * 1, targets)  # the logits are used up, so a leaf will not do
    torch.testing.assert_close(found, expected)
    (theirs,), (ours,) = (torch.autograd.grad(y, x, slope) for y, x in ((expected, leaf), (found, given)))
    torch.testing.assert_close(ours, theirs)
