"""The command line as a person runs it: another process, its output and its exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def askfirst(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run `askfirst ARGUMENTS`; never raises, so that a test can look at the exit code."""
    elsewhere = tmp_path_factory.mktemp("cwd")

    def run(*arguments: str | Path, cwd: Path = elsewhere, timeout: float = 100) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "askfirst", *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)

    return run


@pytest.fixture(scope="session")
def kills(request: pytest.FixtureRequest) -> int:
    """How often runs are killed in the test of it; `--kills 50` for the whole of it."""
    return int(request.config.getoption("--kills"))
