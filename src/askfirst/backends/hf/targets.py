"""Logprobs of any tokens at the places of a sequence, and their gradients: what a trainer asks for from outside.

In training from rows a token is scored where it stands. Here each place may name tokens of its own, several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from askfirst.backends.hf import trainer
from askfirst.backends.hf.batching import micro_batches
from askfirst.backends.hf.network import Network
from askfirst.errors import BackendFault
from askfirst.values import Floats, Row


@dataclass(frozen=True, slots=True)
class Asked:
    """A sequence (N,), and the tokens (N, K) whose logprobs behind each of its tokens are wanted."""

    ids: NDArray[np.int64]
    targets: NDArray[np.int64]


# Number of the sequence and its logprobs (N, K) in, (value, d value / d logprob (N, K)) out.
Weigh = Callable[[int, Floats], tuple[float, Floats]]


def logprobs(network: Network, asked: Sequence[Asked], budget: int) -> list[Floats]:
    """Logprobs (N, K) in nats of each sequence, computed `budget` tokens at a time."""
    found: list[Floats] = [np.zeros(0)] * len(asked)
    with torch.no_grad(), network.own_attention():
        for part, hidden in _hidden(network, asked, budget):
            for i, states in _split(part, hidden, asked):
                found[i] = _numbers(_scored(network, states, asked[i]))
    return found


def backward(network: Network, asked: Sequence[Asked], weigh: Weigh, budget: int) -> tuple[list[float], list[Floats]]:
    """Add the gradient of Σ weigh to the trainable weights; the value and the logprobs (N, K) of each sequence.

    Raises BackendFault where a value or a slope is not finite.
    """
    found: list[Floats] = [np.zeros(0)] * len(asked)
    values = [0.0] * len(asked)
    with network.own_attention():
        for part, hidden in _hidden(network, asked, budget):
            leaf = hidden.detach().requires_grad_()
            for i, states in _split(part, leaf, asked):
                scored = _scored(network, states, asked[i])
                found[i] = _numbers(scored)
                values[i], slope = weigh(i, found[i])
                if not (np.isfinite(values[i]) and np.isfinite(slope).all()):
                    raise BackendFault(f"sequence {i}: the loss or its slope is not finite")
                torch.autograd.backward((torch.from_numpy(slope).to(scored) * scored).sum())
            torch.autograd.backward(hidden, leaf.grad)
    return values, found


def likeliest(network: Network, ids: Sequence[int], k: int) -> tuple[NDArray[np.int64], Floats]:
    """The k likeliest tokens (N, k) behind each token of a sequence, and their logprobs (N, k)."""
    sequence = np.array(ids, dtype=np.int64)
    with torch.no_grad(), network.own_attention():
        ((_, hidden),) = _hidden(network, [Asked(sequence, sequence[:, None])], len(ids) + 1)
        best = network.logits(hidden).log_softmax(dim=-1).topk(k, dim=-1)
    return best.indices.cpu().numpy(), _numbers(best.values)


def _hidden(network: Network, asked: Sequence[Asked], budget: int) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Some sequences at a time with their hidden states (places of all, size)."""
    # As rows: a token behind the last is needed for that one to be predicted from, whichever it is.
    rows = [_row(np.append(each.ids, 0)) for each in asked]
    for batch in micro_batches(rows, budget, network.packs):
        yield batch.rows, trainer.predicting_states(network, batch)


def _row(ids: NDArray[np.int64]) -> Row:
    mask = np.arange(len(ids)) > 0
    return Row(ids, mask, np.zeros(len(ids)), np.zeros(0), np.zeros(len(ids)))


def _split(part: Sequence[int], hidden: Tensor, asked: Sequence[Asked]) -> Iterator[tuple[int, Tensor]]:
    yield from zip(part, torch.split_with_sizes(hidden, [len(asked[i].ids) for i in part]), strict=True)


def _scored(network: Network, states: Tensor, asked: Asked) -> Tensor:
    return trainer.chosen(network.logits(states), torch.from_numpy(asked.targets).to(states.device))


def _numbers(values: Tensor) -> Floats:
    numbers: Floats = values.detach().double().cpu().numpy()
    return numbers
