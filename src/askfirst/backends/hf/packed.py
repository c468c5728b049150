"""Attention over a packed line of tokens, in which many continuations follow one beginning that stands there once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from askfirst.backends.hf.attention import Rules
from askfirst.backends.hf.batching import Block, Span

Pair = tuple[Tensor, Tensor]  # keys and values
# Scores of a layer that are computed together, 16 MiB in fp32. Of more none are kept for the backward pass:
# they grow with the square of a dialogue's length, and malloc would map the memory of a larger block anew each time.
SCORES_AT_ONCE = 4 << 20


@dataclass(frozen=True, slots=True)
class Siblings:
    """A block made ready for the tensors of every layer: c places for each of g children, padded on the right."""

    chain: tuple[Span, ...]
    children: tuple[Span, ...]
    leads: bool  # whether another block follows one of the children
    g: int
    c: int
    padded: Tensor | None  # (g·c,) token of each padded place; None where nothing is padded
    packed: Tensor | None  # (tokens,) padded place of each
    before: Tensor  # (c, chain + c) how far a key's position lies before a query's; negative: after

    @property
    def tokens(self) -> int:
        """All tokens of the block."""
        return self.children[-1][1] - self.children[0][0]


class Line:
    """The attention of one packed line; `kept`, where given, collects each layer's keys and values."""

    def __init__(
        self, blocks: Sequence[Block], device: torch.device, kept: dict[int, tuple[Tensor, Tensor]] | None = None
    ) -> None:
        leaders = {span for block in blocks for span in block.chain}
        self.blocks = [_siblings(block, device, not leaders.isdisjoint(block.children)) for block in blocks]
        self.kept = kept

    def __call__(self, rules: Rules, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Queries (1, heads, tokens, size), keys and values (1, key heads, tokens, size)."""
        if self.kept is not None:
            self.kept[rules.layer] = key[0], value[0]
        # Cut once: the gradient of a cut is one concatenation, that of a slice a whole tensor of zeros.
        sizes = [block.tokens for block in self.blocks]
        parts = zip(
            *(torch.split_with_sizes(x[0], sizes, dim=1) for x in (query * rules.scaling, key, value)), strict=True
        )
        pieces: dict[Span, tuple[Tensor, Tensor]] = {}
        found = []
        for block, part in zip(self.blocks, parts, strict=True):
            if block.leads:
                lengths = [b - a for a, b in block.children]
                cut = (torch.split_with_sizes(x, lengths, dim=1) for x in part[1:])
                pieces.update(zip(block.children, zip(*cut, strict=True), strict=True))
            found.append(_attend(block, part, [pieces[span] for span in block.chain], rules))
        return torch.cat(found).unsqueeze(0)


def _attend(
    block: Siblings, part: tuple[Tensor, Tensor, Tensor], chain: Sequence[tuple[Tensor, Tensor]], rules: Rules
) -> Tensor:
    """Attention of the tokens of a block, behind the keys and values of its chain: (tokens, heads, size)."""
    query, key, _ = part
    heads, size = key.shape[0], query.shape[-1]
    own_query, own_key, own_value = (_children(block, x) for x in part)
    # Query heads that share a key head lie side by side, so that keys need no copies.
    own_query = own_query.view(heads, -1, block.g, block.c, size).transpose(1, 2)
    repeats = own_query.shape[2]
    shape = heads * block.g, block.c, size
    keys = own_key.reshape(shape), own_value.reshape(shape)
    earlier = (torch.cat([k for k, _ in chain], dim=1), torch.cat([v for _, v in chain], dim=1)) if chain else None
    scores = heads * block.g * repeats * block.before.shape[1]  # of one place of each child
    if scores * block.c <= SCORES_AT_ONCE:
        found = _mixed(block.before, own_query, keys, earlier, rules)
    else:
        found = _in_turn(block.before, own_query, (keys, earlier, rules), max(1, SCORES_AT_ONCE // scores))
    found = found.permute(1, 3, 0, 2, 4).reshape(block.g * block.c, heads * repeats, size)
    return found if block.packed is None else found.index_select(0, block.packed)


def _in_turn(before: Tensor, query: Tensor, behind: tuple[Pair, Pair | None, Rules], at_once: int) -> Tensor:
    """As `_mixed`, for so many places at once: with the keys up to there alone, and scores that nobody keeps. The
    backward pass computes them again."""
    keys, chain, rules = behind
    found = []
    for start in range(0, query.shape[3], at_once):
        end = min(start + at_once, query.shape[3])
        seen = before[start:end, : before.shape[1] - query.shape[3] + end]
        own = (keys[0][:, :end], keys[1][:, :end])
        given = (seen, query[:, :, :, start:end], own, chain, rules)
        found.append(checkpoint(_mixed, *given, use_reentrant=False, preserve_rng_state=False))
    return torch.cat(found, dim=3)


def _mixed(before: Tensor, query: Tensor, keys: Pair, chain: Pair | None, rules: Rules) -> Tensor:
    """What queries (heads, g, repeats, places, size) see of keys and values (heads·g, own, size) of their child and of
    (heads, chain, size) before it: of the queries' shape. `before` is (places, chain + own)."""
    heads, g, repeats, places, size = query.shape
    own_key, own_value = keys
    own = own_key.shape[1]
    rows = query.reshape(heads * g, repeats * places, size)
    scores = (rows @ own_key.transpose(1, 2)).view(heads, g, repeats, places, own)
    scores = _seen(scores, before[:, -own:], rules)
    earlier = 0
    if chain is not None:
        earlier = chain[0].shape[1]
        whole = (query.reshape(heads, -1, size) @ chain[0].transpose(1, 2)).view(*scores.shape[:-1], earlier)
        scores = torch.cat([_seen(whole, before[:, :earlier], rules), scores], dim=-1)
    of_chain, of_own = torch.split_with_sizes(torch.softmax(scores, dim=-1), [earlier, own], dim=-1)
    found = of_own.reshape(rows.shape[0], rows.shape[1], own) @ own_value
    found = found.view(heads, g, repeats, places, size)
    if chain is not None:
        found = found + (of_chain.reshape(heads, -1, earlier) @ chain[1]).view(found.shape)
    return found


def _seen(scores: Tensor, before: Tensor, rules: Rules) -> Tensor:
    """Scores (…, queries, keys), capped, and −∞ where a key comes later than the query or before its window."""
    hidden = before < 0
    if rules.window is not None:
        hidden |= before >= rules.window
    capped = rules.capped(scores)
    return capped.masked_fill(hidden, float("-inf")) if bool(hidden.any()) else capped


def _children(block: Siblings, tensor: Tensor) -> Tensor:
    """(heads, tokens, size) → (heads, g·c, size)."""
    return tensor if block.padded is None else tensor.index_select(1, block.padded)


def _siblings(block: Block, device: torch.device, leads: bool) -> Siblings:
    start = block.children[0][0]
    lengths = [b - a for a, b in block.children]
    g, c = len(lengths), max(lengths)
    earlier = sum(b - a for a, b in block.chain)
    before = torch.arange(earlier, earlier + c).unsqueeze(1) - torch.arange(earlier + c)
    padded = packed = None
    if min(lengths) < c:
        place = torch.arange(c)
        starts = torch.tensor([a - start for a, _ in block.children])
        real = place < torch.tensor(lengths).unsqueeze(1)  # (g, c)
        padded = torch.where(real, starts.unsqueeze(1) + place, starts.unsqueeze(1)).flatten().to(device)
        packed = real.flatten().nonzero().squeeze(1).to(device)
    return Siblings(block.chain, block.children, leads, g, c, padded, packed, before.to(device))
