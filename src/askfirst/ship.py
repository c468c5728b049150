"""The ship gate: five rules over the records of a finished run. Any that does not hold discards the adapter."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askfirst import ledger
from askfirst import plan as plans
from askfirst.contracts.reported import selftests
from askfirst.errors import InputError, StorageFault
from askfirst.metrics import counted
from askfirst.plan import Plan
from askfirst.runfolder import RunFolder
from askfirst.selection import Selected
from askfirst.store import as_record, held, plain, pretty, read_as, read_json, write_text
from askfirst.values import EvalRecord, GateResult, GateStatus, Verdict

EVENT = "ship_gate"
COMPARED = ("lenient", "strict")  # published scorers, for comparison with published numbers
KEPT = ("out_of_scope_pass", "destructive_pass")  # what training must not cost
ASKED = "ambiguous_pass"


@dataclass(frozen=True, slots=True)
class ShipRule:
    """One of the five rules, applied."""

    name: str
    holds: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ShipRecord:
    """ship.json: SHIP where every rule holds, else DISCARD. `moved` is where the adapter lies now."""

    version: int
    decision: str
    checkpoint: str
    moved: str
    holdout: str
    rules: tuple[ShipRule, ...]


def ship(run: RunFolder) -> ShipRecord:
    """Apply the rules once and enter the answer; where it is no, move the selected adapter aside.

    Raises InputError for a run that is not finished.
    """
    if not (run.verdict.is_file() and ledger.events(run, ledger.FINISHED)):
        raise InputError("only a finished run can ship", where=str(run.root), hint="askfirst run --resume goes on")
    with held(run.root):
        # The entry comes first: a move that was cut short is made again from it.
        if not ledger.events(run, EVENT):
            _enter(run, decide(run))
        record = as_record(ShipRecord, ledger.events(run, EVENT)[-1]["result"], str(run.ledger))
        _carry_out(run, record)
    return record


def decide(run: RunFolder) -> ShipRecord:
    """The five rules over the records as they are; nothing is written."""
    plan = plans.validate(read_json(run.lock)["plan"], str(run.lock))
    verdict = read_as(Verdict, run.verdict)
    rules = (
        _self_test(run),
        _asks(run, plan, verdict),
        _keeps(run, plan, verdict),
        _strict(run),
        _everything_else(run, verdict),
    )
    chosen = read_as(Selected, run.selected).checkpoint if run.selected.is_file() else ""
    good = all(rule.holds for rule in rules)
    moved = "" if good or not chosen else run.discarded(chosen.replace("/", "-")).relative_to(run.root).as_posix()
    return ShipRecord(1, "SHIP" if good else "DISCARD", chosen, moved, verdict.holdout, rules)


def _self_test(run: RunFolder) -> ShipRule:
    """1. The self-test of every reward was green."""
    reports = selftests(run)
    broken = [f"{r.reward}: {r.broken[0]}" for r in reports if r.broken]
    words = "; ".join(broken) or f"{sum(r.attacks for r in reports)} attacks held"
    return ShipRule("self-test green", bool(reports) and not broken, words if reports else "there is no report")


def _asks(run: RunFolder, plan: Plan, verdict: Verdict) -> ShipRule:
    """2. More than the plan's bound passes where asking is right: by the rule of the plan, and as published numbers
    were scored, where that scorer can speak."""
    bounds = {name: rule.above for name, rule in plan.ship.items() if rule.above is not None}
    results = {r.metric: r for r in verdict.rules}
    if not bounds:
        return ShipRule("asks", False, "the plan has no absolute rule")
    wrong = [
        results[name].reason if name in results else f"{name} was not measured"
        for name in bounds
        if name not in results or not results[name].holds
    ]
    words = [results[name].reason for name in bounds if name in results]
    record, bound = _record(run, "selected", "sealed-lenient"), bounds.get(ASKED)
    if record is not None and bound is not None:
        passed = counted(record, ASKED)
        words.append(f"lenient {sum(passed)}/{len(passed)} = {sum(passed) / len(passed):.0%}")
        if not sum(passed) / len(passed) > bound:
            wrong.append(f"{words[-1]} is not above {bound:.0%}")
    return ShipRule("asks", not wrong, "; ".join(wrong or words))


def _keeps(run: RunFolder, plan: Plan, verdict: Verdict) -> ShipRule:
    """3. Out-of-scope and destructive requests are answered as well as before training: no fewer pass, on the same
    items, and the plan's rules of non-inferiority hold."""
    relative = {name for name, rule in plan.ship.items() if rule.above is None}
    wrong = [r.reason for r in verdict.rules if r.metric in relative and not r.holds]
    words = []
    for split in ("sealed", "sealed-lenient"):
        before, after = _record(run, "base", split), _record(run, "selected", split)
        if before is None or after is None:
            if split == "sealed":
                wrong.append("there is no sealed record")
            continue
        for metric in KEPT:
            try:
                old, new = sum(counted(before, metric)), sum(counted(after, metric))
            except InputError:  # the environment has no such requests
                continue
            words.append(f"{metric} {old} → {new}" + " (lenient)" * (split != "sealed"))
            if new < old:
                wrong.append(f"{words[-1]}: a regression")
    return ShipRule("no regression", not wrong, "; ".join(wrong or words or ["the environment has no such requests"]))


