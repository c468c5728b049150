"""Sampling: each prompt computed once, one forward pass a token for all rows, randomness per row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from askfirst.backends.hf.batching import Ids
from askfirst.backends.hf.decoding import Decoder, PackedDecoder, decoder
from askfirst.backends.hf.network import Network
from askfirst.errors import InputError
from askfirst.policy import Completion, SampleRequest, Sampling
from askfirst.values import StopReason

BLOCK = 256  # tokens of the vocabulary summed together
COMPACT_AT = 0.25  # fraction of finished rows at which the others are moved together


@dataclass(frozen=True, slots=True)
class Manner:
    """How tokens are chosen, other than from the whole distribution, and where completions end.

    Only the `top_k` likeliest (0: all) and, of these, the fewest that have `top_p` of the probability are drawn from.
    A completion ends with a token of `end_ids` and where `stopped` says so of its tokens.
    """

    end_ids: frozenset[int]
    top_k: int = 0
    top_p: float = 1.0
    stopped: Callable[[Sequence[int]], bool] | None = None

    def narrowed(self, logits: Tensor, temperature: float) -> Tensor:
        """Logits (rows, vocabulary) with −∞ at what is not drawn from."""
        if 0 < self.top_k < logits.shape[-1]:
            least = logits.topk(self.top_k, dim=-1).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        if self.top_p < 1.0 and temperature > 0:
            shares, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
            needless = shares.cumsum(dim=-1) - shares >= self.top_p  # reached without it
            logits = logits.masked_fill(torch.zeros_like(needless).scatter(-1, order, needless), -torch.inf)
        return logits


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One completion to make, and where it goes in the answer."""

    prompt: Ids
    seed: int
    request: int
    index: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of an earlier call: its decoder, its number there, which prompt it continued; tokens of that and behind."""

    rows: PackedDecoder
    number: int
    origin: int
    prompt: int
    held: int


class Sampler:
    """Samples from a network. With `keep` a call holds on to what it computed, and the next one goes on from there.

    So a dialogue costs its tokens once: a prompt that begins with an earlier one and its completion is recognised.
    """

    def __init__(self, network: Network, end_ids: frozenset[int], manner: Manner | None = None) -> None:
        self.network, self.end_ids = network, end_ids
        self.manner = manner or Manner(end_ids)
        self._kept: dict[Ids, _Row] = {}

    def forget(self) -> None:
        """Drop what earlier calls computed; to be called whenever the weights change."""
        self._kept = {}

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, most: int, keep: bool = False
    ) -> list[list[Completion]]:
        """Completions in the order of requests and seeds; at most `most` rows are decoded at a time.

        Raises InputError for a prompt that is empty or leaves no room in the model's context.
        """
        if sampling.max_tokens < 1 or sampling.temperature < 0:
            raise InputError(f"max_tokens {sampling.max_tokens} and temperature {sampling.temperature} sample nothing")
        wanted = [_Wanted(r.prompt_ids, s, i, j) for i, r in enumerate(requests) for j, s in enumerate(r.seeds)]
        for item in wanted:
            _check_room(self.network, len(item.prompt), sampling.max_tokens)
        answers: list[list[Completion | None]] = [[None] * len(r.seeds) for r in requests]
        kept, self._kept = self._kept, {}
        with torch.inference_mode(), self.network.own_attention():
            for chunk, rows in self._started(wanted, kept, sampling.max_tokens, (most, keep)):
                completions = self._complete(rows, chunk, sampling)
                for item, completion in zip(chunk, completions, strict=True):
                    answers[item.request][item.index] = completion
                if keep and isinstance(rows, PackedDecoder):
                    self._remember(rows, chunk, completions)
        return [[c for c in row if c is not None] for row in answers]

    def stream(self, prompt: Ids, seed: int, sampling: Sampling) -> Iterator[Completion]:
        """The completion that `sample` gives, as far as it is drawn: with one token, with two, and at last whole.

        Every `next` has to be within the contexts that `sample` enters. Raises InputError as `sample` does.
        """
        _check_room(self.network, len(prompt), sampling.max_tokens)
        points = uniforms([seed], sampling.max_tokens).to(self.network.device)
        rows = decoder(self.network, [prompt], [1], sampling.max_tokens)
        found = Completion((), (), StopReason.LENGTH)
        for step in range(sampling.max_tokens):
            token, logprob = draw(self.network.logits(rows.hidden), points[:, step], sampling.temperature)
            stop = StopReason.END if int(token) in self.end_ids else StopReason.LENGTH
            found = Completion((*found.token_ids, int(token)), (*found.logprobs, float(logprob)), stop)
            yield found
            if stop is StopReason.END or step + 1 == sampling.max_tokens:
                return
            rows.advance(token)

    def _started(
        self, wanted: Sequence[_Wanted], kept: dict[Ids, _Row], new: int, limits: tuple[int, bool]
    ) -> Iterator[tuple[Sequence[_Wanted], Decoder]]:
        """What is wanted in chunks, each with rows that stand at the end of their prompts."""
        most, keep = limits
        known = {id(item): _longest(kept, item.prompt) for item in wanted}
        # Rows of similar length share a chunk, rows of one prompt stand side by side.
        fresh = sorted(
            (w for w in wanted if known[id(w)] is None), key=lambda w: (len(w.prompt), w.prompt, w.request, w.index)
        )
        for start in range(0, len(fresh), most):
            chunk = fresh[start : start + most]
            runs = [(prompt, len(list(same))) for prompt, same in itertools.groupby(w.prompt for w in chunk)]
            yield chunk, decoder(self.network, [p for p, _ in runs], [n for _, n in runs], new, keep)
        later: dict[int, list[tuple[_Row, _Wanted]]] = {}
        for item in wanted:
            row = known[id(item)]
            if row is not None:
                later.setdefault(id(row.rows), []).append((row, item))
        for pairs in later.values():
            pairs.sort(key=lambda pair: (pair[0].origin, pair[0].number, pair[1].request, pair[1].index))
            rows = pairs[0][0].rows
            own = [item.prompt[row.prompt :] for row, item in pairs]
            rows.resume([row.number for row, _ in pairs], [row.held for row, _ in pairs], own, new)
            yield [item for _, item in pairs], rows

    def _remember(self, rows: PackedDecoder, chunk: Sequence[_Wanted], completions: Sequence[Completion]) -> None:
        origins = rows.origin.tolist()
        lengths = rows.whole[0].tolist()
        for number, (item, completion) in enumerate(zip(chunk, completions, strict=True)):
            tokens = (*item.prompt, *completion.token_ids)
            prompt = lengths[origins[number]]
            self._kept[tokens] = _Row(rows, number, origins[number], prompt, len(tokens) - prompt)

    def _complete(self, rows: Decoder, chunk: Sequence[_Wanted], sampling: Sampling) -> list[Completion]:
        points = uniforms([w.seed for w in chunk], sampling.max_tokens).to(self.network.device)
        ends = torch.tensor(sorted(self.end_ids), device=self.network.device)
        places = list(range(len(chunk)))  # in the chunk, of each row
        tokens_of: list[list[int]] = [[] for _ in chunk]
        logprobs_of: list[list[float]] = [[] for _ in chunk]
        ended, stopped = [False] * len(chunk), self.manner.stopped
        for step in range(sampling.max_tokens):
            logits = self.manner.narrowed(self.network.logits(rows.hidden), sampling.temperature)
            tokens, logprobs = draw(logits, points[:, step], sampling.temperature)
            is_end = torch.isin(tokens, ends)
            for place, token, logprob, last in zip(
                places, tokens.tolist(), logprobs.tolist(), is_end.tolist(), strict=True
            ):
                if not ended[place]:
                    tokens_of[place].append(token)
                    logprobs_of[place].append(logprob)
                    ended[place] = last or (stopped is not None and stopped(tokens_of[place]))
            left = [row for row, place in enumerate(places) if not ended[place]]
            if not left or step + 1 == sampling.max_tokens:
                break
            if len(left) <= (1 - COMPACT_AT) * len(places):
                index = torch.tensor(left, device=self.network.device)
                rows.keep(index)
                tokens, points, places = tokens[index], points[index], [places[row] for row in left]
            rows.advance(tokens)
        return [
            Completion(tuple(ids), tuple(lps), StopReason.END if end else StopReason.LENGTH)
            for ids, lps, end in zip(tokens_of, logprobs_of, ended, strict=True)
        ]


def _longest(kept: dict[Ids, _Row], prompt: Ids) -> _Row | None:
    """The row of an earlier call that holds most of the beginning of a prompt, but not all of it."""
    lengths = sorted({len(tokens) for tokens in kept if len(tokens) < len(prompt)}, reverse=True)
    return next((kept[prompt[:n]] for n in lengths if prompt[:n] in kept), None)


def draw(logits: Tensor, uniforms: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Tokens (rows,) by inverse transform of one uniform each, and their logprobs (rows,) in nats.

    The logits are used up. Logprobs are of the distribution drawn from; greedy draws report those at temperature 1.
    The point is sought first among sums over blocks of the vocabulary, then in one block: a whole cumulative sum costs
    as much as a small model.
    """
    if temperature not in (0.0, 1.0):
        logits = logits / temperature
    best = logits.argmax(dim=-1, keepdim=True) if temperature == 0 else None
    weights = logits.sub_(logits.amax(dim=-1, keepdim=True)).exp_()
    blocks = nn.functional.pad(weights, (0, -weights.shape[-1] % BLOCK)) if weights.shape[-1] % BLOCK else weights
    blocks = blocks.view(len(weights), -1, BLOCK)
    # fp32 sums over a large vocabulary are off by more than the rarest token's share; those over a block are not.
    cumulative = blocks.sum(dim=-1).double().cumsum(dim=-1)
    total = cumulative[:, -1:]
    tokens = _find(blocks, cumulative, uniforms.unsqueeze(1) * total) if best is None else best
    logprobs = (weights.gather(1, tokens).double() / total).log()
    return tokens.squeeze(1), logprobs.squeeze(1).to(logits.dtype)


def _find(blocks: Tensor, cumulative: Tensor, point: Tensor) -> Tensor:
    """The token (rows, 1) whose weight in (rows, blocks, BLOCK) carries the running sum past the point (rows, 1)."""
    block = torch.searchsorted(cumulative, point, right=True).clamp(max=blocks.shape[1] - 1)  # (rows, 1)
    inside = blocks.gather(1, block.unsqueeze(2).expand(-1, -1, BLOCK)).squeeze(1).double()
    rest = point - (cumulative.gather(1, block) - inside.sum(dim=1, keepdim=True))
    place = torch.searchsorted(inside.cumsum(dim=1), rest, right=True)
    # Rounding may carry a point past its block: then it is the last token there that has any weight.
    last = BLOCK - 1 - (inside > 0).flip(1).int().argmax(dim=1, keepdim=True)
    return block * BLOCK + torch.minimum(place, last)


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
