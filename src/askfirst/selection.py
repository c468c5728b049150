"""Choose a checkpoint from dev records. Nothing here can read a sealed record: it takes `DevMetrics`, which are made of
dev and smoke evaluations alone, and opens no file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askfirst.criteria import SelectionSection
from askfirst.errors import NothingSelected
from askfirst.metrics import DevMetrics
from askfirst.runfolder import variant_name

POLICY = "dev_or_smoke_metrics_only_no_heldout_test"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A checkpoint as its variant's manifest has it. `arm` is an arm, or a point of a matrix."""

    arm: str
    seed: int
    step: int
    checkpoint: str
    fingerprint: str
    informative_fraction: float
    dev: DevMetrics

    @property
    def name(self) -> str:
        return f"{variant_name(self.arm, self.seed)} step {self.step}"


@dataclass(frozen=True, slots=True)
class Selected:
    """The chosen checkpoint, by which rule, out of how many."""

    version: int
    policy: str
    metric: str
    value: float
    arm: str
    seed: int
    step: int
    checkpoint: str
    fingerprint: str
    informative_fraction: float
    candidates: int
    eligible: int

    @property
    def name(self) -> str:
        return f"{variant_name(self.arm, self.seed)} step {self.step}"

    @property
    def checkpoint_name(self) -> str:
        """What evaluations of the checkpoint are labelled with."""
        return f"{variant_name(self.arm, self.seed)}@{self.step}"


def select(candidates: Sequence[Candidate], rule: SelectionSection, arms: Sequence[str]) -> Selected:
    """The eligible checkpoint of some arms with the highest dev metric; the earlier step, then the lower seed, then the
    arm named first, on a tie.

    Raises NothingSelected when none is eligible, saying what ruled the best one out.
    """
    own = [c for c in candidates if c.arm in arms]
    if not own:
        raise NothingSelected(f"arm {' or '.join(map(repr, arms)) or 'none'} has no checkpoint to select from")
    eligible = [c for c in own if not ruled_out(c, rule)]
    if not eligible:
        best = max(own, key=lambda c: c.dev[rule.metric])
        raise NothingSelected(
            f"none of {len(own)} checkpoints may be selected: {best.name} has {ruled_out(best, rule)}"
        )
    chosen = min(eligible, key=lambda c: (-c.dev[rule.metric], c.step, c.seed, arms.index(c.arm)))
    return Selected(
        version=1,
        policy=POLICY,
        metric=rule.metric,
        value=chosen.dev[rule.metric],
        arm=chosen.arm,
        seed=chosen.seed,
        step=chosen.step,
        checkpoint=chosen.checkpoint,
        fingerprint=chosen.fingerprint,
        informative_fraction=chosen.informative_fraction,
        candidates=len(own),
        eligible=len(eligible),
    )


def ruled_out(candidate: Candidate, rule: SelectionSection) -> str:
    """Why a checkpoint may not be selected; empty where it may."""
    if candidate.informative_fraction < rule.min_informative_fraction:
        return f"informative fraction {candidate.informative_fraction:.2f} < {rule.min_informative_fraction:.2f}"
    if candidate.dev["false_ask"] > rule.max_false_ask:
        return f"asks on {candidate.dev['false_ask']:.0%} of clear requests > {rule.max_false_ask:.0%}"
    return ""
