"""An OpenEnv 0.10 package around a desk: what a hub needs to build, describe and validate a server.

The files beside this one, with their ending `.tmpl` taken off, are the package.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any

from askfirst import __version__
from askfirst.desk import TASKS, Desk
from askfirst.errors import InputError
from askfirst.store import write_json, write_text

ENDING = ".tmpl"


def write(folder: Path, desk: Desk) -> list[Path]:
    """Write the package into a folder that is new or empty; its files. Raises InputError for any other folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("the folder is not empty", where=str(folder), hint="choose a new one")
    facts, written = _facts(desk), []
    for name, text in _templates(files(__name__), ""):
        path = folder / ("." + name if name == "dockerignore" else name)
        write_text(path, Template(text).substitute(facts))
        written.append(path)
    probe = folder / "validation" / "runtime.json"
    write_json(probe, _probe(desk))
    return [*written, probe]


def _facts(desk: Desk) -> dict[str, Any]:
    low, high = desk.scorer.module.BOUNDS
    return {
        "package": "askfirst_" + desk.name.replace(":", "_").replace(".", "_"),
        "version": __version__,
        "env": desk.name,
        "env_version": desk.env.VERSION,
        "reward": desk.reward,
        "low": low,
        "high": high,
        "tools": ", ".join(tool.name for tool in desk.env.TOOLS),
        "tasks": TASKS,
    }


def _probe(desk: Desk) -> dict[str, Any]:
    """A runtime plan: an optimal episode of the first task of train in which a question is due."""
    for seed in itertools.count():
        replies = desk.env.optimal(desk.task("train", seed))
        if len(replies) > 1:
            break
    calls = [json.loads(text) for text in replies]
    actions = [{"type": "call_tool", "tool_name": call["name"], "arguments": call["arguments"]} for call in calls]
    reset = {"episode_id": "probe", "seed": seed, "options": {"split": "train"}}
    return {"plan_schema_version": "1", "reset": reset, "actions": actions}


def _templates(folder: Traversable, above: str) -> Iterator[tuple[str, str]]:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            yield from _templates(each, f"{above}{each.name}/")
        elif each.name.endswith(ENDING):
            yield above + each.name.removesuffix(ENDING), each.read_text("utf-8")
