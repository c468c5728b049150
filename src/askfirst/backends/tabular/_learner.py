"""A linear softmax with exact gradients and AdamW, all in float64."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askfirst.policy import StepSettings
from askfirst.values import Floats

BETA_ONE, BETA_TWO, EPSILON = 0.9, 0.999, 1e-8


def logits(weights: Floats, columns: NDArray[np.intp]) -> Floats:
    """What the weights (K, D + 1) add to the logits (K,) of a request with these columns."""
    # A plain sum, not a matrix product: its result does not depend on the linear algebra library.
    return np.asarray(weights[:, columns].sum(axis=1), dtype=np.float64)


def log_softmax(values: Floats) -> Floats:
    """Log of the softmax of logits (K,)."""
    shifted = values - values.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()), dtype=np.float64)


@dataclass
class AdamW:
    """First and second moments of the gradient, shape (K, D + 1), and the number of steps taken."""

    shape: tuple[int, int]
    steps: int = 0
    first: Floats = field(init=False)
    second: Floats = field(init=False)
    last: tuple[float, float] | None = None  # learning rate and weight decay of the last step

    def __post_init__(self) -> None:
        self.first, self.second = np.zeros(self.shape), np.zeros(self.shape)

    def step(self, weights: Floats, gradient: Floats, settings: StepSettings) -> float:
        """Move the weights in place down the gradient, clipped to a norm; returns the norm before clipping.

        Decoupled weight decay (Loshchilov and Hutter 2019, arXiv 1711.05101).
        """
        norm = float(np.sqrt((gradient**2).sum()))
        if settings.grad_clip > 0 and norm > settings.grad_clip:
            gradient = gradient * (settings.grad_clip / norm)
        self.steps += 1
        self.last = settings.lr, settings.weight_decay
        self.first = BETA_ONE * self.first + (1 - BETA_ONE) * gradient
        self.second = BETA_TWO * self.second + (1 - BETA_TWO) * gradient**2
        mean = self.first / (1 - BETA_ONE**self.steps)
        spread = np.sqrt(self.second / (1 - BETA_TWO**self.steps))
        weights -= settings.lr * (mean / (spread + EPSILON) + settings.weight_decay * weights)
        return norm
