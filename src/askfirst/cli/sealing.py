"""`askfirst seal`, and `askfirst eval` on a suite that is sealed."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from askfirst import ledger, suites
from askfirst.canary import canary
from askfirst.cli.places import SEEDS, SUITES
from askfirst.decide import REUSED
from askfirst.evaluate import Label, Opening, grade, new_secret, predict, record_predictions
from askfirst.policy import Policy
from askfirst.rollout import Scorer, Stage
from askfirst.store import write_lines
from askfirst.values import EvalRecord


def seal(suite: Path | None, out: Path | None) -> None:
    """Draw a secret seed for generated splits, or encrypt a folder of fixtures; print what is committed to."""
    if suite is None:
        print(f'sealed = "{new_secret(secrets.token_hex(16), SEEDS)}"')
        return
    target = out or suite.with_name(suite.name + suites.SUFFIX)
    made = suites.seal(suite, target, SUITES, secrets.token_bytes(32))
    print(f"sealed    {made.items} fixtures in {target}: {made.commitment}")
    print(f"key       {suites.home(SUITES, made.commitment).root / 'key'}")


def evaluate(
    stage: Stage, scorer: Scorer, models: Sequence[tuple[Policy, Label]], file: Path
) -> tuple[list[EvalRecord], str]:
    """Open a sealed suite for some models, enter it and what they say, then judge it; and which opening it was."""
    with suites.opened(file, SUITES) as (suite, folder):
        home = suites.home(SUITES, suite.commitment)
        number = len(ledger.events(home, "sealed_opened")) + 1
        entry = {"version": 1, "event": "sealed_opened", "number": number, "sealed": suite.commitment}
        checkpoints = {label.checkpoint: policy.fingerprint() for policy, label in models}
        ledger.append(home.ledger, {**entry, "checkpoints": checkpoints, "opened_at": ledger.now()})
        mark = canary(suite.commitment)
        scenarios = [replace(s, values=(*s.values, mark)) for s in stage.env.read_suite(folder)]
    opening = Opening(home, number, tuple(scenarios))
    paths = [home.root / f"predictions-{number}-{place}.jsonl" for place in range(len(models))]
    for path, (policy, label) in zip(paths, models, strict=True):
        write_lines(path, predict(stage, policy, opening, label.checkpoint, lambda done, total: None))
    record_predictions(opening, paths)
    records = [
        grade(stage, scorer, opening, path, replace(label, split=suite.name))
        for path, (_, label) in zip(paths, models, strict=True)
    ]
    return records, "opened_once" if number == 1 else REUSED
