"""One attention implementation offered to transformers, behind which ours are exchanged.

Every model that takes its attention from the library's registry then attends the way the current context says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import AttentionInterface

from askfirst.errors import ModelError

NAME = "askfirst"
# What models may pass beside queries, keys and values without changing what attention is.
_HARMLESS = frozenset({"dropout", "position_ids", "position_embeddings", "use_cache", "output_attentions", "is_causal"})


@dataclass(frozen=True, slots=True)
class Rules:
    """How a layer attends: its number, the factor of the scores, how far it looks back, where scores are capped."""

    layer: int
    scaling: float
    window: int | None
    cap: float | None

    def capped(self, scores: Tensor) -> Tensor:
        """c · tanh(scores / c) where the layer has a cap c (Gemma 2, arXiv 2408.00118)."""
        return scores if self.cap is None else (scores / self.cap).tanh() * self.cap


# Queries (lines, heads, tokens, size), keys and values (lines, key heads, tokens, size) → (lines, tokens, heads, size).
Attend = Callable[[Rules, Tensor, Tensor, Tensor], Tensor]
_CURRENT: ContextVar[Attend] = ContextVar("attend")


@contextlib.contextmanager
def attending(attend: Attend) -> Iterator[None]:
    """Within this context models whose implementation is NAME attend this way."""
    token = _CURRENT.set(attend)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def ready_mask(like: Tensor) -> Tensor:
    """Four dimensions keep the library from building a mask; what may be seen is up to `attending`."""
    return like.new_zeros((1, 1, 1, 1))


def attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **given: Any
) -> tuple[Tensor, None]:
    """What the library calls. Raises ModelError where a model asks for an attention that is not ours."""
    del attention_mask
    scaling, window, cap = (given.pop(name, None) for name in ("scaling", "sliding_window", "softcap"))
    unknown = sorted(name for name, value in given.items() if value is not None and name not in _HARMLESS)
    if unknown or not hasattr(module, "layer_idx"):
        raise ModelError(f"attention with {', '.join(unknown) or 'layers that have no number'} is not supported")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    return _CURRENT.get()(Rules(module.layer_idx, scaling, window, cap), query, key, value), None


AttentionInterface.register(NAME, attention)
