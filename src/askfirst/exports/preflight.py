"""What mlx-lm-lora 5.10 would do without a word, found before it trains.

Read in its source: an error while the reward file is imported is printed and training goes on without the file; a file
that is not there is passed over; without `--reward-functions` its own think-and-answer rewards train; None counts as 0
in the weighted sum; a row without `system` gets a think-and-answer prompt; what is not a text is cast with `str`;
a prompt that is too long is cut; rows that fill no batch are dropped.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askfirst.errors import AskfirstError, InputError
from askfirst.plugins import RAISED
from askfirst.store import read_lines

REGISTRY = "mlx_lm_lora.trainer.grpo_reward_functions"
TRIED = 32  # rows whose rewards are asked for
Registered = dict[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What would happen without a word; `stops` is False for what may be meant so."""

    what: str
    stops: bool = True


@dataclass(frozen=True, slots=True)
class Flight:
    """What is about to be trained with: reward file, its functions, data folder, batch size, prompt tokens."""

    file: Path
    names: tuple[str, ...]
    data: Path
    batch_size: int = 1


def preflight(flight: Flight) -> list[Finding]:
    """Everything found, the worst first; nothing found is an empty list."""
    own = registry()
    loaded, broken = _loaded(flight.file)
    if broken:
        return [Finding(broken)]
    found = list(_named(flight, loaded, own))
    sets = {name: _rows(flight.data / name) for name in ("train.jsonl", "valid.jsonl")}
    for name, rows in sets.items():
        found += _data(str(flight.data / name), rows, flight.batch_size)
    train = sets["train.jsonl"]
    whole = [row for row in train[:TRIED] if {"prompt", "answer"} <= set(row)]
    for name in flight.names if whole else ():
        if name in loaded:
            found += _tried(name, loaded[name], whole)
    return sorted(found, key=lambda each: not each.stops)


def registry() -> Registered | None:
    """The reward functions that the trainer has by itself; None where it is not installed."""
    try:
        module = importlib.import_module(REGISTRY)
    except ModuleNotFoundError:
        return None
    return dict(module.REWARD_REGISTRY)


def _loaded(file: Path) -> tuple[Registered, str]:
    """What a reward file registers when it is imported as the trainer does; and why it cannot be."""
    if not file.is_file():
        return {}, f"{file} is not there: the trainer passes over it and knows none of its functions"
    registered: Registered = {}
    spec = importlib.util.spec_from_file_location("custom_rewards", file)
    if spec is None or spec.loader is None:
        return {}, f"{file} is no Python file: the trainer prints an error and goes on without it"
    kept = {name: sys.modules.get(name) for name in _stand_ins(registered)}
    try:
        sys.modules.update(_stand_ins(registered))
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except (*RAISED, SyntaxError) as error:
        return {}, f"{file} does not import ({type(error).__name__}: {error}): the trainer goes on without it"
    finally:
        for name, module in kept.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
    return registered, ""


def _stand_ins(registered: Registered) -> dict[str, types.ModuleType]:
    """The trainer's registry, which alone a reward file needs, filling `registered`: importing the real one may load
    a machine-learning framework, and would keep what a broken file has registered."""

    def register_reward_function(name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            registered[name or function.__name__] = function
            return function

        return register

    last = types.ModuleType(REGISTRY)
    vars(last).update(register_reward_function=register_reward_function, REWARD_REGISTRY=registered)
    parts = REGISTRY.split(".")
    found = {".".join(parts[:depth]): types.ModuleType(".".join(parts[:depth])) for depth in (1, 2)}
    for module in found.values():
        module.__path__ = []
    return {**found, REGISTRY: last}


def _named(flight: Flight, loaded: Registered, own: Registered | None) -> Iterator[Finding]:
    if not flight.names:
        yield Finding("no --reward-functions: the trainer's own think-and-answer rewards would train")
    for name in flight.names:
        if name not in loaded and name not in (own or {}):
            known = ", ".join(sorted(loaded)) or "nothing"
            yield Finding(f"no reward function is called {name!r}: {flight.file} registers {known}")
    for name in sorted(set(loaded) & set(own or {})):
        yield Finding(f"{name!r} takes the place of the trainer's own function of that name")
    for name in sorted(set(loaded) - set(flight.names)):
        yield Finding(f"{name!r} is registered and not used", stops=False)
    for name, function in loaded.items():
        if function.__name__ != name:
            yield Finding(f"{name!r} is logged as {function.__name__!r}, its name in Python", stops=False)


def _rows(file: Path) -> list[dict[str, Any]]:
    if not file.is_file():
        return []
    rows = list(read_lines(file, by_hand=True))
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError("a row is a JSON object", where=f"{file}:{number}")
    return rows


def _data(where: str, rows: Sequence[Mapping[str, Any]], batch_size: int) -> Iterator[Finding]:
    if not rows:
        yield Finding(f"{where} is not there or empty", stops=where.endswith("train.jsonl"))
        return
    dropped = len(rows) % batch_size
    if dropped:
        yield Finding(f"{where}: {dropped} of {len(rows)} rows fill no batch of {batch_size} and are dropped", False)
    bare = [number for number, row in enumerate(rows, start=1) if "system" not in row]
    if bare:
        yield Finding(f"{where}:{bare[0]}: {len(bare)} rows without system get the prompt of <think> and <answer>")
    for key in ("prompt", "answer", "system", "type"):
        lacking = [n for n, row in enumerate(rows, start=1) if key not in row and key in ("prompt", "answer")]
        cast = [n for n, row in enumerate(rows, start=1) if key in row and not isinstance(row[key], str)]
        if lacking:
            yield Finding(f"{where}:{lacking[0]}: {len(lacking)} rows without {key}")
        if cast:
            kind = type(rows[cast[0] - 1][key]).__name__
            yield Finding(f"{where}:{cast[0]}: {len(cast)} rows whose {key} is no text ({kind}): it is cast with str")


def _tried(name: str, function: Callable[..., Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """What a function makes of the rows, called as the trainer calls it: by keyword, with and without types."""
    completions = ["" if index % 2 else "{}" for index in range(len(rows))]
    given: dict[str, Any] = {
        "prompts": [str(row["prompt"]) for row in rows],
        "completions": completions,
        "answer": [str(row["answer"]) for row in rows],
    }
    for kinds in ({"types": [row.get("type") for row in rows]}, {}):
        try:
            values = function(**given, **kinds)
        except (AskfirstError, *RAISED) as error:
            called = "" if kinds else " when it is called without types"
            yield Finding(f"{name!r} raises {type(error).__name__}{called}: {error}")
            continue
        yield from _values(name, values, len(rows))


def _values(name: str, values: Any, wanted: int) -> Iterator[Finding]:
    if values is None:
        yield Finding(f"{name!r} returns None: every completion counts as 0")
        return
    if len(values) != wanted:
        yield Finding(f"{name!r} returns {len(values)} values for {wanted} completions")
        return
    missing = sum(value is None or (isinstance(value, float) and math.isnan(value)) for value in values)
    if missing:
        yield Finding(f"{name!r} gives no number to {missing} of {wanted} completions: they count as 0")
    if any(isinstance(value, float) and math.isinf(value) for value in values):
        yield Finding(f"{name!r} returns an infinite reward")
