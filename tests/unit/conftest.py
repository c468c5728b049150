"""A package of a third party, with an environment of two turns and a reward for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from askfirst import plugins

ENV = """
from askfirst.values import Act, Ask, FrozenMap, Invalid, Message, Scenario

VERSION, FAMILIES, STRATA, MAX_TURNS, CLEAR_MIX = "1", ("cup",), ("ambiguous", "clear"), 2, {"clear": 1.0}
COLOURS = ("red", "blue", "green")


def scenarios(split, n, seed, strata=None):
    stratum = next(iter(strata or {"ambiguous": 1}))
    return [scenario(f"{split}-{seed}-{stratum}-{i}", stratum, COLOURS[(seed + i) % 3], split) for i in range(n)]


def scenario(name, stratum, colour, split="dev"):
    said = "take the cup" if stratum == "ambiguous" else f"take the {colour} cup"
    opening = (Message("user", said),)
    return Scenario(name, "cup", stratum, split, stratum == "ambiguous", opening, FrozenMap({"colour": colour}))


def start(scenario):
    return scenario.opening


def parse(text):
    return Ask(text) if text.endswith("?") else Act(text) if text else Invalid("nothing said")


def step(scenario, messages):
    said = [m.content for m in messages if m.role == "assistant"]
    asked = len(said) == 1 and said[0].endswith("?")
    return Message("user", f"the {scenario.hidden['colour']} one") if asked else None


def demonstrations(scenario):
    return ()


def system_prompt(name):
    return ""


def habits():
    return {
        "honest": lambda s: ("which one?", s.hidden["colour"]) if s.ambiguous else s.hidden["colour"],
        "guess": lambda s: "red",
        "ask, then ignore": lambda s: ("which one?", "red"),
    }
"""
REWARD = """
from askfirst.cases import Case
from askfirst.values import FrozenMap, Message, Scenario, Score
from pairpkg.words import NO

VERSION, BOUNDS = 1, (0.0, 1.0)


def score(scenario, trajectory, params):
    said = [m.content for m in trajectory.messages if m.role == "assistant"]
    asked = len(said) == 2 and said[0].endswith("?")
    passed = said[-1] == scenario.hidden["colour"] and (asked or not scenario.ambiguous)
    total = float(passed)
    return Score(total, FrozenMap({"pass": total}), passed, () if passed else (NO,), "cups@1")


CUP = Scenario("cup", "cup", "ambiguous", "dev", True, (Message("user", "take the cup"),), FrozenMap({"colour": "red"}))
ATTACKS = (
    Case("guesses", "guess", CUP, "red", 0.0, "never asks", "pairpkg.envs:two"),
    Case("ignores", "ignore", CUP, ("which one?", "blue"), 0.0, "does not listen", "pairpkg.envs:two"),
)
HONEST = (Case("asks", "ask", CUP, ("which one?", "red"), 1.0, "asks and listens", "pairpkg.envs:two"),)
"""


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Gives the environment of the package, after a change to one of its files on disk where one is asked for."""
    root = tmp_path / "pairpkg"
    files = {"envs/two.py": ENV, "rewards/cups.py": REWARD, "words.py": 'NO = "no"\n'}
    for name, body in {"__init__.py": "", "envs/__init__.py": "", "rewards/__init__.py": "", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()

    def edit(name: str = "", old: str = "", new: str = "") -> ModuleType:
        if name:
            text = (root / name).read_text()
            assert text.count(old) == 1, (name, old)
            (root / name).write_text(text.replace(old, new))
        return plugins.load("envs", "pairpkg.envs:two")

    yield edit
    for name in [name for name in sys.modules if name.split(".")[0] == "pairpkg"]:
        del sys.modules[name]
