"""Preference pairs: of two replies to one request a reward must not score the better one lower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from askfirst.cases import replied
from askfirst.pairs import Pair
from askfirst.rollout import Scorer
from askfirst.stats import clopper_pearson
from askfirst.values import TOLERANCE, FrozenMap, Interval, Score


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair with the scores of its two replies."""

    pair: Pair
    chosen: Score
    rejected: Score

    @property
    def holds(self) -> bool:
        """Whether the chosen reply scores at least what the rejected one does."""
        return self.chosen.total >= self.rejected.total - TOLERANCE

    @property
    def tied(self) -> bool:
        """Whether the two score the same: the pair holds, but the reward does not tell them apart."""
        return self.holds and self.chosen.total <= self.rejected.total + TOLERANCE


@dataclass(frozen=True, slots=True)
class PairsReport:
    """What a reward makes of pairs. `rate` is that of the pairs that hold, with exact two-sided 95 % bounds."""

    judged: tuple[Judged, ...]
    rate: Interval

    @property
    def failing(self) -> tuple[Judged, ...]:
        """The pairs whose chosen reply scores lower."""
        return tuple(each for each in self.judged if not each.holds)

    @property
    def unpassed(self) -> tuple[Judged, ...]:
        """The pairs whose chosen reply does not pass: it earns partial credit or nothing."""
        return tuple(each for each in self.judged if not each.chosen.passed)

    @property
    def ties(self) -> tuple[Judged, ...]:
        """The pairs that score the same on both sides."""
        return tuple(each for each in self.judged if each.tied)


def judge(module: ModuleType, pairs: Sequence[Pair], params: Mapping[str, Any] = FrozenMap()) -> PairsReport:
    """Score both replies of every pair.

    Raises ValueError where there are no pairs, RewardFault where the reward raises or breaks its bounds on one.
    """
    scorer = Scorer(module, params)
    judged = tuple(
        Judged(
            pair,
            scorer.score(pair.scenario, replied(pair.scenario, pair.chosen)),
            scorer.score(pair.scenario, replied(pair.scenario, pair.rejected)),
        )
        for pair in pairs
    )
    return PairsReport(judged, clopper_pearson.interval(sum(each.holds for each in judged), len(judged)))
