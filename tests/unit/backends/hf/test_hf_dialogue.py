"""A dialogue goes on from what was computed before, and cannot be told from one that is computed anew each turn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.backends.hf.conftest import SPEC, perturb, random_ids, weighted
from tests.unit.backends.hf.test_hf_families import FAMILIES

from askfirst.backends.hf import decoding
from askfirst.backends.hf.models import Loaded
from askfirst.backends.hf.policy import HfPolicy
from askfirst.policy import Completion, SampleRequest, Sampling, StepSettings
from askfirst.values import Message, Row

PROMPTS = [random_ids(n, n) for n in (5, 9, 14, 23)]
ENDS = frozenset(range(4, 60))  # many end tokens: rows end at different times
Asked = list[tuple[tuple[int, ...], int]]  # prompts with a seed each


def opening() -> list[SampleRequest]:
    return [SampleRequest(p, (7 * i + 1, 7 * i + 2, 7 * i + 3)) for i, p in enumerate(PROMPTS)]


def next_turn(requests: list[SampleRequest], found: list[list[Completion]], turn: int) -> list[SampleRequest]:
    """Five of six episodes go on, in another order, each after words of a length of its own."""
    later = []
    for i, (request, group) in enumerate(zip(requests, found, strict=True)):
        for j, (seed, completion) in enumerate(zip(request.seeds, group, strict=True)):
            if (i + j + turn) % 6:
                said = random_ids(1 + (5 * i + 3 * j + turn) % 9, 100 * turn + 10 * i + j)
                later.append(SampleRequest((*request.prompt_ids, *completion.token_ids, *said), (seed + turn,)))
    return later[::-1]


def dialogue(policy: HfPolicy, keep: bool, turns: int = 4) -> list[list[list[Completion]]]:
    requests, found = opening(), []
    for turn in range(turns):
        found.append(policy.sample(requests, Sampling(10), keep=keep))
        requests = next_turn(requests, found[-1], turn + 1)
    return found


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens were fed before decoding, turn after turn."""
    counts: list[int] = []
    prefill, resume = decoding.PackedDecoder._prefill, decoding.PackedDecoder.resume

    def counted_prefill(self: Any, prompts: Any) -> Any:
        counts.append(sum(map(len, prompts)))
        return prefill(self, prompts)

    def counted_resume(self: Any, *given: Any) -> None:
        counts.append(0)
        resume(self, *given)

    monkeypatch.setattr(decoding.PackedDecoder, "_prefill", counted_prefill)
    monkeypatch.setattr(decoding.PackedDecoder, "resume", counted_resume)
    return counts


