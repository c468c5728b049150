"""Draws scenarios by strata: pairs of a request that leaves something open and its clear twin, and the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from askfirst.envs._mix import apportion, check_draw, checked_weights, distinct
from askfirst.errors import InputError
from askfirst.retail import generated
from askfirst.retail.task import ADDRESS, BEYOND, FULL, IDENTITY, INFERABLE, ITEM, ORDER, PAYMENT, REASON, VARIANT
from askfirst.store import generator
from askfirst.values import Scenario

NAME = "retail"
OUT_OF_SCOPE = "out_of_scope"
STRATA = ("ambiguous", "clear_twin", INFERABLE, OUT_OF_SCOPE)
CLEAR_MIX: Mapping[str, float] = {"clear_twin": 0.5, INFERABLE: 0.3, OUT_OF_SCOPE: 0.2}
EVALUATION_MIX = CLEAR_MIX
AMBIGUOUS_SHARE = 0.65
# What ambiguous requests leave open.
PAIR_MIX: Mapping[str, float] = {
    IDENTITY: 0.10,
    ORDER: 0.25,
    ITEM: 0.15,
    VARIANT: 0.15,
    PAYMENT: 0.15,
    REASON: 0.10,
    ADDRESS: 0.10,
}
FAMILIES: tuple[str, ...] = (
    *(f"{family}.{slot}" for slot, families in generated.OPENS.items() for family in families),
    *(f"{family}.{state}" for family in generated.ANY for state in (FULL, INFERABLE)),
    f"beyond.{BEYOND}",
)


def scenarios(
    split: str,
    n: int,
    seed: int,
    strata: Mapping[str, float] | None = None,
    of_pairs: Mapping[str, float] = PAIR_MIX,
    among: Sequence[str] = generated.ANY,
) -> list[Scenario]:
    """n distinct scenarios of a split, a function of the arguments alone.

    `strata` are weights by stratum; counts follow by largest remainder. The default is 65 % ambiguous and the rest by
    CLEAR_MIX. `of_pairs` are weights by what is left open, keys as in PAIR_MIX; `among` are the families of
    requests within the shop, and slots that none of them leaves open do not occur. Scenarios and their twins drawn
    with the same arguments match one to one as far as their counts go. Raises SplitError, InputError for weights that
    make no mix, EnvironmentFault where the split does not hold n distinct scenarios.
    """
    check_draw(split, n)
    if strata is None:
        strata = {"ambiguous": AMBIGUOUS_SHARE, **{k: (1 - AMBIGUOUS_SHARE) * v for k, v in CLEAR_MIX.items()}}
    counts = apportion(checked_weights(strata, STRATA), n)
    ambiguous, clear = counts.get("ambiguous", 0), counts.get("clear_twin", 0)
    pairs = distinct(_pairs(split, seed, of_pairs, among), max(ambiguous, clear), lambda p: [*map(_opening, p)], NAME)
    found = [p[0] for p in pairs[:ambiguous]] + [p[1] for p in pairs[:clear]]
    for stratum, stream in ((INFERABLE, _inferable(split, seed, among)), (OUT_OF_SCOPE, _beyond(split, seed))):
        found += distinct(stream, counts.get(stratum, 0), lambda s: [_opening(s)], NAME)
    order = generator(NAME, split, "order", seed, n).permutation(len(found))
    return [found[int(at)] for at in order]


def _pairs(
    split: str, seed: int, weights: Mapping[str, float], among: Sequence[str]
) -> Iterator[tuple[Scenario, Scenario]]:
    unknown = sorted(set(weights) - set(PAIR_MIX))
    total = sum(weights.values())
    if unknown or not 0 < total < float("inf") or min(weights.values()) < 0:
        raise InputError(f"weights by slot are positive numbers for {', '.join(PAIR_MIX)}, found {dict(weights)}")
    rng = generator(NAME, split, "pairs", seed)
    opens = {slot: [family for family in generated.OPENS[slot] if family in among] for slot in weights}
    slots = [slot for slot, families in opens.items() if families and weights[slot]]
    if not slots:
        raise InputError(f"none of {', '.join(among)} leaves open what is asked for: {', '.join(weights)}")
    shares = np.array([weights[slot] for slot in slots])
    while True:
        slot = slots[int(rng.choice(len(slots), p=shares / shares.sum()))]
        families = opens[slot]
        yield generated.pair(families[int(rng.integers(len(families)))], slot, split, rng)


def _inferable(split: str, seed: int, among: Sequence[str]) -> Iterator[Scenario]:
    rng = generator(NAME, split, INFERABLE, seed)
    every = [(family, slot) for slot, families in generated.INFERS.items() for family in families if family in among]
    while True:
        family, slot = every[int(rng.integers(len(every)))]
        yield generated.inferable(family, slot, split, rng)


def _beyond(split: str, seed: int) -> Iterator[Scenario]:
    rng = generator(NAME, split, OUT_OF_SCOPE, seed)
    while True:
        yield generated.beyond(split, rng)


def _opening(scenario: Scenario) -> str:
    return scenario.opening[0].content
