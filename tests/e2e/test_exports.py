"""`askfirst export` and `askfirst serve` as a person types them, as far as no extra is needed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_what_is_written_for_mlx_passes_the_preflight(askfirst: Run, tmp_path: Path) -> None:
    done = askfirst("export", "mlx", "strict", "--out", tmp_path, "--rows", "10")
    assert done.returncode == 0, done.stderr
    files = [str(tmp_path / name) for name in ("rewards.py", "train.jsonl", "valid.jsonl")]
    assert done.stdout.splitlines() == [*files, "0 that stop, 0 to note"]


def test_what_cannot_be_served_is_said_in_a_sentence(askfirst: Run) -> None:
    done = askfirst("serve", "env", "judgment")
    assert done.returncode == 2
    assert "environment 'judgment' has no TOOLS" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_exit_codes_of_the_preflight_and_of_a_folder_in_use(askfirst: Run, tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text("import nowhere_at_all")
    wrong = askfirst("export", "preflight", tmp_path / "rewards.py", "--names", "mine", "--data", tmp_path)
    assert wrong.returncode == 1
    assert wrong.stdout.startswith(f"stop   {tmp_path / 'rewards.py'} does not import (ModuleNotFoundError")
    used = askfirst("export", "openenv", tmp_path)
    assert used.returncode == 2
    assert f"{tmp_path}: the folder is not empty" in used.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rewards.py"]
