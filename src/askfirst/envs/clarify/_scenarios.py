"""Draws scenarios by strata: pairs of a request that needs a question and its clear twin, and the other states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from askfirst.clarify.families import FAMILIES as TABLES
from askfirst.clarify.family import Family
from askfirst.clarify.scenes import FULL, OTHER_TWIN, OTHERS, PAIRED, Draws, other_pair, pair
from askfirst.envs._mix import apportion, check_draw, checked_weights, distinct
from askfirst.errors import InputError
from askfirst.store import generator
from askfirst.values import Scenario

NAME = "clarify"
STRATA = ("ambiguous", "clear_twin", *OTHERS, OTHER_TWIN)
CLEAR_MIX: Mapping[str, float] = {
    "clear_twin": 0.40,
    "inferable": 0.16,
    "unknown": 0.12,
    "priced": 0.18,
    "out_of_scope": 0.14,
}
EVALUATION_MIX = CLEAR_MIX
AMBIGUOUS_SHARE = 0.65
# Among ambiguous requests and their twins.
PAIR_MIX: Mapping[str, float] = {
    "missing": 0.36,
    "candidates": 0.16,
    "contradictory": 0.16,
    "false_premise": 0.16,
    "destructive": 0.16,
}
FAMILIES: tuple[str, ...] = tuple(f"{name}.{state}" for name in TABLES for state in (*PAIRED, FULL, *OTHERS))


def scenarios(
    split: str,
    n: int,
    seed: int,
    strata: Mapping[str, float] | None = None,
    of_pairs: Mapping[str, float] = PAIR_MIX,
) -> list[Scenario]:
    """n distinct scenarios of a split, a function of the arguments alone.

    `strata` are weights by stratum; counts follow by largest remainder. The default is 65 % ambiguous and the rest by
    CLEAR_MIX; the twins of the other states come where `strata` names them. `of_pairs` are weights by state, keys as in
    PAIR_MIX. Scenarios and their twins drawn with the same arguments match one to one as far as their counts go. Raises
    SplitError, InputError for weights that make no mix, EnvironmentFault where the split does not hold n distinct
    scenarios.
    """
    check_draw(split, n)
    if strata is None:
        strata = {"ambiguous": AMBIGUOUS_SHARE, **{k: (1 - AMBIGUOUS_SHARE) * v for k, v in CLEAR_MIX.items()}}
    counts = apportion(checked_weights(strata, STRATA), n)
    found: list[Scenario] = []
    ambiguous, clear = counts.get("ambiguous", 0), counts.get("clear_twin", 0)
    if ambiguous or clear:
        stream = _pairs(split, seed, of_pairs)
        drawn = distinct(stream, max(ambiguous, clear), lambda p: [_opening(s) for s in p], NAME)
        found += [p[0] for p in drawn[:ambiguous]] + [p[1] for p in drawn[:clear]]
    twins = apportion(dict.fromkeys(OTHERS, 1.0), counts.get(OTHER_TWIN, 0))
    for state in OTHERS:
        own, clear = counts.get(state, 0), twins.get(state, 0)
        both = distinct(_others(split, seed, state), max(own, clear), lambda p: [_opening(s) for s in p], NAME)
        found += [p[0] for p in both[:own]] + [p[1] for p in both[:clear]]
    return list(Draws(generator(NAME, split, "order", seed, n)).shuffled(found))


def _pairs(split: str, seed: int, weights: Mapping[str, float]) -> Iterator[tuple[Scenario, Scenario]]:
    unknown = sorted(set(weights) - set(PAIR_MIX))
    total = sum(weights.values())
    if unknown or not 0 < total < float("inf") or min(weights.values()) < 0:
        raise InputError(f"weights by state are positive numbers for {', '.join(PAIR_MIX)}, found {dict(weights)}")
    states, shares = tuple(weights), tuple(weight / total for weight in weights.values())
    draws = Draws(generator(NAME, split, "pairs", seed))
    families = _families(split)
    while True:
        state = draws.weighted(states, shares)
        yield pair(draws.pick(families), state, split, draws)


def _others(split: str, seed: int, state: str) -> Iterator[tuple[Scenario, Scenario]]:
    draws = Draws(generator(NAME, split, state, seed))
    families = _families(split)
    while True:
        yield other_pair(draws.pick(families), state, split, draws)


def _families(split: str) -> list[Family]:
    return [family for family in TABLES.values() if not (family.unseen and split == "train")]


def _opening(scenario: Scenario) -> str:
    return scenario.opening[0].content
