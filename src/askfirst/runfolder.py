"""Where each file of a run lies. Written once or append-only; every record carries a version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class VariantFolder:
    """One arm with one seed."""

    root: Path

    @property
    def run(self) -> Path:
        """Present when, and only when, the variant is finished."""
        return self.root / "run.json"

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
        return VariantFolder(self.root / arm / f"seed-{seed}")

    def base_evaluation(self, split: str) -> Path:
        return self.root / "base" / f"{split}.json"

    def warmstart(self, seed: int) -> Path:
        return self.root / "warmstart" / f"seed-{seed}"

    def base_predictions(self) -> Path:
        """What the model before training says on the sealed split, before anything is judged."""
        return self.root / "base" / "sealed_predictions.jsonl"

    def selected_predictions(self) -> Path:
        return self.root / "selected" / "sealed_predictions.jsonl"

    def discarded(self, name: str) -> Path:
        """Where the ship gate moves a checkpoint that may not ship."""
        return self.root / "discarded" / name

    def selected_evaluation(self, split: str) -> Path:
        return self.root / "selected" / f"{split}.json"
