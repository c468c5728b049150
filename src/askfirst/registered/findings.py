"""What is wrong with a registered experiment before anything is spent on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askfirst.registered import features
from askfirst.registered.document import Experiment
from askfirst.registered.power import WANTED, Decidability, decidability

OPEN = "UNRESOLVED"  # begins a pin that is not set
# Benchmark → tasks in each split, as published (tau-bench at 59a200c6d575d595120f1cb70fea53cef0632f6b).
SIZES: Mapping[str, Mapping[str, int]] = {"tau-bench retail": {"train": 500, "test": 115, "dev": 20}}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, by field. What `blocks` has to be put right before a launch."""

    field: str
    text: str
    blocks: bool


def findings(experiment: Experiment, sizes: Mapping[str, Mapping[str, int]] = SIZES) -> list[Finding]:
    """All findings: open pins, false sizes, features that are not as declared, arms that differ in more than one key,
    a rule that can hardly decide, a single seed."""
    found = [*_pins(experiment.model_dump(mode="json"))]
    found += [
        Finding(f"experiment_features.{d.name}", f"declared {d.declared}, but the document says {d.derived}", True)
        for d in features.disagreements(experiment)
    ]
    found += _arms(experiment)
    found += _sizes(experiment, sizes)
    found += _decides(decidability(experiment))
    if len(experiment.decision_rule.seeds) == 1:
        found.append(Finding("decision_rule.seeds", "one seed: no statement about other training runs", False))
    return found


def unresolved(pin: str) -> bool:
    """Whether a pin is open: empty, or marked so."""
    return not pin.strip() or pin.strip().startswith(OPEN)


def _pins(value: Any, path: str = "") -> Iterator[Finding]:
    """Every open revision, and every text anywhere that is marked as unresolved."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _pins(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for at, inner in enumerate(value):
            yield from _pins(inner, f"{path}.{at}")
    elif isinstance(value, str) and (
        value.strip().startswith(OPEN) or (path.endswith("_revision") and unresolved(value))
    ):
        yield Finding(path, f"the pin is open: {value.strip()[:60] or 'empty'}", True)


def _arms(experiment: Experiment) -> Iterator[Finding]:
    """Arms differ in one key besides their names, and start with the optimiser that they are declared to have."""
    documents = [arm.model_dump(exclude={"name"}) for arm in experiment.arms]
    differing = [key for key in documents[0] if len({str(d[key]) for d in documents}) > 1]
    if len(documents) > 1 and len(differing) != 1:
        yield Finding("arms", f"differ in {', '.join(differing) or 'nothing'}; one difference can be judged", True)
    rates = {arm.name: arm for arm in experiment.arms}
    for group in experiment.restoration_preflight.groups:
        for arm in group.arms:
            field = f"restoration_preflight.{arm.name}"
            if arm.name not in rates:
                yield Finding(field, "is not an arm", True)
                continue
            own = rates[arm.name]
            wanted = {"learning_rate": own.lr, "seed": own.seed, "lora_rank": experiment.lora_rank}
            for key, value in wanted.items():
                if key in arm.optimizer_config and arm.optimizer_config[key] != value:
                    yield Finding(f"{field}.{key}", f"{arm.optimizer_config[key]}, but the arm has {value}", True)


def _sizes(experiment: Experiment, sizes: Mapping[str, Mapping[str, int]]) -> Iterator[Finding]:
    data, steps = experiment.dataset, experiment.steps
    train = next((split["train"] for name, split in sizes.items() if name in data.name), None)
    if train is not None and data.n_examples != train:
        text = f"{data.n_examples} is not the size of the train split, {train}"
        each, rest = divmod(data.n_examples, steps)
        if not rest and each and experiment.batch_size % each == 0:
            text += (
                f"; it is what the run sees, {steps} steps × {each} tasks × {experiment.batch_size // each} rollouts"
            )
        yield Finding("dataset.n_examples", text, False)
    test = next((split["test"] for name, split in sizes.items() if name in experiment.eval.benchmark), None)
    if test is not None and experiment.eval.n_examples > test:
        yield Finding("eval.n_examples", f"{experiment.eval.n_examples} of a test split of {test}", True)


def _decides(power: Decidability | None) -> Iterator[Finding]:
    if power is not None and power.chances and power.chances[0].chance < WANTED:
        first = power.chances[0]
        text = f"P(validated | {first.points:+.0f} points) = {first.chance:.4f}, wanted {WANTED}: hardly decidable"
        yield Finding("decision_rule", text, True)
