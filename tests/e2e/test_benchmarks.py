"""The benchmarks keep up with what they measure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = {"model": "nano", "dtype": "fp32", "prompts": 1, "group": 2, "prompt_tokens": 8, "new_tokens": 4}


@pytest.mark.thorough
def test_a_step_of_any_shape_is_measured() -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "benchmarks.contenders.askfirst_step", "--shape", json.dumps(SMALL)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["seconds"]) == 1
    assert set(found["parts"][0]) == {"rollout", "train"}
