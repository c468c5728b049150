"""The one calibration that a plan may allow itself: after a gate on the pilot fails, everything starts anew with one
value changed as the plan said beforehand.

It is entered in the ledger as a deviation, so that every report shows it; what was trained before is kept in `pilot/`.
A gate that fails after it stops the run for good.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from askfirst import deviation, ledger
from askfirst.plan import Plan, at, calibrated, plan_hash
from askfirst.runfolder import RunFolder
from askfirst.store import plain, read_json, write_json
from askfirst.variants import Run

WHO = "the plan's calibration"
NAME = "calibration"  # what marks its entry among the deviations


def entered(run: RunFolder) -> dict[str, Any] | None:
    """The calibration of a run as its ledger has it; None where there was none."""
    return next((each for each in ledger.events(run, deviation.EVENT) if NAME in each), None)


def in_force(job: Run) -> Run:
    """The run with the plan that holds: calibrated where the ledger says so."""
    return replace(job, plan=calibrated(job.plan)) if entered(job.folder) else job


def failed_pilot(job: Run) -> dict[str, Any] | None:
    """The first failed gate on a pilot of this plan, where it may still be calibrated."""
    if job.plan.calibration is None or entered(job.folder):
        return None
    found = [read_json(folder.pilot) for folder in job.folder.having("pilot.json")]
    return min(found, key=lambda each: str(each["variant"])) if found else None


def calibrate(job: Run, pilot: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Enter the calibration for a failed gate, and freeze the run anew.

    `job` has the calibrated plan, `document` is its lock. The ledger comes first: no lock stands that was not entered.
    """
    changed = deviation.changes(read_json(job.folder.lock), plain(document))
    reason = deviation.Reason(f"calibration that the plan allowed: {pilot['reason']}", WHO)
    made = plain(deviation.entry(changed, plan_hash(job.plan), reason))
    ledger.append(job.folder.ledger, {**made, NAME: {**pilot, "key": _section(job.plan).key}})
    write_json(job.folder.lock, document)


def set_aside(job: Run) -> None:
    """Move what was trained before the calibration into `pilot/`. Done again after a kill, it changes nothing."""
    found = entered(job.folder)
    if found is None:
        return
    key = _section(job.plan).key
    before = next(change["before"] for change in found["changes"] if change["what"] == f"plan.{key}")
    for folder in job.folder.having("config.json"):
        if at(read_json(folder.config)["plan"], key) == before:
            there = job.folder.root / "pilot" / folder.name
            there.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder.root, there)


def _section(plan: Plan) -> Any:
    assert plan.calibration is not None  # or nothing was entered
    return plan.calibration