@pytest.mark.parametrize("most", [128, 5])
@pytest.mark.parametrize("family", ["mistral with a window of 6", "gemma2 with caps", "qwen3"])
def test_turns_that_are_kept_are_those_computed_anew(family: str, most: int, tokenizer: Any, fed: list[int]) -> None:
    policy = HfPolicy(Loaded(FAMILIES[family](), tokenizer, tuple(ENDS)), SPEC, 0)
    perturb(policy)
    policy.rows_at_once = most
    fed.clear()
    kept = dialogue(policy, keep=True)
    chunks = -(-12 // most)
    assert all(fed[:chunks])
    assert not any(fed[chunks:]), "a later turn computed its prompts again"
    anew = dialogue(policy, keep=False)
    lengths = set()
    for mine, theirs in zip(chain.from_iterable(kept), chain.from_iterable(anew), strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert one.token_ids == other.token_ids
            assert one.stop is other.stop
            np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-4)
            lengths.add(len(one.token_ids))
    assert len(lengths) > 4, "rows did not end at different times"


def test_a_long_word_is_fed_in_pieces(trained: HfPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dialogue(trained, keep=True)
    monkeypatch.setattr(decoding, "PREFILL_TOKENS", 24)
    pieces = dialogue(trained, keep=True)
    for mine, theirs in zip(chain.from_iterable(whole), chain.from_iterable(pieces), strict=True):
        assert [c.token_ids for c in mine] == [c.token_ids for c in theirs]


def test_a_short_row_goes_on_where_long_ones_are_gone(trained: HfPolicy) -> None:
    free = trained.sample(opening(), Sampling(24))
    trained._sampler.end_ids = frozenset({free[0][0].token_ids[1]})
    requests = opening()
    found = trained.sample(requests, Sampling(24), keep=True)
    assert len(found[0][0].token_ids) <= 2 < max(len(c.token_ids) for c in found[3])
    later = [SampleRequest((*PROMPTS[0], *found[0][0].token_ids, 77), (3,))]
    (kept,) = trained.sample(later, Sampling(3), keep=True)[0]
    (anew,) = trained.sample(later, Sampling(3))[0]
    assert kept.token_ids == anew.token_ids


def test_what_was_kept_is_forgotten_when_the_weights_change(trained: HfPolicy) -> None:
    requests = opening()
    found = trained.sample(requests, Sampling(6), keep=True)
    rows = [dialogue_row(request.prompt_ids, c.token_ids) for request, group in zip(requests, found, strict=True)
            for c in group]  # fmt: skip
    trained.update(rows, weighted(rows), StepSettings(lr=0.1))
    later = next_turn(requests, found, 1)
    after = trained.sample(later, Sampling(6))
    assert after == trained.sample(later, Sampling(6))


def test_a_model_that_cannot_pack_computes_each_turn_anew(trained: HfPolicy) -> None:
    packed = dialogue(trained, keep=True)
    trained.network.packs = False
    plain = dialogue(trained, keep=True)
    for mine, theirs in zip(chain.from_iterable(packed), chain.from_iterable(plain), strict=True):
        assert [c.token_ids for c in mine] == [c.token_ids for c in theirs]


def test_rows_of_several_turns_are_learnt_as_they_were_sampled(trained: HfPolicy) -> None:
    """Several sampled spans in a row, with what was said between them: the trainer gives the sampler's logprobs."""
    requests = opening()
    first = trained.sample(requests, Sampling(6), keep=True)
    later = next_turn(requests, first, 1)
    second = trained.sample(later, Sampling(6))
    rows, sampled = [], []
    for request, (completion,) in zip(later, second, strict=True):
        start = next(p for p in PROMPTS if request.prompt_ids[: len(p)] == p)
        earlier = next(
            c for r, g in zip(requests, first, strict=True) if r.prompt_ids == start
            for c in g if request.prompt_ids[len(start) : len(start) + len(c.token_ids)] == c.token_ids
        )  # fmt: skip
        ids = np.array(request.prompt_ids + completion.token_ids)
        mask = np.zeros(len(ids), dtype=bool)
        mask[len(start) : len(start) + len(earlier.token_ids)] = True
        mask[len(request.prompt_ids) :] = True
        rows.append(Row(ids, mask, np.zeros(len(ids)), np.zeros(0), np.where(mask, 1.0, 0.0)))
        sampled.append(earlier.logprobs + completion.logprobs)
    for row, found, wanted in zip(rows, trained.logprobs(rows), sampled, strict=True):
        np.testing.assert_allclose(found[row.mask], wanted, atol=1e-4)


def dialogue_row(prompt: tuple[int, ...], reply: tuple[int, ...]) -> Row:
    ids = np.array([*prompt, *reply])
    mask = np.arange(len(ids)) >= len(prompt)
    return Row(ids, mask, np.zeros(len(ids)), np.zeros(0), np.where(mask, 1.0, 0.0))


def test_the_chat_goes_on_behind_the_end_token(policy: HfPolicy) -> None:
    first = [Message("system", "be brief"), Message("user", "send it")]
    reply = "who should get it?"
    chat = [*first, Message("assistant", reply), Message("user", "anna, and say <|im_end|> to her")]
    ids = policy.encode(first) + policy.encode_reply(reply) + policy.encode_next(chat)
    whole = policy.encode(chat)
    end = policy._chat.end_id
    assert policy.decode(ids) == policy.decode(whole)
    assert ids.count(end) == whole.count(end)


def test_greedy_dialogues_equal_the_librarys_own_generation(policy: HfPolicy) -> None:
    model: Callable[..., torch.Tensor] = policy.network.model.generate
    (first,) = policy.sample([SampleRequest(PROMPTS[1], (1,))], Sampling(5, 0.0), keep=True)[0]
    prompt = (*PROMPTS[1], *first.token_ids, *random_ids(7, 3))
    (second,) = policy.sample([SampleRequest(prompt, (1,))], Sampling(8, 0.0))[0]
    expected = model(torch.tensor([prompt]), do_sample=False, max_new_tokens=8)[0, len(prompt) :].tolist()
    assert list(second.token_ids) == expected
