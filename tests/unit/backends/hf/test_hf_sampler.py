"""Sampling follows the model's distribution, and a completion depends on its prompt and seed only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.backends.hf.conftest import perturb, random_ids

from askfirst.backends.hf import sampler
from askfirst.backends.hf.policy import HfPolicy
from askfirst.errors import InputError
from askfirst.policy import Completion, SampleRequest, Sampling
from askfirst.values import StopReason

PROMPTS = [random_ids(n, n) for n in (5, 9, 9, 14, 23)]


@pytest.mark.parametrize("packs", [True, False])
def test_greedy_equals_the_librarys_own_generation(policy: HfPolicy, packs: bool) -> None:
    model = policy.network.model
    policy.network.packs = packs
    for prompt in PROMPTS:
        expected = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=12)[0, len(prompt) :].tolist()
        (found,) = policy.sample([SampleRequest(prompt, (1,))], Sampling(12, 0.0))[0]
        assert list(found.token_ids) == expected


@pytest.mark.parametrize("packs", [True, False])
def test_company_order_and_chunking_change_nothing(trained: HfPolicy, packs: bool) -> None:
    trained.network.packs = packs
    requests = [SampleRequest(p, (7 * i + 1, 7 * i + 2, 7 * i + 3)) for i, p in enumerate(PROMPTS)]
    sampling = Sampling(16)
    together = trained.sample(requests, sampling)
    backwards = [SampleRequest(r.prompt_ids, r.seeds[::-1]) for r in requests[::-1]]
    turned = [group[::-1] for group in trained.sample(backwards, sampling)[::-1]]
    trained.rows_at_once = 2
    chunked = trained.sample(requests, sampling)
    alone = [[trained.sample([SampleRequest(r.prompt_ids, (s,))], sampling)[0][0] for s in r.seeds] for r in requests]
    for other in (turned, chunked, alone):
        assert [[c.token_ids for c in g] for g in together] == [[c.token_ids for c in g] for g in other]
    assert len({c.token_ids for g in together for c in g}) == 15


@pytest.mark.parametrize("packs", [True, False])
def test_rows_that_end_early_leave_the_others_alone(
    trained: HfPolicy, monkeypatch: pytest.MonkeyPatch, packs: bool
) -> None:
    trained.network.packs = packs
    requests = [SampleRequest(p, tuple(range(8))) for p in PROMPTS]
    free = trained.sample(requests, Sampling(20))
    ends = frozenset(c.token_ids[3 + i] for i, c in enumerate(free[0]) if i < 5) | {free[4][0].token_ids[2]}
    monkeypatch.setattr(trained._sampler, "end_ids", ends)
    stopped = trained.sample(requests, Sampling(20))
    lengths = set()
    for group, wanted in zip(stopped, free, strict=True):
        for completion, whole in zip(group, wanted, strict=True):
            hits = [i for i, t in enumerate(whole.token_ids) if t in ends]
            length = hits[0] + 1 if hits else 20
            assert completion.token_ids == whole.token_ids[:length]
            assert completion.stop is (StopReason.END if hits else StopReason.LENGTH)
            assert len(completion.logprobs) == length
            lengths.add(length)
    assert len(lengths) > 3  # rows did end at different times


@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_stream_is_the_sample_token_by_token(
    trained: HfPolicy, monkeypatch: pytest.MonkeyPatch, packs: bool, temperature: float
) -> None:
    trained.network.packs = packs
    prompt, sampling = PROMPTS[2], Sampling(12, temperature)

    def sampled(tokens: int) -> Completion:
        return trained.sample([SampleRequest(prompt, (7,))], Sampling(tokens, temperature))[0][0]

    streams = [trained.stream(prompt, seed, sampling) for seed in (7, 8)]
    beside = []
    for pair in zip(*streams, strict=True):  # two streams at once, and other uses between their tokens
        beside.append(pair[0])
        assert not torch.is_inference_mode_enabled()
        assert not trained._adapter._together[0].fixed
        trained.sample([SampleRequest(PROMPTS[0], (1,))], Sampling(2))
    assert beside == [sampled(tokens) for tokens in range(1, 13)]
    whole = beside[-1].token_ids
    for holder in (trained._sampler, trained._chat):
        monkeypatch.setattr(holder, "end_ids", frozenset({whole[4]}))
    ended = list(trained.stream(prompt, 7, sampling))
    assert ended[-1] == sampled(12)
    assert ended[-1].stop is StopReason.END
    assert len(ended) == whole.index(whole[4]) + 1
    with pytest.raises(InputError, match="exceeds the model's context"):
        next(trained.stream(prompt, 7, Sampling(10_000)))


def test_recorded_logprobs_are_those_of_a_plain_pass(trained: HfPolicy) -> None:
    model = trained.network.model
    for group, prompt in zip(
        trained.sample([SampleRequest(p, (1, 2)) for p in PROMPTS], Sampling(10)), PROMPTS, strict=True
    ):
        for completion in group:
            ids = torch.tensor([prompt + completion.token_ids])
            with torch.no_grad():
                plain = torch.log_softmax(model(ids, use_cache=False).logits[0].double(), dim=-1)
            expected = [float(plain[len(prompt) + i - 1, t]) for i, t in enumerate(completion.token_ids)]
            np.testing.assert_allclose(completion.logprobs, expected, atol=1e-4)


def test_draws_follow_the_softmax_at_the_temperature() -> None:
    logits = torch.tensor([2.0, -1.0, 0.5, -torch.inf, 1.0])
    u = sampler.uniforms([3], 20_000).squeeze(0)
    for temperature in (1.0, 0.5):
        probabilities = torch.softmax(logits / temperature, dim=0)
        tokens, logprobs = sampler.draw(logits.repeat(len(u), 1), u, temperature)
        share = torch.bincount(tokens, minlength=5) / len(u)
        assert (share - probabilities).abs().max() < 4 * (0.25 / len(u)) ** 0.5
        np.testing.assert_allclose(logprobs.numpy(), probabilities.log()[tokens].numpy(), rtol=1e-5)
        assert share[3] == 0


def test_extreme_uniforms_draw_possible_tokens() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]] * 2)
    tokens, _ = sampler.draw(logits.clone(), torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64), 1.0)
    assert tokens.tolist() == [1, 2]


@given(
    weights=st.lists(st.floats(-30, 5), min_size=1, max_size=700),
    u=st.floats(0, 1, exclude_max=True),
)
def test_a_draw_is_the_inverse_of_the_cumulative_sum(weights: list[float], u: float) -> None:
    logits = torch.tensor([weights])
    tokens, _ = sampler.draw(logits.clone(), torch.tensor([u], dtype=torch.float64), 1.0)
    cumulative = np.cumsum(np.exp(np.float64(logits[0]) - max(weights)))
    token, point = int(tokens[0]), u * cumulative[-1]
    slack = 1e-6 * cumulative[-1]  # logits less their maximum are rounded to fp32
    assert cumulative[token] >= point - slack
    assert (cumulative[token - 1] if token else 0.0) <= point + slack


def test_a_seed_names_its_stream() -> None:
    both = sampler.uniforms([5, 2**63 - 1], 4)
    assert torch.equal(both[:1], sampler.uniforms([5], 4))
    assert torch.equal(both[1:, :2], sampler.uniforms([2**63 - 1], 2))


def test_two_runs_are_bitwise_the_same(make: Callable[..., HfPolicy]) -> None:
    requests = [SampleRequest(p, (1, 2)) for p in PROMPTS]
    first, second = make(), make()
    perturb(first)
    perturb(second)
    assert first.sample(requests, Sampling(8)) == second.sample(requests, Sampling(8))


@pytest.mark.parametrize(("prompt", "new"), [((), 4), (random_ids(250, 1), 10), ((5,), 0)])
def test_what_does_not_fit_is_refused(policy: HfPolicy, prompt: tuple[int, ...], new: int) -> None:
    with pytest.raises(InputError):
        policy.sample([SampleRequest(prompt, (1,))], Sampling(new))
