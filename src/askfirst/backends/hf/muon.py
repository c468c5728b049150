"""Muon, with its products in a type that the processor has.

`torch.optim.Muon` makes them in bf16 always, which a processor without bf16 does in software: there a step of `nano`
spends most of its time in the optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

MOMENTUM = 0.95
# A quintic iteration and its number of steps, by Keller Jordan (kellerjordan.github.io/posts/muon).
COEFFICIENTS, ITERATIONS = (3.4445, -4.7750, 2.0315), 5
SMALLEST = 1e-7  # norm of a gradient that is divided by


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal, with the size of an update matched to AdamW's (arXiv 2502.16982).

    Takes matrices alone; those of one shape are computed together.
    """

    def __init__(self, matrices: Iterable[Tensor], lr: float, weight_decay: float, dtype: torch.dtype) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update by the gradients; no `closure` is called."""
        for group in self.param_groups:
            alike: dict[torch.Size, list[Tensor]] = {}
            for weight in group["params"]:
                alike.setdefault(weight.shape, []).append(weight)
            for shape, weights in alike.items():
                updates = orthogonal(torch.stack([self._momentum(w) for w in weights]).to(self.dtype))
                size = group["lr"] * 0.2 * math.sqrt(max(shape))
                for weight, update in zip(weights, updates, strict=True):
                    weight.mul_(1 - group["lr"] * group["weight_decay"]).add_(update.to(weight), alpha=-size)

    def _momentum(self, weight: Tensor) -> Tensor:
        """Nesterov's, of a weight's gradients so far."""
        assert weight.grad is not None
        kept = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
        kept.lerp_(weight.grad, 1 - MOMENTUM)
        return weight.grad.lerp(kept, MOMENTUM)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices (n, rows, columns) with singular values of about 1 each."""
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonal(matrices.mT).mT
    a, b, c = COEFFICIENTS
    found: Tensor = matrices / matrices.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST)
    for _ in range(ITERATIONS):
        gram = found @ found.mT
        found = torch.baddbmm(found, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), found, beta=a)
    return found
