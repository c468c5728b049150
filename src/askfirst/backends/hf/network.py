"""A causal language model as two functions: tokens to hidden states, hidden states to logits."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache

from askfirst.backends.hf import attention
from askfirst.errors import ModelError

SUPPORTED = "choose a decoder-only attention model such as those of the Llama, Qwen2, Qwen3 or Gemma families"


class Network:
    """Wraps a transformers causal LM, in evaluation mode for good: no dropout anywhere."""

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        self.config = model.config.get_text_config()
        self.trunk: nn.Module = model.get_decoder()
        self.context = int(getattr(self.config, "max_position_embeddings", 1 << 30))
        self.device: torch.device = model.get_output_embeddings().weight.device
        self.itemsize = next(model.parameters()).dtype.itemsize  # bytes of a weight, and of an activation
        self.packs = True  # whether its attention may be exchanged for ours
        # The argument was renamed within the 5.x series.
        names = inspect.signature(self.trunk.forward).parameters
        if "position_ids" not in names:
            raise ModelError(f"{type(model).__name__} is not supported: it takes no positions", hint=SUPPORTED)
        self._cache_name = "cache" if "cache" in names else "past_key_values"

    def hidden(self, ids: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        """Hidden states (rows, length, size) for ids and positions (rows, length).

        `mask` is None (causal, nothing padded), bool (rows, all keys) with False on padding, or, where the
        attention is ours, whatever has four dimensions.
        """
        kept = {} if cache is None else {self._cache_name: cache}
        output = self.trunk(
            input_ids=ids, position_ids=positions, attention_mask=mask, use_cache=cache is not None, **kept
        )
        states: Tensor = output.last_hidden_state
        return states

    @contextlib.contextmanager
    def own_attention(self) -> Iterator[None]:
        """Within this context the model attends by `attention.attending`, if it can."""
        before = self.config._attn_implementation
        if self.packs:
            self.model.set_attn_implementation(attention.NAME)
        try:
            yield
        finally:
            if self.packs:
                self.model.set_attn_implementation(before)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits (…, vocabulary) in fp32 of hidden states (…, size)."""
        raw: Tensor = self.model.get_output_embeddings()(hidden)
        raw = raw.float()
        if (scale := getattr(self.config, "logit_scale", None)) is not None:
            raw = raw * scale
        if (divisor := getattr(self.config, "logits_scaling", None)) is not None:
            raw = raw / divisor
        if (cap := getattr(self.config, "final_logit_softcapping", None)) is not None:
            raw = torch.tanh(raw / cap) * cap
        return raw
