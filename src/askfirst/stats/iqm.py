"""The interquartile mean over training runs, with a stratified bootstrap (Agarwal et al. 2021, arXiv 2108.13264).

The unit is a training run. One seed says nothing about others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import trim_mean

from askfirst.stats._bounded import checked
from askfirst.values import Floats, Interval, Target

TARGETS: tuple[Target, ...] = ("new_seeds",)
TRIMMED = 0.25  # at either end
RESAMPLES = 50_000
BATCH = 2000


def iqm(values: ArrayLike) -> float:
    """The mean of all values without the lowest and the highest quarter (rounded down). Raises ValueError for none."""
    return float(trim_mean(checked(values).ravel(), TRIMMED))


def interval(scores: ArrayLike, alpha: float = 0.05, *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """The interquartile mean of scores, shape (runs, tasks), with percentile bounds.

    Runs are drawn again for each task on its own, which is the stratum. Raises ValueError for fewer than two runs,
    for missing scores, and for runs that are all the same.
    """
    found = checked(scores)
    if found.ndim == 1:
        found = found[:, None]
    runs, tasks = found.shape
    if runs < 2:
        raise ValueError("one training run says nothing about others: two or more seeds are needed")
    if not 0 < alpha < 1 or resamples < 1000:
        raise ValueError(f"alpha must be in (0, 1) and resamples at least 1000; found {alpha}, {resamples}")
    if not np.ptp(found, axis=0).any():
        raise ValueError("all runs are the same: their spread says nothing of others")
    source = np.random.default_rng(seed)
    drawn: list[Floats] = []
    for start in range(0, resamples, BATCH):
        size = min(BATCH, resamples - start)
        chosen = source.integers(runs, size=(size, runs, tasks))
        again = np.take_along_axis(found[None], chosen, axis=1).reshape(size, -1)
        drawn.append(trim_mean(again, TRIMMED, axis=1))
    low, high = np.quantile(np.concatenate(drawn), [alpha / 2, 1 - alpha / 2])
    name = f"iqm (stratified bootstrap, {resamples} resamples of {runs} runs × {tasks} tasks, seed {seed})"
    return Interval(iqm(found), float(low), float(high), alpha, name)


def probability_of_improvement(first: ArrayLike, second: ArrayLike) -> float:
    """The chance that a run of the first scores more than one of the second on a task, ties counting half.

    Scores have shape (runs,) or (runs, tasks), with the same tasks; the mean over tasks of U/(n·m).
    """
    a, b = (checked(scores) for scores in (first, second))
    if a.shape[1:] != b.shape[1:]:
        raise ValueError(f"the tasks differ: shapes {a.shape} and {b.shape}")
    gaps = a[:, None] - b[None]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
