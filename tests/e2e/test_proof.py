"""What a finished run can be held to: 200 random edits of one byte, found by `askfirst verify`'s check, all of them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from askfirst import ledger
from askfirst.runfolder import RunFolder
from askfirst.store import generator

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PLAN = Path(__file__).parents[2] / "examples" / "e2e.toml"
SETS = (
    "train.steps=6", "evaluation.every=2", "evaluation.dev_items=40", "evaluation.sealed_items=40",
    "selection.max_false_ask=1.0", "decision.effect=0.9",
)  # fmt: skip
EDITS = 200


@pytest.mark.thorough
def test_each_of_200_random_edits_of_one_byte_is_found(askfirst: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = askfirst("run", PLAN, "--out", out, *(a for s in SETS for a in ("--set", s)))
    assert done.returncode == 1, done.stderr
    assert askfirst("verify", out).returncode == 0
    run, draw, found = RunFolder(out), generator("test", "tamper"), 0
    files = [path for path in sorted(out.rglob("*")) if path.is_file()]
    assert len(files) > 40
    for _ in range(EDITS):
        path = files[int(draw.integers(len(files)))]
        body = path.read_bytes()
        place, change = int(draw.integers(len(body))), int(draw.integers(1, 256))
        path.write_bytes(body[:place] + bytes([body[place] ^ change]) + body[place + 1 :])
        found += not ledger.verify(run).intact
        path.write_bytes(body)
    assert found == EDITS
    assert ledger.verify(run).intact
    (out / "summary.json").write_bytes((out / "summary.json").read_bytes().replace(b"0.", b"1.", 1))
    changed = askfirst("verify", out)
    assert (changed.returncode, "changed   summary.json" in changed.stdout) == (1, True)
    again = askfirst("run", PLAN, "--out", out, *(a for s in SETS for a in ("--set", s)))
    assert (again.returncode, "was changed after it was finished" in again.stderr) == (1, True)
    shipped = askfirst("ship", out)
    assert (shipped.returncode, shipped.stdout.count("DISCARD")) == (1, 1), shipped.stderr