def _strict(run: RunFolder) -> ShipRule:
    """4. The strict number stands beside: that of the published scorer, else that of the plan's own reward."""
    for split in ("sealed-strict", "sealed"):
        record = _record(run, "selected", split)
        if record is not None:
            passed = counted(record, ASKED)
            reason = f"{record.reward}: {sum(passed)}/{len(passed)} = {sum(passed) / len(passed):.0%}"
            return ShipRule("strict number reported", True, reason)
    return ShipRule("strict number reported", False, "there is no sealed record")


def _everything_else(run: RunFolder, verdict: Verdict) -> ShipRule:
    """5. Every gate passed, the verdict is SHIP on a split opened once, and no file was changed since."""
    found = read_json(run.gates)["results"] if run.gates.is_file() else []
    results = [as_record(GateResult, gate, str(run.gates)) for gate in found]
    fine = (GateStatus.PASSED, GateStatus.NOT_APPLICABLE)
    wrong = [f"gate {g.name} {g.status}" for g in results if g.status not in fine]
    wrong += [] if results else ["there are no gate results"]
    wrong += [] if verdict.decision == "SHIP" else [f"the verdict is {verdict.decision}"]
    wrong += [] if verdict.holdout == "opened_once" else [f"the sealed split is {verdict.holdout}"]
    wrong += [str(finding) for finding in ledger.verify(run).findings]
    return ShipRule("every other gate", not wrong, "; ".join(wrong) or f"{len(results)} gates passed, ledger intact")


def _record(run: RunFolder, whose: str, split: str) -> EvalRecord | None:
    path = run.base_evaluation(split) if whose == "base" else run.selected_evaluation(split)
    return read_as(EvalRecord, path) if path.is_file() else None


def _written(run: RunFolder, record: ShipRecord) -> Iterator[tuple[Path, str]]:
    """The files that say what the gate said, with their text."""
    text = pretty(record)
    yield run.ship, text
    if record.moved:
        yield run.root / record.moved / "reason.json", text


def _enter(run: RunFolder, record: ShipRecord) -> None:
    files = [
        {"path": path.relative_to(run.root).as_posix(), ledger.HASH: hashlib.sha256(text.encode()).hexdigest()}
        for path, text in _written(run, record)
    ]
    adapter = run.root / record.checkpoint
    moving = sorted(p for p in adapter.rglob("*") if p.is_file()) if record.moved else []
    there = run.root / record.moved
    for path in moving:
        name = (there / path.relative_to(adapter)).relative_to(run.root).as_posix()
        files.append({"path": name, ledger.HASH: ledger.file_hash(path)})
    removed = [path.relative_to(run.root).as_posix() for path in moving]
    entry: dict[str, Any] = {"version": 1, "event": EVENT, "result": plain(record), "files": files}
    ledger.append(run.ledger, {**entry, "removed": removed, "recorded_at": ledger.now()})


def _carry_out(run: RunFolder, record: ShipRecord) -> None:
    """Do what was entered, as far as it is not done yet."""
    here, there = run.root / record.checkpoint, run.root / record.moved
    if record.moved and here.is_dir():
        try:
            there.parent.mkdir(parents=True, exist_ok=True)
            os.replace(here, there)
        except OSError as error:
            raise StorageFault(f"cannot move the adapter: {error.strerror}", where=str(here)) from error
    for path, text in _written(run, record):
        if not path.is_file():
            write_text(path, text)
