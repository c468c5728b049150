"""Sampling: each prompt computed once, one forward pass a token for all rows, randomness per row."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache

from askfirst.backends.hf import cache as caches
from askfirst.backends.hf.network import Network
from askfirst.errors import InputError
from askfirst.policy import Completion, SampleRequest, Sampling
from askfirst.values import StopReason

COMPACT_AT = 0.25  # fraction of finished rows at which the others are moved together


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One completion to make, and where it goes in the answer."""

    prompt: tuple[int, ...]
    seed: int
    request: int
    index: int


def sample(
    network: Network, end_ids: frozenset[int], requests: Sequence[SampleRequest], sampling: Sampling, max_rows: int
) -> list[list[Completion]]:
    """Completions in the order of requests and seeds; at most `max_rows` rows are in memory at a time.

    Raises InputError for a prompt that is empty or leaves no room in the model's context.
    """
    if sampling.max_tokens < 1 or sampling.temperature < 0:
        raise InputError(f"max_tokens {sampling.max_tokens} and temperature {sampling.temperature} sample nothing")
    wanted = [_Wanted(r.prompt_ids, s, i, j) for i, r in enumerate(requests) for j, s in enumerate(r.seeds)]
    for item in wanted:
        _check_room(network, len(item.prompt), sampling.max_tokens)
    # Rows of similar length share a chunk, rows of one prompt stand side by side.
    wanted.sort(key=lambda w: (len(w.prompt), w.prompt, w.request, w.index))
    answers: list[list[Completion | None]] = [[None] * len(r.seeds) for r in requests]
    with torch.inference_mode():
        for start in range(0, len(wanted), max_rows):
            chunk = wanted[start : start + max_rows]
            for item, completion in zip(chunk, _complete(network, end_ids, chunk, sampling), strict=True):
                answers[item.request][item.index] = completion
    return [[c for c in row if c is not None] for row in answers]


def draw(logits: Tensor, uniforms: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Tokens (rows,) by inverse transform of one uniform each, and their logprobs (rows,) in nats.

    Logprobs are of the distribution drawn from; greedy draws report those at temperature 1.
    """
    logprobs = torch.log_softmax(logits / (temperature or 1.0), dim=-1)
    if temperature == 0:
        tokens = logits.argmax(dim=-1)
    else:
        # fp32 sums over a large vocabulary are off by more than the rarest token's share.
        cumulative = logprobs.double().exp().cumsum(dim=-1)
        point = (uniforms * cumulative[:, -1]).unsqueeze(1)
        tokens = torch.searchsorted(cumulative, point, right=True).squeeze(1).clamp(max=logits.shape[-1] - 1)
    return tokens, logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)


def uniforms(seeds: Sequence[int], count: int) -> Tensor:
    """(rows, count) numbers in [0, 1): a Philox stream for each seed, one number for each position."""
    streams = [np.random.Generator(np.random.Philox(key=seed)).random(count) for seed in seeds]
    return torch.from_numpy(np.stack(streams))


def _check_room(network: Network, prompt: int, new: int) -> None:
    if prompt == 0:
        raise InputError("a prompt has no tokens")
    if prompt + new > network.context:
        raise InputError(
            f"prompt of {prompt} tokens plus {new} new ones exceeds the model's context of {network.context}",
            hint="shorten the system prompt or lower max_tokens",
        )


class _Chunk:
    """The rows being decoded together. All per-row tensors shrink when finished rows are dropped."""

    def __init__(self, network: Network, chunk: Sequence[_Wanted], sampling: Sampling) -> None:
        self.network = network
        lengths = [len(w.prompt) for w in chunk]
        self.start = max(lengths)
        room = self.start + sampling.max_tokens
        device = network.device
        self.lengths = torch.tensor(lengths, device=device)
        self.mask = torch.arange(room, device=device) >= (self.start - self.lengths).unsqueeze(1)  # (rows, room)
        self.uniforms = uniforms([w.seed for w in chunk], sampling.max_tokens).to(device)
        self.ids = torch.arange(len(chunk))  # row → place in the chunk
        self.cache, self.hidden = self._prefill([w.prompt for w in chunk], room)

    def _prefill(self, prompts: list[tuple[int, ...]], room: int) -> tuple[Cache, Tensor]:
        """Each distinct prompt once; prompts of one length together, so that nothing is padded."""
        runs = [(prompt, len(list(same))) for prompt, same in itertools.groupby(prompts)]
        slots: list[caches.SlotLayer] = []
        hidden, row = [], 0
        for length, same_length in itertools.groupby(runs, key=lambda run: len(run[0])):
            batch = list(same_length)
            ids = torch.tensor([prompt for prompt, _ in batch], device=self.network.device)
            positions = torch.arange(length, device=ids.device).expand_as(ids)
            filled = caches.empty(self.network.layers)
            states = self.network.hidden(ids, positions, None, filled)[:, -1]  # (prompts, size)
            slots = slots or [caches.SlotLayer(len(prompts), room, x.keys, x.values) for x in filled.layers]
            for i, (_, copies) in enumerate(batch):
                for slot, layer in zip(slots, filled.layers, strict=True):
                    slot.put(row, self.start, layer.keys[i : i + 1], layer.values[i : i + 1], copies)
                hidden.append(states[i].expand(copies, -1))
                row += copies
        return Cache(layers=slots), torch.cat(hidden)

    def advance(self, tokens: Tensor, step: int) -> None:
        """Feed every row its token of this step."""
        seen = self.mask[:, : self.start + step + 1]
        mask = seen[:, None, None, :] if self.network.takes_ready_mask else seen
        positions = (self.lengths + step).unsqueeze(1)
        self.hidden = self.network.hidden(tokens.unsqueeze(1), positions, mask, self.cache)[:, 0]

    def keep(self, rows: Tensor) -> None:
        """Drop all but these rows."""
        self.lengths, self.mask, self.uniforms = self.lengths[rows], self.mask[rows], self.uniforms[rows]
        self.ids = self.ids[rows.cpu()]
        for layer in self.cache.layers:
            layer.keep(rows)


def _complete(
    network: Network, end_ids: frozenset[int], chunk: Sequence[_Wanted], sampling: Sampling
) -> list[Completion]:
    state = _Chunk(network, chunk, sampling)
    ends = torch.tensor(sorted(end_ids), device=network.device)
    tokens_of: list[list[int]] = [[] for _ in chunk]
    logprobs_of: list[list[float]] = [[] for _ in chunk]
    ended = [False] * len(chunk)
    for step in range(sampling.max_tokens):
        tokens, logprobs = draw(network.logits(state.hidden), state.uniforms[:, step], sampling.temperature)
        is_end = torch.isin(tokens, ends)
        rows = zip(state.ids.tolist(), tokens.tolist(), logprobs.tolist(), is_end.tolist(), strict=True)
        for place, token, logprob, last in rows:
            if not ended[place]:
                tokens_of[place].append(token)
                logprobs_of[place].append(logprob)
                ended[place] = last
        running = torch.tensor([not ended[place] for place in state.ids.tolist()])
        left = int(running.sum())
        if left == 0 or step + 1 == sampling.max_tokens:
            break
        if left <= (1 - COMPACT_AT) * len(running):
            rows_left = running.nonzero().squeeze(1).to(network.device)
            state.keep(rows_left)
            tokens = tokens[rows_left]
        state.advance(tokens, step)
    return [
        Completion(tuple(ids), tuple(lps), StopReason.END if end else StopReason.LENGTH)
        for ids, lps, end in zip(tokens_of, logprobs_of, ended, strict=True)
    ]
