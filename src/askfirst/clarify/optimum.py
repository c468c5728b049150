"""The best that a policy can do in a problem, exactly, by dynamic programming.

The model: values of different keys are independent given the opening; a question about a key tells its value with
chance `knows`, the same for every key and independent of its value, and nothing otherwise; asking again tells nothing
new. An answer to one key therefore changes the worth of no other, and the value of a policy is a sum over keys that
only the budget ties together. With b questions left over the keys from the i-th on,

    V(i, b) = min( doubt_i(not asked) + V(i+1, b),  price + doubt_i(asked) + V(i+1, b-1) if b > 0 )

is the least expected cost. `tests/unit/clarify/test_optimum.py` tries all adaptive policies of small problems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from askfirst.clarify.problem import BUDGET, Key, Problem

CLOSE = 1e-9  # costs in points that differ by no more are the same


@dataclass(frozen=True, slots=True)
class Optimum:
    """The least expected cost in points, and the keys that a best policy asks about, the most worthwhile first."""

    cost: float
    asks: tuple[str, ...]


@lru_cache(maxsize=4096)
def optimum(problem: Problem, budget: int = BUDGET) -> Optimum:
    """The optimum of a problem. Where asking is worth no more than its price, it does not ask."""
    if problem.beyond:
        return Optimum(0.0, ())
    best: list[tuple[float, tuple[str, ...]]] = [(0.0, ())] * (budget + 1)  # by questions left
    for key in reversed(problem.keys):
        skip, ask = problem.doubt(key, asked=False), problem.question + problem.doubt(key, asked=True)
        without = [(skip + cost, names) for cost, names in best]
        having = [(ask + cost, (key.name, *names)) for cost, names in best[:-1]]
        best = [without[0], *(b if b[0] < a[0] - CLOSE else a for a, b in zip(without[1:], having, strict=True))]
    cost, names = best[budget]
    worth = {key.name: worth_of_asking(problem, key) for key in problem.keys}
    return Optimum(cost, tuple(sorted(names, key=lambda name: -worth[name])))


def worth_of_asking(problem: Problem, key: Key) -> float:
    """Expected value of information of a question about a key, in points, before its price."""
    return problem.doubt(key, asked=False) - problem.doubt(key, asked=True)


def bits(problem: Problem, key: Key) -> float:
    """Expected information of a question about a key, in bits."""
    entropy = -sum(p * math.log2(p) for p in key.chances if p > 0)
    return problem.knows * entropy if key.answerable else 0.0
