"""A checkpoint on a split → outcomes item by item; the only door to a sealed split."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst.errors import SplitError
from askfirst.plan import Plan
from askfirst.policy import Policy
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.runfolder import RunFolder
from askfirst.store import append_line, read_json, read_lines, seed_from, write_text
from askfirst.values import Ask, EvalRecord, ItemOutcome, Rollout, Scenario

# Failure codes that say the reply was not even of the expected kind.
WRONG_KIND = frozenset({"no_output", "no_json", "unparsable", "intent_mismatch"})
CHUNK = 64


@dataclass(frozen=True, slots=True)
class Label:
    """What an evaluation is of."""

    model: str
    checkpoint: str
    split: str
    step: int = 0


def evaluate(
    stage: Stage,
    policy: Policy,
    scorer: Scorer,
    scenarios: Sequence[Scenario],
    label: Label,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> EvalRecord:
    """One greedy reply for each scenario, scored. A fault ends the evaluation: a part of a split is not a result."""
    if not scenarios:
        raise SplitError(f"split {label.split!r} has no items")
    greedy = replace(stage, sampling=replace(stage.sampling, temperature=0.0))
    items: list[ItemOutcome] = []
    for start in range(0, len(scenarios), CHUNK):
        batch = rollouts(greedy, policy, scorer, scenarios[start : start + CHUNK], Draw(0, 0, 1))
        if batch.faults:
            raise batch.faults[0]
        items += [_outcome(stage.env, group.rollouts[0]) for group in batch.groups]
        progress(len(items), len(scenarios))
    reward = items and batch.groups[0].rollouts[0].score.reward
    return EvalRecord(1, label.model, label.checkpoint, label.split, label.step, str(reward), tuple(items))


def _outcome(env: ModuleType, rollout: Rollout) -> ItemOutcome:
    """The outcome of an item; an environment may have `measures(scenario, trajectory)` of its own."""
    scenario, score, measures = rollout.scenario, rollout.score, getattr(env, "measures", None)
    return ItemOutcome(
        scenario_id=scenario.id,
        family=scenario.family,
        stratum=scenario.stratum,
        passed=score.passed,
        asked=isinstance(rollout.action, Ask),
        right_intent=not WRONG_KIND & set(score.failures),
        total=score.total,
        failures=score.failures,
        reply=rollout.trajectory.reply,
        measures=tuple(measures(scenario, rollout.trajectory).items()) if measures else (),
    )


def split_scenarios(env: ModuleType, plan: Plan, split: str, seed: int) -> list[Scenario]:
    """The items of a generated split, the plan's share of them clear. For sealed, use `open_sealed`."""
    count = plan.evaluation.dev_items if split == "dev" else plan.evaluation.sealed_items
    clear = round(count * plan.evaluation.clear_fraction)
    ambiguous = env.scenarios(split, count - clear, seed, {"ambiguous": 1.0})
    return list(ambiguous) + list(env.scenarios(split, clear, seed, env.EVALUATION_MIX))


def commitment(secret: str) -> str:
    """What a plan says of a secret seed."""
    return "sha256:" + hashlib.sha256(secret.encode()).hexdigest()


def new_secret(secret: str, folder: Path) -> str:
    """Keep a secret seed in the user's folder; returns its commitment for the plan."""
    word = commitment(secret)
    write_text(folder / word.removeprefix("sha256:"), secret + "\n")
    return word


def find_secret(plan: Plan, places: Sequence[Path]) -> str:
    """The secret seed that the plan commits to, from the first place that has it. Raises SplitError."""
    for place in places:
        if place.is_file():
            secret = place.read_text("utf-8").strip()
            if commitment(secret) == plan.env.sealed:
                return secret
    raise SplitError(
        "the secret seed of the sealed split is not here",
        where=plan.env.sealed,
        hint="looked in: " + ", ".join(map(str, places)) + "; `askfirst seal` makes a new one",
    )


@dataclass(frozen=True, slots=True)
class Opening:
    """The sealed items, and which opening of them this is: 1 is the only clean one."""

    number: int
    scenarios: tuple[Scenario, ...]


def open_sealed(env: ModuleType, plan: Plan, folder: RunFolder, secret: str) -> Opening:
    """Open the sealed split. The opening is in the ledger before any item is returned.

    An opening of the same checkpoint that ended without a record is gone on with: nobody has seen a result of it.

    Raises SplitError unless a checkpoint has been selected and the secret is the committed one.
    """
    if commitment(secret) != plan.env.sealed:
        raise SplitError("the secret seed is not the one the plan commits to", where=plan.env.sealed)
    if not folder.selected.is_file():
        raise SplitError(
            "the sealed split opens after a checkpoint is selected, and none is", where=str(folder.selected)
        )
    checkpoint, before = read_json(folder.selected)["checkpoint"], _openings(folder)
    recorded = folder.selected_evaluation("sealed").is_file()
    number = len(before)
    if recorded or not before or before[-1]["checkpoint"] != checkpoint:
        number += 1
        entry = {"version": 1, "event": "sealed_opened", "number": number, "checkpoint": checkpoint}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        append_line(folder.ledger, {**entry, "sealed": plan.env.sealed, "opened_at": now})
    scenarios = split_scenarios(env, plan, "sealed", seed_from("sealed", secret))
    return Opening(number, tuple(scenarios))


def openings(folder: RunFolder) -> int:
    """How often the sealed split of this run has been opened."""
    return len(_openings(folder))


def _openings(folder: RunFolder) -> list[dict[str, Any]]:
    lines = read_lines(folder.ledger) if folder.ledger.is_file() else ()
    return [line for line in lines if line.get("event") == "sealed_opened"]
