"""Judges at work: a plugin with what it needs, guarded, so that what comes out is a judgement or the run stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.errors import JudgeFault, PluginError
from askfirst.judgement import Judged, Judgement
from askfirst.sections import JudgeSection
from askfirst.values import FrozenMap, Rollout

# What a careless judge raises on an episode; anything else is the machine's and goes up.
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge plugin by its name."""

    module: ModuleType

    @classmethod
    def named(cls, section: JudgeSection) -> Judge:
        """The judge that a plan names. Raises PluginError."""
        module = plugins.load("judges", section.name)
        if not hasattr(module, "judge"):
            raise PluginError(f"judges plugin {section.name!r} must define judge", where=module.__name__)
        return cls(module)

    @property
    def name(self) -> str:
        return f"{plugins.name_of(self.module)}@{self.module.VERSION}"

    def __call__(self, rollouts: Sequence[Rollout]) -> list[Judgement]:
        """A judgement of each episode, in their order; what was said of the same is judged once.

        Raises JudgeFault where the judge raises or returns what is no judgement.
        """
        distinct = {_said(rollout): rollout for rollout in rollouts}
        found = {said: self._one(rollout) for said, rollout in distinct.items()}
        return [found[_said(rollout)] for rollout in rollouts]

    def _one(self, rollout: Rollout) -> Judgement:
        try:
            found = self.module.judge(rollout.scenario, rollout.trajectory, rollout.score)
        except RAISED as error:
            raise JudgeFault(
                f"judge {self.name!r} raised {type(error).__name__}: {error}", where=f"scenario {rollout.scenario.id}"
            ) from error
        return require_sound(found, self.module.DIMENSIONS, self.name)


def _said(rollout: Rollout) -> tuple[Any, ...]:
    return rollout.scenario.id, rollout.trajectory.messages, rollout.trajectory.stop, rollout.score


def require_sound(found: object, dimensions: Sequence[str], name: str) -> Judgement:
    """The judgement, if it is one: a 0 or a 1 for exactly its dimensions, or no scores and why. Raises JudgeFault."""
    if not isinstance(found, Judgement):
        raise JudgeFault(f"judge {name!r} returned {type(found).__name__}, not a Judgement")
    if found.unparsable:
        if found.scores:
            raise JudgeFault(f"judge {name!r} gave scores of what it could not read")
    elif [*found.scores] != [*dimensions] or not all(type(v) is int and v in (0, 1) for v in found.scores.values()):
        raise JudgeFault(f"judge {name!r} scored {dict(found.scores)}, not 0 or 1 for each of {', '.join(dimensions)}")
    return found


def summary(judgements: Sequence[Judgement], passes: Sequence[bool] | None) -> Judged:
    """What judgements of episodes come to; `passes` says of each whether the oracle passes it, None without an oracle.

    The gap is the judge's mean less the share that the oracle passes, both over the episodes whose judgement could be
    read. Raises ValueError where there is nothing to judge.
    """
    if not judgements:
        raise ValueError("no judgement to sum up")
    readable = [at for at, found in enumerate(judgements) if not found.unparsable]
    chosen = [judgements[at] for at in readable]
    names = tuple(chosen[0].scores) if chosen else ()
    scores = FrozenMap({name: sum(found.scores[name] for found in chosen) / len(chosen) for name in names})
    mean = sum(found.mean for found in chosen) / len(chosen) if chosen else None
    oracle = sum(passes[at] for at in readable) / len(chosen) if chosen and passes is not None else None
    return Judged(
        judge=judgements[0].judge,
        episodes=len(judgements),
        unparsable=len(judgements) - len(chosen),
        scores=scores,
        mean=mean,
        oracle=oracle,
        gap=None if mean is None or oracle is None else mean - oracle,
        critiqued=sum(bool(found.flagged and found.feedback) for found in chosen) / len(judgements),
    )


def of_plan(section: JudgeSection | None) -> Mapping[str, Any]:
    """The judges of a plan as fields of a Scorer; none where it names none."""
    return {} if section is None else {"judge": Judge.named(section)}
