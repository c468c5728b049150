"""A checkpoint on a split → outcomes item by item; the only door to a sealed split."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import judging, ledger
from askfirst.canary import canary
from askfirst.errors import SplitError
from askfirst.judgement import Judged, Judgement
from askfirst.measures import measures, noted
from askfirst.plan import Plan
from askfirst.policy import Policy
from askfirst.rollout import Draw, Scorer, Stage, judged, rollouts, trajectories
from askfirst.runfolder import RunFolder
from askfirst.store import as_record, read_json, read_lines, seed_from, write_text
from askfirst.values import (
    Ask,
    EvalRecord,
    FrozenMap,
    ItemOutcome,
    Message,
    Rollout,
    Scenario,
    StopReason,
    Trajectory,
)

# Failure codes that say the reply was not even of the expected kind.
WRONG_KIND = frozenset({"no_output", "no_json", "unparsable", "intent_mismatch"})
THOUGHT = "thinking_exhausted"  # a failure of its own: the budget ran out before a reply began
CHUNK = 64
RECORDED = "predictions_recorded"


@dataclass(frozen=True, slots=True)
class Label:
    """What an evaluation is of. `trials` are the episodes of each scenario."""

    model: str
    checkpoint: str
    split: str
    step: int = 0
    trials: int = 1


def evaluate(
    stage: Stage,
    policy: Policy,
    scorer: Scorer,
    scenarios: Sequence[Scenario],
    label: Label,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> EvalRecord:
    """One greedy episode of each scenario, scored, also by the rewards that judge beside; of several trials, all are
    sampled at the stage's temperature.

    A fault ends the evaluation: a part of a split is not a result.
    """
    if not scenarios:
        raise SplitError(f"split {label.split!r} has no items")
    stage = at_temperature(stage, label.trials)
    items: list[ItemOutcome] = []
    read: list[Judgement] = []
    held_out: list[Judgement] = []
    for start in range(0, len(scenarios), CHUNK):
        batch = rollouts(stage, policy, scorer, scenarios[start : start + CHUNK], Draw(0, 0, label.trials))
        if batch.faults:
            raise batch.faults[0]
        played = [rollout for group in batch.groups for rollout in group.rollouts]
        items += [_outcome(stage.env, rollout, scorer) for rollout in played]
        read += [rollout.judgement for rollout in played if rollout.judgement is not None]
        held_out += scorer.held_out(played) if scorer.held_out else ()
        progress(len(items) // label.trials, len(scenarios))
    reward = items and batch.groups[0].rollouts[0].score.reward
    found = EvalRecord(1, label.model, label.checkpoint, label.split, label.step, str(reward), tuple(items))
    return replace(found, measures=measures(stage.env, items), judged=_summed(stage.env, (read, held_out), items))


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a checkpoint says to a sealed item, before anything is judged. `dialogue` begins with its first message."""

    version: int
    opening: int
    checkpoint: str
    scenario: str
    dialogue: tuple[Message, ...]
    stop: StopReason
    canary: str


