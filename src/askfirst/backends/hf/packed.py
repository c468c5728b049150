"""Attention over a packed line of tokens, in which many continuations follow one beginning that stands there once.

It is offered to transformers as an attention implementation, so that every model that takes one can use it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface

from askfirst.backends.hf.batching import Block, Span
from askfirst.errors import ModelError

NAME = "askfirst_packed"
# What models may pass beside queries, keys and values without changing what attention is.
_HARMLESS = frozenset({"dropout", "position_ids", "position_embeddings", "use_cache", "output_attentions", "is_causal"})


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


_SIBLINGS: ContextVar[Sequence[Siblings]] = ContextVar("siblings")


@contextlib.contextmanager
def laid_out(blocks: Sequence[Block], device: torch.device) -> Iterator[None]:
    """Within this context the one line that passes through a model is packed as these blocks say."""
    token = _SIBLINGS.set([_siblings(block, device) for block in blocks])
    try:
        yield
    finally:
        _SIBLINGS.reset(token)


def attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **given: Any
) -> tuple[Tensor, None]:
    """Queries (1, heads, tokens, size), keys and values (1, key heads, tokens, size) → (1, tokens, heads, size)."""
    del module, attention_mask
    scaling, window, cap = (given.pop(name, None) for name in ("scaling", "sliding_window", "softcap"))
    unknown = sorted(name for name, value in given.items() if value is not None and name not in _HARMLESS)
    if unknown:
        raise ModelError(f"packed attention knows nothing of {', '.join(unknown)}")
    query = query[0] * (scaling if scaling is not None else query.shape[-1] ** -0.5)
    parts = [_attend(block, (query, key[0], value[0]), window, cap) for block in _SIBLINGS.get()]
    return torch.cat(parts).unsqueeze(0), None


def _attend(block: Siblings, tensors: tuple[Tensor, Tensor, Tensor], window: int | None, cap: float | None) -> Tensor:
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
    if cap is not None:
        scores = torch.tanh(scores / cap) * cap
    hidden = (block.before < 0) if window is None else (block.before < 0) | (block.before >= window)
    shares = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
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


AttentionInterface.register(NAME, attention)
