"""Bad input gives one clear message and the right exit code, no traceback, nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PLAN = Path(__file__).parents[2] / "examples" / "e2e.toml"


def refused(result: object, code: int, *words: str) -> None:
    assert result.returncode == code, result.stdout + result.stderr  # type: ignore[attr-defined]
    errors = result.stderr  # type: ignore[attr-defined]
    assert "Traceback" not in errors
    for word in words:
        assert word in errors, errors


@pytest.mark.parametrize(
    ("override", "code", "words"),
    [
        ("train.lrr=1", 2, ("train.lrr: unknown field", "fields here")),
        ("model.name=nothing-here", 2, ("nothing-here",)),
        ("model.backend=cuda9", 2, ("no backends plugin is called 'cuda9'", "hf")),
        ("reward.name=kind", 2, ("no rewards plugin is called 'kind'", "slots")),
        ("reward.params={ base = 'slots', partal = 1 }", 2, ("partal",)),
        ("env.name=kitchen", 2, ("no envs plugin",)),
        ("env.sealed=sha256:" + "0" * 64, 2, ("secret seed of the sealed split is not here", "askfirst seal")),
        ("env.system_prompt=file:none.txt", 2, ("none.txt",)),
        ("reward.name=broken_plugin_package:rewards", 2, ("broken_plugin_package",)),
    ],
)
def test_bad_plans(askfirst: Run, tmp_path: Path, override: str, code: int, words: tuple[str, ...]) -> None:
    refused(askfirst("run", PLAN, "--out", tmp_path / "run", "--set", override), code, *words)
    assert not (tmp_path / "run" / "verdict.json").exists()


def test_a_plan_that_does_not_parse_names_the_line(askfirst: Run, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("title = 'x'\n[model\n")
    refused(askfirst("run", tmp_path / "p.toml"), 2, "p.toml", "line 2")


def test_no_such_plan(askfirst: Run, tmp_path: Path) -> None:
    refused(askfirst("run", tmp_path / "none.toml"), 2, "none.toml", "cannot read")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, ("empty", "no fixture", "txt")),
        ({"a.txt": "USER: open it\nEXPECT_INTENT: sing\n"}, ("a.txt:2", "sing")),
        ({"a.txt": "USER: open it\n"}, ("a.txt", "EXPECT_INTENT")),
        ({"a.txt": "USER: x\nELEMENT: oops\nEXPECT_INTENT: action\n"}, ("a.txt:2", "ELEMENT")),
    ],
)
def test_bad_suites(askfirst: Run, tmp_path: Path, files: dict[str, str], words: tuple[str, ...]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    result = askfirst("eval", "--suite", tmp_path, "--model", "tabular")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert any(word in result.stderr for word in words), result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--split", "test"), "train"),
        (("--split", "sealed"), "one door"),
        ((), "--suite"),
        (("--suite", "no-such-folder"), "no-such-folder"),
        (("--split", "dev", "--checkpoint", "none"), "none"),
        (("--split", "dev", "--set", "reward=nice"), "nice"),
        (("--split", "dev", "--set", "colour=red"), "colour"),
        (("--split", "dev", "--set", "items=-1"), "items"),
    ],
)
def test_bad_evaluations(askfirst: Run, arguments: tuple[str, ...], words: str) -> None:
    refused(askfirst("eval", "--model", "tabular", *arguments), 2, words)


def test_a_reward_that_raises_stops_the_run(askfirst: Run, tmp_path: Path) -> None:
    package = tmp_path / "theirs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "broken.py").write_text(
        "VERSION = '1'\nBOUNDS = (0.0, 1.0)\nATTACKS = ()\nHONEST = ()\n\n\n"
        "def score(scenario, trajectory, params):\n    raise ZeroDivisionError('oh')\n"
    )
    arguments = ("--set", "reward.name=theirs:broken", "--set", "reward.params={}")
    result = askfirst("run", PLAN, "--out", tmp_path / "run", *arguments, cwd=tmp_path)
    assert result.returncode in (1, 3)
    assert "ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_folder_that_cannot_be_written(askfirst: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(askfirst("run", PLAN, "--out", tmp_path / "file" / "run"), 3, "cannot write", "--out")


@pytest.mark.skipif(os.name != "posix", reason="limits file sizes the POSIX way")
def test_a_full_disk_leaves_earlier_files_whole(tmp_path: Path) -> None:
    """A limit on file size stands for the full disk: the write that does not fit fails, the others stay."""
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        f"sys.argv = ['askfirst', 'run', {str(PLAN)!r}, '--out', {str(tmp_path / 'run')!r}]\n"
        "from askfirst.cli import main\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    refused(result, 3, "cannot write")
    for path in (tmp_path / "run").rglob("*.json"):
        json.loads(path.read_text())
    assert not list((tmp_path / "run").rglob(".*"))
