"""Attention over a packed line of tokens, in which many continuations follow one beginning that stands there once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from askfirst.backends.hf.attention import Rules
from askfirst.backends.hf.batching import Block, Span


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
    rows = own_query.reshape(heads * block.g, repeats * block.c, size)
    own_key, own_value = (x.reshape(heads * block.g, block.c, size) for x in (own_key, own_value))
    scores = (rows @ own_key.transpose(1, 2)).view(heads, block.g, repeats, block.c, block.c)
    scores = _seen(scores, block.before[:, -block.c :], rules)
    earlier = 0
    if chain:
        chain_key, chain_value = (torch.cat(pieces, dim=1) for pieces in zip(*chain, strict=True))
        earlier = chain_key.shape[1]
        whole = (own_query.reshape(heads, -1, size) @ chain_key.transpose(1, 2)).view(*scores.shape[:-1], earlier)
        scores = torch.cat([_seen(whole, block.before[:, :earlier], rules), scores], dim=-1)
    of_chain, own = torch.split_with_sizes(torch.softmax(scores, dim=-1), [earlier, block.c], dim=-1)
    found = own.reshape(rows.shape[0], rows.shape[1], block.c) @ own_value
    found = found.view(heads, block.g, repeats, block.c, size)
    if chain:
        found = found + (of_chain.reshape(heads, -1, earlier) @ chain_value).view(found.shape)
    found = found.permute(1, 3, 0, 2, 4).reshape(block.g * block.c, heads * repeats, size)
    return found if block.packed is None else found.index_select(0, block.packed)


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
