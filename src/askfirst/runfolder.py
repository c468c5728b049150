"""Where each file of a run lies. Written once or append-only; every record carries a version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_SIZE = "_g-"  # stands in the name of every point of a matrix (`slugs`), and in that of no arm


def variant_name(arm: str, seed: int) -> str:
    """What a variant and its folder are called: `arm/seed-1`, and for a point of a matrix its slug."""
    head, crossed, tail = arm.partition(_SIZE)
    return f"{head}_seed-{seed}{_SIZE}{tail}" if crossed else f"{arm}/seed-{seed}"


def variant_parts(name: str) -> tuple[str, int]:
    """The arm, or the point of a matrix, and the seed of a variant's name. Raises ValueError for another text."""
    arm, plain, seed = name.rpartition("/seed-")
    if not plain:
        head, _, rest = name.partition("_seed-")
        seed, _, tail = rest.partition(_SIZE)
        arm = f"{head}{_SIZE}{tail}"
    return arm, int(seed)


@dataclass(frozen=True, slots=True)
class VariantFolder:
    """One arm, or one point of a matrix, with one seed."""

    root: Path

    @property
    def name(self) -> str:
        own = self.root.name
        return own if _SIZE in own else f"{self.root.parent.name}/{own}"

    @property
    def config(self) -> Path:
        """The variant's own plan, resolved, and its hash."""
        return self.root / "config.json"

    def starts(self) -> list[Path]:
        """The start of every variant of this one's seed that has begun."""
        before, _, after = self.root.name.partition("_seed-")
        if _SIZE in after:
            seed = after.partition(_SIZE)[0]
            return sorted(self.root.parent.glob(f"*_seed-{seed}{_SIZE}*/{self.start.name}"))
        return sorted(self.root.parent.parent.glob(f"*/{before}/{self.start.name}"))

    @property
    def run(self) -> Path:
        """Present when, and only when, the variant is finished."""
        return self.root / "run.json"

    @property
    def pilot(self) -> Path:
        """The gate on the pilot that did not hold, where one did not."""
        return self.root / "pilot.json"

    @property
    def start(self) -> Path:
        """The policy before the first step, by its hash."""
        return self.root / "start.json"

    @property
    def metrics(self) -> Path:
        return self.root / "metrics.jsonl"

    @property
    def last_rollouts(self) -> Path:
        return self.root / "last_rollouts.jsonl"

    @property
    def best_rollouts(self) -> Path:
        return self.root / "best_rollouts.jsonl"

    @property
    def manifest(self) -> Path:
        return self.root / "checkpoint_manifest.json"

    def checkpoint(self, step: int) -> Path:
        return self.root / "checkpoints" / f"step-{step:05d}"

    def halted(self, step: int) -> Path:
        """The policy as it stood when the run was stopped between checkpoints."""
        return self.root / "halted" / f"step-{step:05d}"

    def halts(self) -> list[Path]:
        return sorted(self.root.glob("halted/step-*"))

    def evaluation(self, split: str, step: int) -> Path:
        return self.root / "evals" / f"{split}-{step:05d}.json"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One plan."""

    root: Path

    @property
    def plan(self) -> Path:
        return self.root / "plan.toml"

    @property
    def lock(self) -> Path:
        return self.root / "plan.lock.json"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.jsonl"

    @property
    def attestation(self) -> Path:
        """The signature over the head of the ledger."""
        return self.root / "attestation.json"

    @property
    def provenance(self) -> Path:
        """What the run was made with: versions, revision, model, prompts and data, by their hashes."""
        return self.root / "provenance.json"

    @property
    def ship(self) -> Path:
        """What the ship gate said."""
        return self.root / "ship.json"

    @property
    def gates(self) -> Path:
        return self.root / "gates.json"

    @property
    def selftest(self) -> Path:
        return self.root / "selftest.json"

    @property
    def selected(self) -> Path:
        return self.root / "selected_checkpoint.json"

    @property
    def baseline(self) -> Path:
        """The checkpoint of the arm that the plan compares with, where that is no model before training."""
        return self.root / "baseline_checkpoint.json"

    @property
    def summary(self) -> Path:
        return self.root / "summary.json"

    @property
    def table(self) -> Path:
        return self.root / "experiment_table.md"

    @property
    def verdict(self) -> Path:
        return self.root / "verdict.json"

    @property
    def reading(self) -> Path:
        """What readers said of the rollouts; it grows with every mark."""
        return self.root / "reading.jsonl"

    @property
    def hacks(self) -> Path:
        """The rollouts that were marked as hacks, as attacks."""
        return self.root / "hacks.jsonl"

    @property
    def report(self) -> Path:
        return self.root / "report.html"

    @property
    def card(self) -> Path:
        """The model card."""
        return self.root / "CARD.md"

    def variant(self, arm: str, seed: int) -> VariantFolder:
        return VariantFolder(self.root / variant_name(arm, seed))

    def having(self, name: str) -> list[VariantFolder]:
        """The folder of every variant in which a file of that name stands."""
        found = [path.parent for each in ("*/seed-*", f"*_seed-*{_SIZE}*") for path in self.root.glob(f"{each}/{name}")]
        return [VariantFolder(folder) for folder in sorted(found)]

    def base_evaluation(self, split: str) -> Path:
        return self.root / "base" / f"{split}.json"

    def warmstart(self, name: str) -> Path:
        return self.root / "warmstart" / name

    def base_predictions(self) -> Path:
        """What the model before training says on the sealed split, before anything is judged."""
        return self.root / "base" / "sealed_predictions.jsonl"

    def selected_predictions(self) -> Path:
        return self.root / "selected" / "sealed_predictions.jsonl"

    def baseline_evaluation(self, split: str) -> Path:
        """Of the arm that the plan compares with."""
        return self.root / "baseline" / f"{split}.json"

    def baseline_predictions(self) -> Path:
        return self.root / "baseline" / "sealed_predictions.jsonl"

    def discarded(self, name: str) -> Path:
        """Where the ship gate moves a checkpoint that may not ship."""
        return self.root / "discarded" / name

    def selected_evaluation(self, split: str) -> Path:
        return self.root / "selected" / f"{split}.json"
