"""What this backend takes for granted about a model, tried once on it before anything depends on it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from askfirst.backends.hf.batching import micro_batches
from askfirst.backends.hf.decoding import decoder
from askfirst.backends.hf.network import SUPPORTED, Network
from askfirst.backends.hf.trainer import predicting_states
from askfirst.errors import ModelError
from askfirst.values import Row

# Largest mean difference of logits, relative to their spread: rounding, with room; a wrong mask or
# position is off by a good part of the spread.
RELATIVE_TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.1}
LENGTH, CUT = 12, 7


def check(network: Network) -> None:
    """Compare our ways through the model with its own plain forward pass on a short sequence.

    Turns packing off where only that differs; raises ModelError where nothing can be relied on.
    """
    vocabulary = int(network.config.vocab_size)
    ids = np.random.Generator(np.random.Philox(key=1)).integers(0, vocabulary, LENGTH)
    row = torch.from_numpy(ids).to(network.device).unsqueeze(0)
    with torch.no_grad():
        plain = network.model(input_ids=row, use_cache=False).logits[0].float()
        hidden = network.hidden(row, torch.arange(LENGTH, device=row.device).unsqueeze(0), None, None)[0]
        if not _agree(network, network.logits(hidden), plain):
            raise _unsupported(network, "its logits are not a linear map of its last hidden states")
        network.packs = _can_pack(network, ids, plain)
        if not network.packs and not _agree(network, _token_by_token(network, ids), plain[CUT - 1 :]):
            raise _unsupported(network, "decoding with a key-value cache gives other logits than a full pass")


def _token_by_token(network: Network, ids: np.ndarray) -> Tensor:
    """Logits from position CUT − 1 on by the sampler's path, beside a shorter prompt that begins alike."""
    tokens = tuple(ids.tolist())
    rows = decoder(network, [tokens[: CUT - 2], tokens[:CUT]], [1, 1], LENGTH)
    states = [rows.hidden[1:]]
    for i in range(CUT, LENGTH):
        if i == CUT + 2:
            rows.keep(torch.tensor([1], device=network.device))
        rows.advance(torch.tensor(tokens[i : i + 1] * len(rows.hidden), device=network.device))
        states.append(rows.hidden[-1:])
    return network.logits(torch.cat(states))


def _packed(network: Network, ids: np.ndarray) -> Tensor:
    """Logits at positions CUT − 1 … LENGTH − 2 by the trainer's path, beside rows with which it shares a beginning."""
    mask, none = np.arange(LENGTH) >= CUT, np.zeros(0)
    other, short = ids.copy(), ids[: LENGTH - 2]
    other[CUT - 2 :] = ids[: LENGTH - CUT + 2]
    rows = [Row(x, mask[: len(x)], none, none, none) for x in (ids, short, other)]
    (batch,) = micro_batches(rows, 10 * LENGTH, pack=True)
    states = predicting_states(network, batch)
    start = sum(int(rows[i].mask.sum()) for i in batch.rows[: batch.rows.index(0)])
    return network.logits(states[start : start + LENGTH - CUT])


def _can_pack(network: Network, ids: np.ndarray, plain: Tensor) -> bool:
    """Whether the model gives the same logits with our attention, in training and in decoding."""
    try:
        with network.own_attention():
            trained = _agree(network, _packed(network, ids), plain[CUT - 1 : -1])
            return trained and _agree(network, _token_by_token(network, ids), plain[CUT - 1 :])
    except (ModelError, LookupError, ValueError):  # another notion of attention, or none that can be exchanged
        return False


def _agree(network: Network, ours: Tensor, plain: Tensor) -> bool:
    tolerance = RELATIVE_TOLERANCE[next(network.model.parameters()).dtype]
    return bool((ours - plain).abs().mean() <= tolerance * plain.std())


def _unsupported(network: Network, why: str) -> ModelError:
    return ModelError(f"{type(network.model).__name__} is not supported: {why}", hint=SUPPORTED)
