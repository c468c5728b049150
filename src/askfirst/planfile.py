"""The file of a plan as a document: read, and edited by `--set`, before anything in it is validated."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askfirst.errors import PlanError


def read(path: Path) -> dict[str, Any]:
    """The document of a plan file, unvalidated."""
    return opened(path)[0]


def opened(path: Path) -> tuple[dict[str, Any], str]:
    """The document of a plan file, and the hash of the plan where the file is a frozen one."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise PlanError(f"cannot read the plan: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise PlanError("the plan is not UTF-8 text", where=str(path)) from error
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"the plan does not parse: {error}", where=str(path)) from error
    inner = document.get("plan", document) if isinstance(document, dict) and path.suffix == ".json" else document
    if not isinstance(inner, dict):
        raise PlanError("the plan is not a table of sections", where=str(path))
    return inner, str(document.get("plan_sha256", "")) if inner is not document else ""


def edit(document: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the document with `train.lr=1e-5`-style overrides; the value is TOML, or text where it is not."""
    edited: dict[str, Any] = json.loads(json.dumps(document, default=str))
    for override in overrides:
        key, separator, value = override.partition("=")
        if not separator or not key:
            raise PlanError(f"--set wants key=value, found {override!r}")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value
        put(edited, key, parsed)
    return edited


def put(document: dict[str, Any], dotted: str, value: Any) -> None:
    """Set `a.b.c` in nested tables, making tables on the way. Raises PlanError where a part is not a table."""
    *parents, last = dotted.split(".")
    table = document
    for name in parents:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise PlanError(f"{dotted!r} cannot be set: {name!r} is not a section")
    table[last] = value
