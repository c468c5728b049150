"""A causal language model as two functions: tokens to hidden states, hidden states to logits."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache

from askfirst.backends.hf import packed
from askfirst.backends.hf.batching import Block
from askfirst.errors import ModelError

SUPPORTED = "choose a decoder-only attention model such as those of the Llama, Qwen2, Qwen3 or Gemma families"


class Network:
    """Wraps a transformers causal LM, in evaluation mode for good: no dropout anywhere."""

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        self.config = model.config.get_text_config()
        self.trunk: nn.Module = model.get_decoder()
        self.layers = int(self.config.num_hidden_layers)
        self.context = int(getattr(self.config, "max_position_embeddings", 1 << 30))
        self.device: torch.device = model.get_output_embeddings().weight.device
        self.packs = True  # whether rows may share one packed line
        self._sampling_attention: str = self.config._attn_implementation
        # The argument was renamed within the 5.x series.
        names = inspect.signature(self.trunk.forward).parameters
        if "position_ids" not in names:
            raise ModelError(f"{type(model).__name__} is not supported: it takes no positions", hint=SUPPORTED)
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        kinds = set(getattr(self.config, "layer_types", None) or ["full_attention"])
        windowed = kinds != {"full_attention"} or getattr(self.config, "sliding_window", None) is not None
        # A ready mask spares building one for every token; only where all layers agree on what it looks like.
        self.takes_ready_mask = self.config._attn_implementation == "sdpa" and not windowed

    def hidden(self, ids: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        """Hidden states (rows, length, size) for ids and positions (rows, length).

        `mask` is None (causal, nothing padded), bool (rows, all keys) with False on padding, or,
        where `takes_ready_mask`, bool (rows, 1, length, all keys).
        """
        kept = {} if cache is None else {self._cache_name: cache}
        output = self.trunk(
            input_ids=ids, position_ids=positions, attention_mask=mask, use_cache=cache is not None, **kept
        )
        states: Tensor = output.last_hidden_state
        return states

    def hidden_packed(self, ids: Tensor, positions: Tensor, blocks: Sequence[Block]) -> Tensor:
        """Hidden states (1, length, size) of a packed line; `differentiable` must hold."""
        ready = ids.new_zeros((1, 1, 1, 1))  # four dimensions: no mask is built, and ours is in the blocks
        with packed.laid_out(blocks, self.device):
            return self.hidden(ids, positions, ready, None)

    @contextlib.contextmanager
    def differentiable(self) -> Iterator[None]:
        """Within this context attention is computed the way whose gradient is cheapest.

        That is packed where the model can, and else, on a CPU, the plain way: the fused kernel's backward
        pass was measured at three times its cost.
        """
        padded = "eager" if self.device.type == "cpu" else self._sampling_attention
        name = packed.NAME if self.packs else padded
        if name == self._sampling_attention:
            yield
            return
        self.model.set_attn_implementation(name)
        try:
            yield
        finally:
            self.model.set_attn_implementation(self._sampling_attention)

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
