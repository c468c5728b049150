"""Draws scenarios: apportions the strata, fills frames, keeps what is distinct, shuffles."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache

from askfirst.envs._mix import apportion, check_draw, checked_weights, distinct
from askfirst.envs.judgment._draw import Draw
from askfirst.envs.judgment._frames import PAIRS, Frame, families, frames
from askfirst.envs.judgment._kinds import KINDS
from askfirst.envs.judgment._pairs import Made, Pair, make_pair
from askfirst.envs.judgment._plain import make_plain
from askfirst.replies import Truth
from askfirst.store import content_hash, seed_from
from askfirst.values import FrozenMap, Message, Scenario

NAME = "judgment"
CLEAR_MIX: Mapping[str, float] = {
    "clear_twin": 0.40,
    "action": 0.10,
    "answer": 0.08,
    "dictate": 0.05,
    "edit": 0.05,
    "out_of_scope": 0.17,
    "destructive": 0.15,
}
# Over the clear half of an evaluation: enough of what must not get worse to bound it.
EVALUATION_MIX: Mapping[str, float] = {
    "clear_twin": 0.40,
    "action": 0.06,
    "answer": 0.05,
    "dictate": 0.05,
    "edit": 0.04,
    "out_of_scope": 0.20,
    "destructive": 0.20,
}
AMBIGUOUS_SHARE = 0.65
STRATA = ("ambiguous", "clear_twin", "action", "answer", "dictate", "edit", "out_of_scope", "destructive")
# Among ambiguous requests and their twins.
PAIR_MIX: Mapping[str, float] = {"missing": 0.42, "several": 0.36, "pronoun": 0.12, "vague": 0.10}

_OWN = tuple(dict.fromkeys(frame.family for frame in frames()))
FAMILIES: tuple[str, ...] = (*_OWN, *(f"clear.{f}" for f in _OWN if f.split(".")[0] in PAIRS))


def scenarios(
    split: str,
    n: int,
    seed: int,
    strata: Mapping[str, float] | None = None,
    of_pairs: Mapping[str, float] = PAIR_MIX,
) -> list[Scenario]:
    """n distinct scenarios of a split, a function of the arguments alone.

    `strata` are weights by stratum; counts follow by largest remainder. The default is 65 % ambiguous and the rest
    by CLEAR_MIX. `of_pairs` are weights by kind of ambiguity, keys as in PAIR_MIX. Ambiguous scenarios and clear twins
    drawn with the same arguments match one to one as far as their counts go. Raises SplitError, InputError for weights
    that make no mix, EnvironmentFault when the split does not hold n distinct scenarios.
    """
    check_draw(split, n)
    counts = apportion(_weights(strata), n)
    found: list[Scenario] = []
    wanted = {name: counts.get(name, 0) for name in ("ambiguous", "clear_twin")}
    if any(wanted.values()):
        stream = _pairs(split, seed, of_pairs)
        drawn = distinct(stream, max(wanted.values()), lambda p: (p.ambiguous.shown, p.clear.shown), NAME)
        found += [_scenario(p, p.frame, split, p.ambiguous) for p in drawn[: wanted["ambiguous"]]]
        found += [_scenario(p, p.frame, split, p.clear) for p in drawn[: wanted["clear_twin"]]]
    for name, count in counts.items():
        if name not in wanted and count:
            plain = distinct(_plain(split, seed, name), count, lambda made: (made[1].shown,), NAME)
            found += [_scenario(None, frame, split, made) for frame, made in plain]
    return Draw(seed_from(NAME, split, "order", seed, n)).shuffled(found)


@cache
def topics() -> tuple[str, ...]:
    """The literal annotations of the environment's questions, sorted."""
    return tuple(sorted({f.topic for f in frames() if f.topic} | set(_several_topics())))


def _several_topics() -> Iterator[str]:
    kinds = {f.family.split(".")[1] for f in frames() if f.family.startswith("several.")}
    for kind in sorted(kinds):
        yield f"which {KINDS[kind].noun}" if kind in KINDS else f"which {kind}"


TOPICS = topics()
_TRUTH_FIELDS = tuple(field.name for field in dataclasses.fields(Truth))


def _weights(strata: Mapping[str, float] | None) -> dict[str, float]:
    if strata is None:
        strata = {"ambiguous": AMBIGUOUS_SHARE, **{k: (1 - AMBIGUOUS_SHARE) * v for k, v in CLEAR_MIX.items()}}
    return checked_weights(strata, STRATA)


def _pairs(split: str, seed: int, weights: Mapping[str, float]) -> Iterator[Pair]:
    draw = Draw(seed_from(NAME, split, "pairs", seed))
    groups = tuple(weights)
    running = [sum(list(weights.values())[: i + 1]) for i in range(len(groups))]
    while True:
        frame = draw.pick(draw.pick(families(split, draw.weighted(groups, running))))
        yield make_pair(frame, draw)


def _plain(split: str, seed: int, stratum: str) -> Iterator[tuple[Frame, Made]]:
    draw = Draw(seed_from(NAME, split, stratum, seed))
    while True:
        frame = draw.pick(draw.pick(families(split, stratum)))
        yield frame, make_plain(frame, draw)


def _scenario(pair: Pair | None, frame: Frame, split: str, made: Made) -> Scenario:
    ambiguous = pair is not None and made is pair.ambiguous
    group = frame.family.split(".")[0]
    hidden = FrozenMap({name: getattr(made.truth, name) for name in _TRUTH_FIELDS} | {"pool": TOPICS})
    return Scenario(
        id=content_hash((NAME, made.shown, repr(made.truth)))[:16],
        family=frame.family if pair is None or ambiguous else f"clear.{frame.family}",
        stratum="ambiguous" if ambiguous else "clear_twin" if pair else group,
        split=split,
        ambiguous=ambiguous,
        opening=(Message("user", made.shown),),
        hidden=hidden,
        template=frame.id,
        values=made.values,
        twin=content_hash((frame.id, pair.ambiguous.shown, pair.clear.shown))[:16] if pair else "",
    )
