"""What an experiment does, derived from the rest of its document, and the checks that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

from askfirst.registered.document import Experiment, Features

# Check → the features that require it.
DECISION = ("paired_comparison", "adaptive_selection")
CORRECTNESS = ("custom_loss", "custom_optimizer")
RESTORATION = ("paired_training_arms", "checkpoint_restore", "warmup_adaptation")
GENERATION = ("generated_training_data", "learned_generator")


def derived(experiment: Experiment) -> Features:
    """The features of an experiment by what else stands in its document.

    Where the format has no other key that tells (checkpoints restored, learned generators, adaptive selection, warm-up
    adaptation), what is declared counts: whoever says that it happens is held to the check.
    """
    declared = experiment.experiment_features
    kinds = {path.kind for path in experiment.correctness_preflight.paths}
    weights = [c.weights for c in experiment.decision_rule.criteria]
    return Features(
        custom_loss="loss" in kinds,
        custom_optimizer="optimizer" in kinds,
        paired_comparison=any(len({w > 0 for w in each.values()}) == 2 for each in weights),
        paired_training_arms=len(experiment.arms) > 1,
        heldout_loss=any("loss" in c.metric for c in experiment.decision_rule.criteria),
        generated_training_data=experiment.generation_audit.required or declared.generated_training_data,
        adaptive_selection=declared.adaptive_selection,
        checkpoint_restore=declared.checkpoint_restore,
        learned_generator=declared.learned_generator,
        warmup_adaptation=declared.warmup_adaptation,
    )


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A feature that is declared to be what it is not."""

    name: str
    declared: bool
    derived: bool


def disagreements(experiment: Experiment) -> list[Disagreement]:
    """The declared features that the rest of the document contradicts."""
    declared, found = experiment.experiment_features.model_dump(), derived(experiment).model_dump()
    return [Disagreement(name, declared[name], found[name]) for name in declared if declared[name] != found[name]]


def true_among(features: Features, names: tuple[str, ...]) -> dict[str, bool]:
    """The values of some features."""
    every = features.model_dump()
    return {name: every[name] for name in names}
