"""Logprobs and their gradients: what rows share computed once, logits only where a masked token is predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
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


Model = Callable[[], AbstractContextManager[None]]  # within it the network is that of one model


def logprobs(network: Network, rows: Sequence[Row], budget: int) -> list[Floats]:
    """Logprobs in nats, 0 off the mask: one (T,) array a row, or (T, 1 + K) where it names alternatives."""
    return _logprobs(network, rows, budget, (partial(predicting_states, network), network.logits))


def mixed(network: Network, rows: Sequence[Row], budget: int, models: tuple[Model, Model], rate: float) -> list[Floats]:
    """The same of the distribution whose logits are (1 − rate) of the first model's and `rate` of the second's."""

    def states(batch: MicroBatch) -> Tensor:
        found = []
        for model in models:
            with model():
                found.append(predicting_states(network, batch))
        return torch.stack(found, dim=1)  # (tokens, 2, size)

    def logits(pair: Tensor) -> Tensor:
        first, second = network.logits(pair[:, 0]), network.logits(pair[:, 1])
        return first + rate * (second - first)  # where the two agree, they to the bit

    return _logprobs(network, rows, budget, (states, logits))


def choices(network: Network, rows: Sequence[Row], budget: int, count: int) -> list[NDArray[np.int64]]:
    """Ids (T, count) of the likeliest tokens at each masked token, likeliest first; 0 off the mask."""
    found = [np.zeros((len(row.token_ids), count), dtype=np.int64) for row in rows]

    def take(part: list[int], states: Tensor) -> None:
        values = network.logits(states).topk(count, dim=1).indices.cpu().numpy()
        for i, ids in zip(part, _by_row(values, part, rows), strict=True):
            found[i][rows[i].mask] = ids

    _read(network, rows, budget, partial(predicting_states, network), take)
    return found


Reader = tuple[Callable[[MicroBatch], Tensor], Callable[[Tensor], Tensor]]  # to hidden states, and on to logits


def _logprobs(network: Network, rows: Sequence[Row], budget: int, reader: Reader) -> list[Floats]:
    states, logits = reader
    found = [_zeros(row) for row in rows]

    def take(part: list[int], hidden: Tensor) -> None:
        values = chosen(logits(hidden), _targets(part, rows, hidden)).double().cpu().numpy()
        for i, row_values in zip(part, _by_row(values, part, rows), strict=True):
            found[i][rows[i].mask] = _of_row(row_values, rows[i])

    _read(network, rows, budget, states, take)
    return found


def _read(
    network: Network,
    rows: Sequence[Row],
    budget: int,
    states: Callable[[MicroBatch], Tensor],
    take: Callable[[list[int], Tensor], None],
) -> None:
    """Hand runs of whole rows to `take` with the hidden states that predict their masked tokens; no gradient."""
    with torch.no_grad(), network.own_attention():
        for batch in micro_batches(rows, budget, network.packs):
            for part, hidden in _blocks(network, batch, rows, states(batch)):
                take(part, hidden)


def backward(network: Network, rows: Sequence[Row], objective: Objective, budget: int) -> tuple[float, list[Floats]]:
    """Add the gradient of Σ objective to the trainable weights; returns Σ objective and the logprobs, as `logprobs`.

    The trunk is differentiated once a micro-batch; logits live for one block at a time, because all that
    the trunk needs of them is the gradient at the hidden states. Raises BackendFault where the objective
    returns another shape or a number that is not finite.
    """
    found = [_zeros(row) for row in rows]
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
        scored = chosen(network.logits(states), _targets(part, rows, states))
        per_row = _by_row(scored.detach().double().cpu().numpy(), part, rows)
        weights = []
        for i, row_values in zip(part, per_row, strict=True):
            found[i][rows[i].mask] = _of_row(row_values, rows[i])
            values[i], slope = _ask(objective, i, found[i])
            own = slope[rows[i].mask].reshape(len(row_values), -1)
            weights.append(np.pad(own, ((0, 0), (0, scored.shape[1] - own.shape[1]))))
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


def _zeros(row: Row) -> Floats:
    """(T,), or (T, 1 + K) for a row with alternatives."""
    width = () if row.alternatives is None else (1 + row.alternatives.shape[1],)
    return np.zeros((len(row.token_ids), *width))


def _targets(part: list[int], rows: Sequence[Row], states: Tensor) -> Tensor:
    """Ids (masked tokens, 1 + K) of the masked tokens of these rows and their alternatives, K that of the row that has
    most; in other rows the token stands for what they lack."""
    found = []
    for row in (rows[i] for i in part):
        own = row.token_ids[row.mask][:, None]
        found.append(own if row.alternatives is None else np.concatenate([own, row.alternatives[row.mask]], axis=1))
    width = max(each.shape[1] for each in found)
    full = [np.concatenate([each, np.repeat(each[:, :1], width - each.shape[1], axis=1)], axis=1) for each in found]
    return torch.from_numpy(np.concatenate(full)).to(states.device)


def _of_row(values: Floats, row: Row) -> Floats:
    """Of values (n, 1 + K) those that a row asked for, as they lie in it."""
    return values[:, 0] if row.alternatives is None else values[:, : 1 + row.alternatives.shape[1]]


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


def _by_row(values: NDArray[Any], part: list[int], rows: Sequence[Row]) -> list[NDArray[Any]]:
    return np.split(values, np.cumsum([int(rows[i].mask.sum()) for i in part])[:-1])


def _ask(objective: Objective, i: int, logprobs: Floats) -> tuple[float, Floats]:
    value, slope = objective(i, logprobs.copy())
    if np.shape(slope) != logprobs.shape:
        raise BackendFault(f"row {i}: the objective's slope has shape {np.shape(slope)}, not {logprobs.shape}")
    if not (math.isfinite(value) and np.isfinite(slope).all()):
        raise BackendFault(f"row {i}: the objective or its slope is not finite")
    return float(value), np.asarray(slope, dtype=np.float64)
