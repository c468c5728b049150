"""pass^k and pass@k: all of k trials pass, or one of them does; unbiased from n ≥ k trials a task, of one policy."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, log, sqrt

from askfirst.stats._counts import Sided, tails
from askfirst.values import Interval, Target

TARGETS: tuple[Target, ...] = ("fixed_items", "new_items")


def pass_all(passed: Sequence[int], trials: Sequence[int], k: int) -> float:
    """pass^k, the mean over tasks of C(c, k)/C(n, k), with c passes of the n trials that each task itself had.

    Raises ValueError for no tasks, impossible counts, and a task with fewer than k trials: a missing trial is an error.
    """
    _check(passed, trials, k)
    return sum(comb(c, k) / comb(n, k) for c, n in zip(passed, trials, strict=True)) / len(trials)


def pass_any(passed: Sequence[int], trials: Sequence[int], k: int) -> float:
    """pass@k, the mean over tasks of 1 − C(n − c, k)/C(n, k). Raises as `pass_all`."""
    _check(passed, trials, k)
    return sum(1 - comb(n - c, k) / comb(n, k) for c, n in zip(passed, trials, strict=True)) / len(trials)


def interval(
    passed: Sequence[int], trials: Sequence[int], k: int, alpha: float = 0.05, sided: Sided = "two"
) -> Interval:
    """pass^k with Hoeffding bounds: each task gives one independent value in [0, 1], whatever its number of trials."""
    mean, tasks = pass_all(passed, trials, k), len(trials)
    half = sqrt(log(1 / max(tails(alpha, sided))) / (2 * tasks))
    low = 0.0 if sided == "upper" else max(0.0, mean - half)
    high = 1.0 if sided == "lower" else min(1.0, mean + half)
    return Interval(mean, low, high, alpha, f"pass_k (k = {k}, {sided}-sided, Hoeffding over {tasks} tasks)")


def _check(passed: Sequence[int], trials: Sequence[int], k: int) -> None:
    if k < 1 or not trials or len(passed) != len(trials):
        raise ValueError(f"pass^k needs k ≥ 1 and passes and trials of one or more tasks; k {k}, {len(trials)} tasks")
    for task, (c, n) in enumerate(zip(passed, trials, strict=True)):
        if int(c) != c or int(n) != n or not 0 <= c <= n or n < k:
            raise ValueError(f"task {task} has {c} passes of {n} trials; {k} or more trials are needed")
