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
    span: Span  # of all children
    g: int
    c: int
    padded: Tensor | None  # (g·c,) place in the span of each padded place; None where nothing is padded
    packed: Tensor | None  # (tokens of the span,) padded place of each
    before: Tensor  # (c, chain + c) how far a key's position lies before a query's; negative: after


class Line:
    """The attention of one packed line; `kept`, where given, collects each layer's keys and values."""

    def __init__(
        self, blocks: Sequence[Block], device: torch.device, kept: dict[int, tuple[Tensor, Tensor]] | None = None
    ) -> None:
        self.blocks = [_siblings(block, device) for block in blocks]
        self.kept = kept

    def __call__(self, rules: Rules, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Queries (1, heads, tokens, size), keys and values (1, key heads, tokens, size)."""
        if self.kept is not None:
            self.kept[rules.layer] = key[0], value[0]
        tensors = query[0] * rules.scaling, key[0], value[0]
        return torch.cat([_attend(block, tensors, rules) for block in self.blocks]).unsqueeze(0)


def _attend(block: Siblings, tensors: tuple[Tensor, Tensor, Tensor], rules: Rules) -> Tensor:
    """Attention of the tokens of a block: (tokens of the span, heads, size)."""
    query, key, value = tensors
    heads, size = key.shape[0], query.shape[-1]
    own_query, own_key, own_value = (_children(block, x) for x in tensors)
    # Query heads that share a key head lie side by side, so that keys need no copies.
    own_query = own_query.view(heads, -1, block.g, block.c, size).transpose(1, 2)
    repeats = own_query.shape[2]
    rows = own_query.reshape(heads * block.g, repeats * block.c, size)
    own_key, own_value = (x.reshape(heads * block.g, block.c, size) for x in (own_key, own_value))
    scores = (rows @ own_key.transpose(1, 2)).view(heads, block.g, repeats, block.c, block.c)
    earlier = 0
    if block.chain:
        chain_key, chain_value = (torch.cat([x[:, a:b] for a, b in block.chain], dim=1) for x in (key, value))
        earlier = chain_key.shape[1]
        whole = own_query.reshape(heads, -1, size) @ chain_key.transpose(1, 2)
        scores = torch.cat([whole.view(heads, block.g, repeats, block.c, earlier), scores], dim=-1)
    hidden = block.before < 0
    if rules.window is not None:
        hidden = hidden | (block.before >= rules.window)
    shares = torch.softmax(rules.capped(scores).masked_fill(hidden, float("-inf")), dim=-1)
    found = shares[..., earlier:].reshape(rows.shape[0], rows.shape[1], block.c) @ own_value
    found = found.view(heads, block.g, repeats, block.c, size)
    if block.chain:
        from_chain = shares[..., :earlier].reshape(heads, -1, earlier) @ chain_value
        found = found + from_chain.view(found.shape)
    found = found.permute(1, 3, 0, 2, 4).reshape(block.g * block.c, heads * repeats, size)
    return found if block.packed is None else found.index_select(0, block.packed)


def _children(block: Siblings, tensor: Tensor) -> Tensor:
    """(heads, tokens, size) → (heads, g·c, size) of the block's own tokens."""
    own = tensor[:, slice(*block.span)]
    return own if block.padded is None else own.index_select(1, block.padded)


def _siblings(block: Block, device: torch.device) -> Siblings:
    start, stop = block.children[0][0], block.children[-1][1]
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
    return Siblings(block.chain, (start, stop), g, c, padded, packed, before.to(device))
