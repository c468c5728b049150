"""What a judge is worth: how far it agrees with labelled episodes, and how often an attack gets more than is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askfirst.errors import InputError
from askfirst.judgement import Judgement
from askfirst.judging import Judge
from askfirst.judging.labelled import DIMENSIONS, Labelled, attacks, labelled
from askfirst.stats import clopper_pearson
from askfirst.values import TOLERANCE, Interval

ALPHA = 0.05  # of each bound, one-sided


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `n`, with the exact bound that matters: from below for agreement, from above for attacks."""

    name: str
    count: int
    n: int
    bound: Interval


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An episode that a judge scores otherwise than it is labelled; `found` is empty where it was unparsable."""

    kind: str
    scenario: str
    labels: tuple[int, ...]
    found: tuple[int, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit of a judge found on a split of the labels.

    An unparsable judgement agrees with nothing; under attack it pays nothing, so that it is not `fooled`. `gap` is the
    judge's mean less that of the labels over the episodes that could be read, None where none could.
    """

    judge: str
    split: str
    episodes: int
    attacked: int
    unparsable: int
    agreement: tuple[Rate, ...]
    families: tuple[Rate, ...]
    fooled: Rate
    gap: float | None
    disagreements: tuple[Disagreement, ...]

    @property
    def lowest(self) -> Rate:
        """The dimension in which the judge agrees least."""
        return min(self.agreement, key=lambda rate: rate.bound.lower)

    def faults(self, min_agreement: float, max_fooled: float) -> tuple[str, ...]:
        """The bounds that are not met, in words."""
        found = [
            f"agrees on {rate.name} in {rate.count} of {rate.n}, at least {rate.bound.lower:.2f}, not {min_agreement}"
            for rate in self.agreement
            if rate.bound.lower < min_agreement
        ]
        if self.fooled.bound.upper > max_fooled:
            rate = self.fooled
            share = f"{rate.count} of {rate.n} attacks, at most {rate.bound.upper:.2f}, not {max_fooled}"
            found.append(f"fooled by {share}")
        return tuple(found)


def audit(judge: Judge, split: str = "test") -> Audit:
    """Hold a judge against the labelled episodes of a split and the attacks made of it.

    Raises InputError for a judge of other dimensions: nothing is labelled for them.
    """
    if tuple(judge.module.DIMENSIONS) != DIMENSIONS:
        raise InputError(
            f"no episode is labelled for {', '.join(judge.module.DIMENSIONS)}",
            where=f"judge {judge.name}",
            hint=f"labels are of {', '.join(DIMENSIONS)}",
        )
    plain, attacked = labelled(split), attacks(split)
    found = judge([each.rollout for each in (*plain, *attacked)])
    said, under = found[: len(plain)], found[len(plain) :]
    readable = [(each, own) for each, own in zip(plain, said, strict=True) if not own.unparsable]
    gap = sum(own.mean - each.mean for each, own in readable) / len(readable) if readable else None
    fooled = [_overpaid(each, own) for each, own in zip(attacked, under, strict=True)]
    names = tuple(dict.fromkeys(each.kind for each in attacked))
    return Audit(
        judge=judge.name,
        split=split,
        episodes=len(plain),
        attacked=len(attacked),
        unparsable=sum(bool(own.unparsable) for own in found),
        agreement=tuple(_agreement(at, plain, said) for at in range(len(DIMENSIONS))),
        families=tuple(
            _fooled(name, [f for f, each in zip(fooled, attacked, strict=True) if each.kind == name]) for name in names
        ),
        fooled=_fooled("attacks", fooled),
        gap=gap,
        disagreements=tuple(
            _disagreement(each, own) for each, own in zip(plain, said, strict=True) if _scores(own) != each.labels
        ),
    )


def _agreement(at: int, plain: Sequence[Labelled], said: Sequence[Judgement]) -> Rate:
    count = sum(_scores(own)[at : at + 1] == (each.labels[at],) for each, own in zip(plain, said, strict=True))
    bound = clopper_pearson.interval(count, len(plain), ALPHA, "lower")
    return Rate(DIMENSIONS[at], count, len(plain), bound)


def _overpaid(each: Labelled, own: Judgement) -> bool:
    return not own.unparsable and own.mean > each.mean + TOLERANCE


def _fooled(name: str, fooled: Sequence[bool]) -> Rate:
    return Rate(name, sum(fooled), len(fooled), clopper_pearson.interval(sum(fooled), len(fooled), ALPHA, "upper"))


def _scores(judgement: Judgement) -> tuple[int, ...]:
    return tuple(judgement.scores.values())


def _disagreement(each: Labelled, own: Judgement) -> Disagreement:
    return Disagreement(
        each.kind, each.rollout.scenario.id, each.labels, _scores(own), each.rollout.trajectory.reply[:300]
    )
