"""The policy keeps the backends' contract, in both dtypes, across anchors and folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.unit.backends.hf.conftest import REPLY, SPEC, TEXTS, grouped_rows, perturb, row, weighted

from askfirst.backends.hf import models
from askfirst.backends.hf import policy as module
from askfirst.backends.hf.policy import HfPolicy
from askfirst.contracts import backends as contract
from askfirst.errors import BackendFault
from askfirst.policy import ModelSpec, Policy, Sampling, StepSettings
from askfirst.values import Message

PROMPTS = [[Message("user", text)] for text in TEXTS]
SAMPLING = Sampling(10)
STEP = StepSettings(lr=0.01)


def test_it_is_a_policy(policy: HfPolicy) -> None:
    assert isinstance(policy, Policy)
    assert policy.total_parameters > policy.trainable_parameters > 0


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_contract(make: Callable[..., HfPolicy], dtype: str) -> None:
    policy = make(ModelSpec("tiny", 4, 8.0, dtype))
    contract.replies_round_trip(policy, [*TEXTS, "é\n  ü 🙂 {}}"])
    if dtype == "fp32":  # bf16 rounds differently in other company, and a draw may fall on the other side
        contract.completions_depend_on_prompt_and_seed(policy, PROMPTS, SAMPLING)
        contract.dialogues_go_on(policy, PROMPTS, SAMPLING)
    contract.starts_at_the_reference(policy, PROMPTS, SAMPLING)
    contract.sampled_logprobs_recomputed(policy, PROMPTS, SAMPLING)
    contract.nothing_to_learn_moves_nothing(policy, PROMPTS, SAMPLING)
    contract.teachers_start_at_the_reference(policy, PROMPTS, SAMPLING)
    contract.first_ratio_is_one(policy, PROMPTS, SAMPLING)
    contract.sampled_logprobs_recomputed(policy, PROMPTS, SAMPLING)  # the sampler follows the weights
    contract.reward_raises_likelihood(policy, PROMPTS, SAMPLING, STEP)
    contract.value_ignores_order(policy, PROMPTS, SAMPLING, tolerance=1e-4 if dtype == "fp32" else 0.1)


def test_save_and_load(make: Callable[..., HfPolicy], tmp_path: Path) -> None:
    contract.save_and_load(make(), make(seed=9), tmp_path, PROMPTS, SAMPLING)


def test_a_step_is_adamw_with_a_clipped_gradient(trained: HfPolicy, make: Callable[..., HfPolicy]) -> None:
    """Against the textbook rule (Loshchilov & Hutter 2019, algorithm 2), two steps."""
    other = make()
    perturb(other)
    rows = grouped_rows()
    settings = StepSettings(lr=0.02, grad_clip=0.5, weight_decay=0.1)
    weights = [w.detach().double().clone() for w in other._adapter.parameters.values()]
    m, v = [torch.zeros_like(w) for w in weights], [torch.zeros_like(w) for w in weights]
    for t in (1, 2):
        result = trained.update(rows, weighted(rows), settings)
        still = other.update(rows, weighted(rows), StepSettings(lr=0.0, grad_clip=1e9))
        assert result.grad_norm == pytest.approx(still.grad_norm, rel=1e-3)
        assert result.grad_norm > 0.5
        for i, parameter in enumerate(other._adapter.parameters.values()):
            g = parameter.grad.double() * 0.5 / still.grad_norm
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g**2
            step = (m[i] / (1 - 0.9**t)) / ((v[i] / (1 - 0.999**t)).sqrt() + 1e-8)
            weights[i] = weights[i] * (1 - 0.02 * 0.1) - 0.02 * step
            with torch.no_grad():
                parameter.copy_(weights[i].float())
    for expected, found in zip(weights, trained._adapter.parameters.values(), strict=True):
        close = (expected - found.double()).abs() < 1e-4
        assert close.float().mean() > 0.99  # rare gradients near 0 have a sign that rounding decides


def test_an_anchor_makes_the_policy_its_reference(
    trained: HfPolicy, make: Callable[..., HfPolicy], tmp_path: Path
) -> None:
    rows = grouped_rows()
    opened = trained.logprobs(rows, reference=True)
    trained.update(rows, weighted(rows), STEP)
    assert np.array_equal(np.concatenate(trained.logprobs(rows, reference=True)), np.concatenate(opened))
    trained.anchor()
    anchored = trained.logprobs(rows)
    assert all(np.array_equal(a, b) for a, b in zip(anchored, trained.logprobs(rows, reference=True), strict=True))
    assert float(trained._optimizer_state()[next(iter(trained._adapter.parameters)) + ".step"]) == 0
    trained.update(rows, weighted(rows), STEP)
    assert not np.array_equal(trained.logprobs(rows)[0], anchored[0])
    trained.save(tmp_path)
    other = make(seed=4)
    other.load(tmp_path)
    for policy in (trained, other):
        found = policy.logprobs(rows, reference=True)
        assert all(np.array_equal(a, b) for a, b in zip(anchored, found, strict=True))


def test_loading_an_unanchored_checkpoint_takes_the_anchor_back(
    policy: HfPolicy, make: Callable[..., HfPolicy], tmp_path: Path
) -> None:
    rows = grouped_rows()
    opened = policy.logprobs(rows, reference=True)
    policy.save(tmp_path)
    other = make()
    perturb(other)
    other.anchor()
    other.load(tmp_path)
    assert all(np.array_equal(a, b) for a, b in zip(opened, other.logprobs(rows, reference=True), strict=True))


def test_two_runs_end_at_the_same_weights(make: Callable[..., HfPolicy]) -> None:
    ends = []
    for _ in range(2):
        policy = make()
        for _ in range(2):
            rows = contract.sampled_rows(policy, PROMPTS, SAMPLING)
            policy.update(rows, weighted(rows), STEP)
        ends.append(policy.fingerprint())
    assert ends[0] == ends[1] != make().fingerprint()


def test_no_rows_and_infinite_gradients_leave_everything_as_it_was(policy: HfPolicy) -> None:
    before = policy.fingerprint()
    with pytest.raises(BackendFault, match="at least one row"):
        policy.update([], lambda i, lp: (0.0, lp), STEP)
    rows = grouped_rows()
    optimiser = {name: value.clone() for name, value in policy._optimizer_state().items()}
    with pytest.raises(BackendFault, match="norm"):
        policy.update(rows, lambda i, lp: (0.0, np.where(rows[i].mask, 1e300, 0.0)), STEP)
    assert policy.fingerprint() == before
    assert all(torch.equal(value, optimiser[name]) for name, value in policy._optimizer_state().items())


def test_supervised_replies_are_learnt(policy: HfPolicy) -> None:
    prompt = policy.encode(PROMPTS[0])
    demonstration = row(prompt, policy.encode_reply(REPLY))
    first = policy.update([demonstration], weighted([demonstration]), STEP).value
    for _ in range(5):
        last = policy.update([demonstration], weighted([demonstration]), STEP).value
    assert last < first


@pytest.mark.parametrize(("dtype", "native", "said"), [("bf16", False, 1), ("bf16", True, 0), ("fp32", False, 0)])
def test_says_where_products_in_bf16_are_made_in_software(
    dtype: str, native: bool, said: int, make: Callable[..., HfPolicy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "multiplies_bf16", lambda: native)
    assert len(make(replace(SPEC, dtype=dtype)).remarks) == said


@pytest.mark.parametrize("found", [{"avx512_bf16": True}, {"amx_bf16": True, "avx2": True}, {"bf16": True}])
def test_a_processor_with_products_in_bf16_is_known_by_its_flags(
    found: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found)
    assert models.multiplies_bf16()
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {**dict.fromkeys(found, False), "avx2": True})
    assert not models.multiplies_bf16()
