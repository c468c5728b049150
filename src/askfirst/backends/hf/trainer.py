"""Logprobs and their gradients: prompts computed once, logits only where a masked token is predicted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from askfirst.backends.hf import cache as caches
from askfirst.backends.hf.batching import MicroBatch, left_padded, micro_batches, right_padded
from askfirst.backends.hf.network import Network
from askfirst.errors import BackendFault
from askfirst.policy import Objective
from askfirst.values import Floats, Row

LOGITS_AT_ONCE = 1 << 25  # elements of one block of logits: 128 MiB in fp32


def logprobs(network: Network, rows: Sequence[Row], budget: int) -> list[Floats]:
    """Logprobs in nats, one (T,) array a row, 0 off the mask."""
    found = [np.zeros(len(row.token_ids)) for row in rows]
    with torch.no_grad():
        for batch in micro_batches(rows, budget, network.shares_prefixes):
            hidden = predicting_states(network, batch, rows)
            for part, states in _blocks(network, batch, rows, hidden):
                values = _score(network, states, part, rows).double().cpu().numpy()
                for i, row_values in zip(part, _by_row(values, part, rows), strict=True):
                    found[i][rows[i].mask] = row_values
    return found


def backward(network: Network, rows: Sequence[Row], objective: Objective, budget: int) -> tuple[float, list[Floats]]:
    """Add the gradient of Σ objective to the trainable weights; returns Σ objective and the logprobs.

    The trunk is differentiated once a micro-batch; logits live for one block at a time, because all that
    the trunk needs of them is the gradient at the hidden states. Raises BackendFault where the objective
    returns another shape or a number that is not finite.
    """
    found = [np.zeros(len(row.token_ids)) for row in rows]
    values = [0.0] * len(rows)
    for batch in micro_batches(rows, budget, network.shares_prefixes):
        hidden = predicting_states(network, batch, rows)
        leaf = hidden.detach().requires_grad_()
        for part, states in _blocks(network, batch, rows, leaf):
            scored = _score(network, states, part, rows)
            per_row = _by_row(scored.detach().double().cpu().numpy(), part, rows)
            weights = []
            for i, row_values in zip(part, per_row, strict=True):
                found[i][rows[i].mask] = row_values
                values[i], slope = _ask(objective, i, found[i])
                weights.append(slope[rows[i].mask])
            joined = torch.from_numpy(np.concatenate(weights)).to(scored)
            torch.autograd.backward((joined * scored).sum())
        torch.autograd.backward(hidden, leaf.grad)
    for i, row in enumerate(rows):
        if not row.mask.any():
            values[i], _ = _ask(objective, i, found[i])
    return math.fsum(values), found


def predicting_states(network: Network, batch: MicroBatch, rows: Sequence[Row]) -> Tensor:
    """Hidden states (masked tokens of all rows, size) at the positions that predict them."""
    ids = torch.from_numpy(right_padded(batch.suffixes)).to(network.device)
    steps = torch.arange(ids.shape[1], device=network.device)
    if not batch.prefixes:
        hidden = network.hidden(ids, steps.expand_as(ids), None, None)
    else:
        hidden = _after_prefix(network, batch, ids, steps)
    starts = [len(rows[i].token_ids) - len(s) for i, s in zip(batch.rows, batch.suffixes, strict=True)]
    where = [np.flatnonzero(rows[i].mask) - start - 1 for i, start in zip(batch.rows, starts, strict=True)]
    row_index = np.repeat(np.arange(len(where)), [len(w) for w in where])
    return hidden[
        torch.from_numpy(row_index).to(network.device), torch.from_numpy(np.concatenate(where)).to(network.device)
    ]


def _after_prefix(network: Network, batch: MicroBatch, ids: Tensor, steps: Tensor) -> Tensor:
    prefix_ids, prefix_mask = (torch.from_numpy(x).to(network.device) for x in left_padded(batch.prefixes))
    padded = not bool(prefix_mask.all())
    positions = (prefix_mask.cumsum(dim=1) - 1).clamp(min=0)
    cache = caches.empty(network.layers)
    network.hidden(prefix_ids, positions, prefix_mask if padded else None, cache)
    prefix_of = torch.tensor(batch.prefix_of, device=network.device)
    lengths = prefix_mask.sum(dim=1)[prefix_of]
    mask = torch.cat([prefix_mask[prefix_of], torch.ones_like(ids, dtype=torch.bool)], dim=1) if padded else None
    return network.hidden(ids, lengths.unsqueeze(1) + steps, mask, caches.rows_of(cache, prefix_of))


def _blocks(
    network: Network, batch: MicroBatch, rows: Sequence[Row], hidden: Tensor
) -> Iterator[tuple[list[int], Tensor]]:
    """Runs of whole rows with their hidden states, each run small enough for its logits."""
    most = max(1, LOGITS_AT_ONCE // int(network.config.vocab_size))
    part: list[int] = []
    start = end = 0
    for i in batch.rows:
        count = int(rows[i].mask.sum())
        if part and end + count - start > most:
            yield part, hidden[start:end]
            part, start = [], end
        part.append(i)
        end += count
    yield part, hidden[start:end]


def _score(network: Network, states: Tensor, part: list[int], rows: Sequence[Row]) -> Tensor:
    """Logprobs (masked tokens,) in fp32 of the masked tokens of these rows."""
    targets = torch.from_numpy(np.concatenate([rows[i].token_ids[rows[i].mask] for i in part])).to(states.device)
    return -torch.nn.functional.cross_entropy(network.logits(states), targets, reduction="none")


def _by_row(values: Floats, part: list[int], rows: Sequence[Row]) -> list[Floats]:
    return np.split(values, np.cumsum([int(rows[i].mask.sum()) for i in part])[:-1])


def _ask(objective: Objective, i: int, logprobs: Floats) -> tuple[float, Floats]:
    value, slope = objective(i, logprobs.copy())
    if np.shape(slope) != logprobs.shape:
        raise BackendFault(f"row {i}: the objective's slope has shape {np.shape(slope)}, not {logprobs.shape}")
    if not (math.isfinite(value) and np.isfinite(slope).all()):
        raise BackendFault(f"row {i}: the objective or its slope is not finite")
    return float(value), np.asarray(slope, dtype=np.float64)
