"""The optimum against every adaptive policy of small problems, and what it is made of."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from askfirst.clarify.family import CONFIRM
from askfirst.clarify.optimum import bits, optimum, worth_of_asking
from askfirst.clarify.problem import Key, Problem
from askfirst.store import generator


def random_problem(seed: int) -> Problem:
    rng = generator("test optimum", seed)
    keys = []
    for number in range(int(rng.integers(1, 4))):
        n = int(rng.integers(2, 4))
        weights = rng.random(n) ** 2 if rng.random() < 0.8 else np.eye(n)[0]
        chances = tuple(float(p) for p in weights / weights.sum())
        chances = (*chances[:-1], 1.0 - sum(chances[:-1])) if 1.0 not in chances else chances
        name = CONFIRM if number == 0 and rng.random() < 0.3 and n == 2 else f"k{number}"
        values = ("yes", "no") if name == CONFIRM else tuple("abc"[:n])
        keys.append(Key(name, values, chances, int(rng.integers(4, 60)), bool(rng.random() < 0.8)))
    return Problem("any", tuple(keys), int(rng.integers(1, 12)), float(rng.choice([1.0, 0.9, 0.5])))


def best_of_all(problem: Problem, budget: int) -> float:
    """The least expected cost over all adaptive policies, by going through every state of what is known.

    A key is open, answered with a value, or asked about in vain; at the end any entry may be put, declared or not.
    """

    def ending(key: Key, known: str | None) -> float:
        """The least cost of an entry, of every one that there is."""
        costs = [0.5 * key.price]
        for value, p in zip(key.values, key.chances, strict=True):
            right = float(value == known) if known is not None else p
            if key.name == CONFIRM and value == "yes" and right < 1.0:
                costs.append(float(key.price))
                continue
            costs += [(1 - right) * key.price, 0.6 * (1 - right) * key.price]
        return min(costs)

    @cache
    def value(state: tuple[str | None, ...], left: int) -> float:
        found = [
            sum(ending(key, s if s and s not in "!?" else None) for key, s in zip(problem.keys, state, strict=True))
        ]
        for at, key in enumerate(problem.keys if left else ()):
            knows = problem.knows if key.answerable and state[at] == "?" else 0.0
            after = 0.0
            if state[at] != "?":  # asking again tells nothing new
                after = value(state, left - 1)
            else:
                for v, p in zip(key.values, key.chances, strict=True):
                    after += knows * p * value((*state[:at], v, *state[at + 1 :]), left - 1)
                after += (1 - knows) * value((*state[:at], "!", *state[at + 1 :]), left - 1)
            found.append(problem.question + after)
        return min(found)

    return value(("?",) * len(problem.keys), budget)


@pytest.mark.parametrize("seed", range(60))
def test_no_adaptive_policy_is_better(seed: int) -> None:
    problem = random_problem(seed)
    for budget in (0, 1, 2, 3):
        assert optimum(problem, budget).cost == pytest.approx(best_of_all(problem, budget), abs=1e-9)


def test_the_budget_goes_to_what_is_worth_most() -> None:
    keys = tuple(Key(f"k{i}", ("a", "b"), (0.5, 0.5), price) for i, price in enumerate((20, 80, 40)))
    assert optimum(Problem("any", keys, 2, 1.0), 2).asks == ("k1", "k2")
    assert optimum(Problem("any", keys, 2, 1.0)).asks == ("k1", "k2", "k0")


def test_what_is_worth_no_more_than_its_price_is_not_asked() -> None:
    key = Key("k", ("a", "b"), (0.5, 0.5), 40)
    worth = worth_of_asking(Problem("any", (key,), 1, 0.5), key)
    assert worth == pytest.approx(0.5 * 0.6 * 0.5 * 40)
    assert optimum(Problem("any", (key,), 6, 0.5)).asks == ()
    assert optimum(Problem("any", (key,), 5, 0.5)).asks == ("k",)


def test_bits() -> None:
    four = Key("k", tuple("abcd"), (0.25,) * 4, 40)
    assert bits(Problem("any", (four,), 1, 0.9), four) == pytest.approx(1.8)
    certain = Key("k", ("a", "b"), (1.0, 0.0), 40)
    assert bits(Problem("any", (certain,), 1, 0.9), certain) == 0.0
    assert math.isclose(bits(Problem("any", (four,), 1, 1.0), Key("k", tuple("ab"), (0.5, 0.5), 4, False)), 0.0)
