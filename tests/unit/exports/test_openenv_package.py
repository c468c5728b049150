"""The OpenEnv package: its files, and what its manifest and its probe say, without OpenEnv."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest

from askfirst import __version__
from askfirst.desk import Desk
from askfirst.errors import InputError
from askfirst.exports import openenv_package

DESK = Desk.named()


def test_the_package_has_what_a_hub_reads(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    written = {path.relative_to(folder).as_posix() for path in openenv_package.write(folder, DESK)}
    assert written == {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written >= {"__init__.py", "client.py", "models.py", "openenv.yaml", "pyproject.toml", "README.md"}
    assert written >= {"server/__init__.py", "server/app.py", "server/Dockerfile", ".dockerignore"}
    for path in folder.rglob("*.py"):
        ast.parse(path.read_text())
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"server": "askfirst_clarify.server.app:main"}
    assert f"askfirst[serve]=={__version__}" in project["project"]["dependencies"]
    text = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert "$" not in text.replace("${BASE_IMAGE}", "").replace("$PATH", "")
    with pytest.raises(InputError, match="not empty"):
        openenv_package.write(folder, DESK)


def test_the_probe_is_an_optimal_episode_with_a_question(tmp_path: Path) -> None:
    openenv_package.write(tmp_path, DESK)
    probe = json.loads((tmp_path / "validation" / "runtime.json").read_text())
    scenario = DESK.task("train", probe["reset"]["seed"])
    texts = [json.dumps({"name": a["tool_name"], "arguments": a["arguments"]}) for a in probe["actions"]]
    assert len(texts) > 1
    assert DESK.score(scenario, texts).total == pytest.approx(1.0)
