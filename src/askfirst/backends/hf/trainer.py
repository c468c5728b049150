"""Logprobs and their gradients: what rows share computed once, logits only where a masked token is predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from askfirst.backends.hf.attention import attending, ready_mask
from askfirst.backends.hf.batching import MicroBatch, micro_batches
from askfirst.backends.hf.network import Network
from askfirst.backends.hf.packed import Line
from askfirst.errors import BackendFault
from askfirst.policy import Objective
from askfirst.values import Floats, Row

LOGITS_AT_ONCE = (
    6 << 20
)  # elements of one block of logits: 24 MiB in fp32, which malloc keeps instead of mapping it anew


def logprobs(network: Network, rows: Sequence[Row], budget: int) -> list[Floats]:
    """Logprobs in nats, one (T,) array a row, 0 off the mask."""
    found = [np.zeros(len(row.token_ids)) for row in rows]
    with torch.no_grad(), network.own_attention():
        for batch in micro_batches(rows, budget, network.packs):
            hidden = predicting_states(network, batch)
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
    with network.own_attention():
        for batch in micro_batches(rows, budget, network.packs):
            _backward_batch(network, batch, rows, (objective, values, found))
    for i, row in enumerate(rows):
        if not row.mask.any():
            values[i], _ = _ask(objective, i, found[i])
    return math.fsum(values), found


def _backward_batch(
    network: Network, batch: MicroBatch, rows: Sequence[Row], wanted: tuple[Objective, list[float], list[Floats]]
) -> None:
    """Add the gradient of a micro-batch; its objective's values and its logprobs go into the lists."""
    objective, values, found = wanted
    hidden = predicting_states(network, batch)
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


def predicting_states(network: Network, batch: MicroBatch) -> Tensor:
    """Hidden states (masked tokens of all rows, size) at the positions that predict them."""
    ids, positions, where = (torch.from_numpy(x).to(network.device) for x in (batch.ids, batch.positions, batch.where))
    if batch.blocks:
        with attending(Line(batch.blocks, network.device)):
            hidden = network.hidden(ids, positions, ready_mask(ids), None)
    else:
        hidden = network.hidden(ids, positions, None, None)
    return hidden.flatten(0, 1).index_select(0, where)


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
    return chosen(network.logits(states), targets.unsqueeze(1)).squeeze(1)


class _Chosen(torch.autograd.Function):
    """Log-softmax at k targets a row, in the memory of the logits, which nobody else reads.

    A temporary of that size costs a CPU more in page faults than in arithmetic.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        """Logits (tokens, vocabulary) and targets (tokens, k) → logprobs (tokens, k)."""
        top = logits.amax(dim=1, keepdim=True)
        chosen = logits.gather(1, targets) - top
        weights = logits.sub_(top).exp_()
        total = weights.sum(dim=1, keepdim=True)
        ctx.weights, ctx.total, ctx.targets = weights, total, targets
        return chosen - total.log()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """d log p(t) / d logits = [target] − p."""
        (slope,) = gradients
        found = ctx.weights.mul_(-slope.sum(dim=1, keepdim=True) / ctx.total)
        return found.scatter_add_(1, ctx.targets, slope), None


chosen: Callable[[Tensor, Tensor], Tensor] = _Chosen.apply


def _by_row(values: Floats, part: list[int], rows: Sequence[Row]) -> list[Floats]:
    return np.split(values, np.cumsum([int(rows[i].mask.sum()) for i in part])[:-1])


def _ask(objective: Objective, i: int, logprobs: Floats) -> tuple[float, Floats]:
    value, slope = objective(i, logprobs.copy())
    if np.shape(slope) != logprobs.shape:
        raise BackendFault(f"row {i}: the objective's slope has shape {np.shape(slope)}, not {logprobs.shape}")
    if not (math.isfinite(value) and np.isfinite(slope).all()):
        raise BackendFault(f"row {i}: the objective or its slope is not finite")
    return float(value), np.asarray(slope, dtype=np.float64)
