"""`askfirst export` and `askfirst serve` as a person types them, as far as no extra is needed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_what_is_written_for_mlx_passes_the_preflight_and_a_wrong_name_does_not(askfirst: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = askfirst("export", "mlx", "strict", "--out", out, "--rows", "10")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        *(str(out / name) for name in ("rewards.py", "train.jsonl", "valid.jsonl")),
        "0 that stop, 0 to note",
    ]
    wrong = askfirst("export", "preflight", out / "rewards.py", "--names", "strict", "--data", out)
    assert wrong.returncode == 1
    assert "stop   no reward function is called 'strict'" in wrong.stdout


def test_what_cannot_be_served_or_written_is_said_in_a_sentence(askfirst: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    for arguments, words in (
        (("serve", "env", "judgment"), "environment 'judgment' has no TOOLS"),
        (("export", "openenv", tmp_path), f"{tmp_path}: the folder is not empty"),
    ):
        done = askfirst(*arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
