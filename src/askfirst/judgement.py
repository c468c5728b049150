"""What judges say of episodes: of one, and of many together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge says of one episode: by dimension 1, or 0 where it is flagged, and in words what went wrong.

    Where the judge's own reply could not be read, `unparsable` says why, and there are no scores: that is never a 0.
    """

    judge: str
    scores: Mapping[str, int]
    feedback: str
    unparsable: str = ""

    @property
    def mean(self) -> float:
        """The mean of the scores, in [0, 1]. Raises ValueError where there are none."""
        if not self.scores:
            raise ValueError(f"no scores: {self.unparsable or 'the judgement is empty'}")
        return sum(self.scores.values()) / len(self.scores)

    @property
    def flagged(self) -> tuple[str, ...]:
        """The dimensions that are flagged, in their order."""
        return tuple(name for name, value in self.scores.items() if not value)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge says of many episodes. `unparsable` of them it could not judge; these count in nothing else.

    `scores` are the means by dimension and `mean` is that of all; `oracle` is the share that the environment's oracle
    passes of the same episodes, `gap` the mean less it. `critiqued` is the share of all episodes with a flag and words.
    """

    judge: str
    episodes: int
    unparsable: int
    scores: Mapping[str, float]
    mean: float | None
    oracle: float | None
    gap: float | None
    critiqued: float
