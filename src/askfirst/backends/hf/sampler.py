"""Sampling: each prompt computed once, one forward pass a token for all rows, randomness per row."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from askfirst.backends.hf.decoding import decoder
from askfirst.backends.hf.network import Network
from askfirst.errors import InputError
from askfirst.policy import Completion, SampleRequest, Sampling
from askfirst.values import StopReason

BLOCK = 256  # tokens of the vocabulary summed together
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
    with torch.inference_mode(), network.own_attention():
        for start in range(0, len(wanted), max_rows):
            chunk = wanted[start : start + max_rows]
            for item, completion in zip(chunk, _complete(network, end_ids, chunk, sampling), strict=True):
                answers[item.request][item.index] = completion
    return [[c for c in row if c is not None] for row in answers]


def draw(logits: Tensor, uniforms: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Tokens (rows,) by inverse transform of one uniform each, and their logprobs (rows,) in nats.

    Logprobs are of the distribution drawn from; greedy draws report those at temperature 1. The point is sought
    first among sums over blocks of the vocabulary, then in one block: a whole cumulative sum costs as much as
    a small model.
    """
    scaled = logits / (temperature or 1.0)
    top = scaled.amax(dim=-1, keepdim=True)
    weights = (scaled - top).exp()
    blocks = nn.functional.pad(weights, (0, -weights.shape[-1] % BLOCK)).view(len(weights), -1, BLOCK)
    # fp32 sums over a large vocabulary are off by more than the rarest token's share.
    cumulative = blocks.sum(dim=-1, dtype=torch.float64).cumsum(dim=-1)
    total = cumulative[:, -1:]
    tokens = scaled.argmax(dim=-1) if temperature == 0 else _find(blocks, cumulative, uniforms.unsqueeze(1) * total)
    logprobs = (scaled - top).gather(1, tokens.unsqueeze(1)) - total.log()
    return tokens, logprobs.squeeze(1).to(logits.dtype)


def _find(blocks: Tensor, cumulative: Tensor, point: Tensor) -> Tensor:
    """The token (rows,) whose weight in (rows, blocks, BLOCK) carries the running sum past the point (rows, 1)."""
    block = torch.searchsorted(cumulative, point, right=True).clamp(max=blocks.shape[1] - 1)  # (rows, 1)
    inside = blocks.gather(1, block.unsqueeze(2).expand(-1, -1, BLOCK)).squeeze(1).double()
    rest = point - (cumulative.gather(1, block) - inside.sum(dim=1, keepdim=True))
    place = torch.searchsorted(inside.cumsum(dim=1), rest, right=True)
    # Rounding may carry a point past its block: then it is the last token there that has any weight.
    last = BLOCK - 1 - (inside > 0).flip(1).int().argmax(dim=1, keepdim=True)
    return (block * BLOCK + torch.minimum(place, last)).squeeze(1)


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


def _complete(
    network: Network, end_ids: frozenset[int], chunk: Sequence[_Wanted], sampling: Sampling
) -> list[Completion]:
    runs = [(prompt, len(list(same))) for prompt, same in itertools.groupby(w.prompt for w in chunk)]
    rows = decoder(network, [prompt for prompt, _ in runs], [count for _, count in runs], sampling.max_tokens)
    points = uniforms([w.seed for w in chunk], sampling.max_tokens).to(network.device)
    ends = torch.tensor(sorted(end_ids), device=network.device)
    places = list(range(len(chunk)))  # in the chunk, of each row
    tokens_of: list[list[int]] = [[] for _ in chunk]
    logprobs_of: list[list[float]] = [[] for _ in chunk]
    ended = [False] * len(chunk)
    for step in range(sampling.max_tokens):
        tokens, logprobs = draw(network.logits(rows.hidden), points[:, step], sampling.temperature)
        is_end = torch.isin(tokens, ends)
        for place, token, logprob, last in zip(
            places, tokens.tolist(), logprobs.tolist(), is_end.tolist(), strict=True
        ):
            if not ended[place]:
                tokens_of[place].append(token)
                logprobs_of[place].append(logprob)
                ended[place] = last
        left = [row for row, place in enumerate(places) if not ended[place]]
        if not left or step + 1 == sampling.max_tokens:
            break
        if len(left) <= (1 - COMPACT_AT) * len(places):
            index = torch.tensor(left, device=network.device)
            rows.keep(index)
            tokens, points, places = tokens[index], points[index], [places[row] for row in left]
        rows.advance(tokens)
    return [
        Completion(tuple(ids), tuple(lps), StopReason.END if end else StopReason.LENGTH)
        for ids, lps, end in zip(tokens_of, logprobs_of, ended, strict=True)
    ]