def predict(
    stage: Stage, policy: Policy, opening: Opening, checkpoint: str, progress: Callable[[int, int], None]
) -> tuple[Prediction, ...]:
    """One greedy reply, or dialogue, for each item of an opened split. Nothing is scored. Raises EnvironmentFault."""
    greedy, found = _greedy(stage), list[Prediction]()
    for start in range(0, len(opening.scenarios), CHUNK):
        chunk = opening.scenarios[start : start + CHUNK]
        for scenario, (said,) in zip(chunk, trajectories(greedy, policy, chunk, Draw(0, 0, 1)), strict=True):
            dialogue = said.messages[len(stage.prompt(scenario)) :]
            found.append(
                Prediction(1, opening.number, checkpoint, scenario.id, dialogue, said.stop, scenario.values[-1])
            )
        progress(len(found), len(opening.scenarios))
    return tuple(found)


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Predictions as they were written; none where there is no file. Raises InputError with file and line."""
    lines = read_lines(path) if path.is_file() else ()
    return tuple(as_record(Prediction, line, f"{path}:{number}") for number, line in enumerate(lines, start=1))


def grade(stage: Stage, scorer: Scorer, opening: Opening, path: Path, label: Label) -> EvalRecord:
    """The record of predictions. Raises SplitError unless `record_predictions` entered them as they are now."""
    entered = [f for line in _recorded(opening.run, opening.number) for f in line["files"]]
    if ledger.entries(opening.run.root, [path])[0] not in entered:
        raise SplitError(
            "the predictions are not those that the ledger recorded before labels were shown", where=str(path)
        )
    found = read_predictions(path)
    if [p.scenario for p in found] != [s.id for s in opening.scenarios]:
        raise SplitError("the predictions are not of these items in this order", where=str(path))
    done = [
        judged(stage.env, scorer, scenario, 0, Trajectory((*stage.prompt(scenario), *p.dialogue), (), p.stop))
        for scenario, p in zip(opening.scenarios, found, strict=True)
    ]
    items = tuple(_outcome(stage.env, rollout, scorer) for rollout in done)
    said = [list(judge(done)) if judge else [] for judge in (scorer.judge, scorer.held_out)]
    record = EvalRecord(1, label.model, label.checkpoint, label.split, label.step, done[0].score.reward, items)
    return replace(record, measures=measures(stage.env, items), judged=_summed(stage.env, said, items))


def _summed(env: ModuleType, said: Sequence[Sequence[Judgement]], items: Sequence[ItemOutcome]) -> tuple[Judged, ...]:
    """What each judge of an evaluation comes to, the held-out one last."""
    oracle = getattr(env, "ORACLE", "")
    passes = [bool(item.verdicts[oracle]) for item in items] if oracle in items[0].verdicts else None
    return tuple(judging.summary(own, passes) for own in said if own)


def at_temperature(stage: Stage, trials: int) -> Stage:
    """The stage of an evaluation of so many trials: one is greedy."""
    return _greedy(stage) if trials == 1 else stage


def _greedy(stage: Stage) -> Stage:
    return replace(stage, sampling=replace(stage.sampling, temperature=0.0))


def _outcome(env: ModuleType, rollout: Rollout, scorer: Scorer) -> ItemOutcome:
    scenario, score = rollout.scenario, rollout.score
    others = {name: other.score(scenario, rollout.trajectory).passed for name, other in scorer.beside.items()}
    return ItemOutcome(
        scenario_id=scenario.id,
        family=scenario.family,
        stratum=scenario.stratum,
        passed=score.passed,
        asked=isinstance(rollout.action, Ask),
        right_intent=not WRONG_KIND & set(score.failures),
        total=score.total,
        failures=(THOUGHT,) if rollout.trajectory.stop is StopReason.THINKING else score.failures,
        reply=rollout.trajectory.reply,
        terms=score.terms,
        verdicts=FrozenMap(others),
        trial=rollout.index,
        facts=noted(env, scenario, rollout.trajectory),
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
    """The sealed items of a run, and which opening of them this is: 1 is the only clean one.

    The last of the `values` of every item is the split's canary.
    """

    run: RunFolder
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
        ledger.append(folder.ledger, {**entry, "sealed": plan.env.sealed, "opened_at": ledger.now()})
    scenarios = split_scenarios(env, plan, "sealed", seed_from("sealed", secret))
    mark = canary(plan.env.sealed)
    return Opening(folder, number, tuple(replace(s, values=(*s.values, mark)) for s in scenarios))


def record_predictions(opening: Opening, paths: Sequence[Path]) -> None:
    """Enter the hashes of everything that was predicted, once an opening; only then are labels shown (`grade`)."""
    if not _recorded(opening.run, opening.number):
        entry = {"version": 1, "event": RECORDED, "number": opening.number}
        files = ledger.entries(opening.run.root, paths)
        ledger.append(opening.run.ledger, {**entry, "files": files, "recorded_at": ledger.now()})


def _recorded(run: RunFolder, number: int) -> list[dict[str, Any]]:
    return [line for line in ledger.events(run, RECORDED) if line["number"] == number]


def openings(folder: RunFolder) -> int:
    """How often the sealed split of this run has been opened."""
    return len(_openings(folder))


def _openings(folder: RunFolder) -> list[dict[str, Any]]:
    return ledger.events(folder, "sealed_opened")
