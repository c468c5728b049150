"""A module imports only from a lower level. This is the table; docs/design.md says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"

# Room → level. A room is a module or a package directly under askfirst; halves order the rooms of one layer.
LEVELS: dict[str, float] = {
    "__init__": 0,
    "errors": 0,
    "judgement": 0,
    "values": 0.5,
    "store": 1,
    "plugins": 1,
    "policy": 1,
    "replies": 1,
    "calls": 1,
    "counting": 1,
    "kl": 1,
    "credit": 1,
    "notes": 1,
    "events": 1,
    "workers": 1.5,
    "cluster": 1.5,
    "runfolder": 1,
    "canary": 1,
    "ledger": 1.1,
    "attestation": 1.2,
    "slugs": 1.1,
    "metrics": 1.2,
    "monitors": 1.3,
    "planfile": 1,
    "sections": 1.4,
    "criteria": 1.45,
    "plan": 1.5,
    "hardware": 1.6,
    "cases": 1.5,
    "clarify": 1.5,
    "retail": 1.6,
    "deviation": 1,
    "suites": 1.6,
    "pairs": 1.6,
    "reading": 1.5,
    "envs": 2,
    "rewards": 2,
    "advantages": 2,
    "losses": 2,
    "stats": 1.8,
    "paired": 1.9,
    "backends": 2,
    "judges": 2,
    "judging": 3.1,
    "inference": 2.5,
    "registered": 3,
    "rollout": 3,
    "measures": 3,
    "desk": 3.5,
    "selection": 3,
    "curriculum": 3,
    "comparison": 3.1,
    "evallogs": 3.2,
    "trackers": 2,
    "decide": 3,
    "audit": 3,
    "evaluate": 4,
    "generated": 4,
    "contracts": 4,
    "batches": 4,
    "teaching": 4.2,
    "steps": 4.5,
    "redteam": 4.5,
    "serve": 4.6,
    "exports": 5.5,
    "mutation": 4.5,
    "gates": 5,
    "crosscheck": 5,
    "ship": 5,
    "preflight": 5,
    "teacher_gates": 5.2,
    "starts": 5,
    "warmstart": 5,
    "watch": 5.5,
    "train": 6,
    "nano_build": 6,
    "provenance": 6,
    "specialists": 6.2,
    "variants": 6.5,
    "sealed": 6.7,
    "calibration": 6.7,
    "summaries": 6.8,
    "matrix": 7,
    "search": 7.5,
    "report": 8,
    "demo": 8.5,
    "cli": 9,
    "__main__": 10,
}
# Every file here is a plugin (or, with an underscore, a helper of its neighbours): plugins never import each other.
PLUGIN_FOLDERS = frozenset({"envs", "rewards", "advantages", "losses", "stats", "backends", "trackers", "judges"})
# Rooms that read less than their level allows: a report reads records and never runs anything.
BELOW: dict[str, float] = {"report": 2}


def modules(sources: Mapping[str, str]) -> dict[str, str]:
    """Path under src → dotted module name."""
    return {path: path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in sources}


def imported(path: str, module: str, tree: ast.Module, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Line and module of every askfirst import: at the top, in functions, for types only, or by importlib."""
    package = module.split(".") if path.endswith("__init__.py") else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in known else base
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"import_module", "__import__"}:
                yield node.lineno, str(node.args[0].value)


def room(module: str) -> str:
    """What the table lists: the part after `askfirst`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def forbidden(source: str, target: str) -> str:
    """Why a module may not import another; empty where it may."""
    here, there = room(source), room(target)
    if there not in LEVELS:
        return "which is not in the table"
    if here == there and here in PLUGIN_FOLDERS:
        ours, theirs = (f"{name}..".split(".")[2] for name in (source, target))
        return "" if ours == theirs or theirs.startswith("_") else "a plugin beside it"
    if here == there:
        return ""
    bound = BELOW.get(here, LEVELS[here])
    return "" if LEVELS[there] < bound else f"at level {LEVELS[there]:g}; it may import below {bound:g}"


def cycle(edges: Mapping[str, frozenset[str]]) -> list[str]:
    """The modules of one import cycle in order, or nothing."""
    done: set[str] = set()

    def visit(module: str, trail: list[str]) -> list[str]:
        if module in trail:
            return [*trail[trail.index(module) :], module]
        if module in done:
            return []
        for target in sorted(edges.get(module, ())):
            if found := visit(target, [*trail, module]):
                return found
        done.add(module)
        return []

    for start in sorted(edges):
        if found := visit(start, []):
            return found
    return []


def violations(sources: Mapping[str, str]) -> list[str]:
    """Everything in the given sources (path under src → text) that breaks the table."""
    names = modules(sources)
    known = frozenset(names.values())
    found: list[str] = []
    edges: dict[str, frozenset[str]] = {}
    for path, module in names.items():
        if room(module) not in LEVELS:
            found.append(f"{path}: give {room(module)!r} a level in tests/test_layers.py and docs/design.md")
            continue
        inside = [
            (line, target)
            for line, target in imported(path, module, ast.parse(sources[path]), known)
            if target.split(".")[0] == "askfirst"
        ]
        edges[module] = frozenset(target for _, target in inside if target != module)
        found += [
            f"{path}:{line}: imports {target}, {reason}"
            for line, target in inside
            if (reason := forbidden(module, target))
        ]
    if loop := cycle(edges):
        found.append(f"import cycle: {' → '.join(loop)}")
    return found


def test_imports_point_downward() -> None:
    sources = {p.relative_to(SRC).as_posix(): p.read_text("utf-8") for p in sorted(SRC.rglob("*.py"))}
    assert len(sources) > 5
    found = violations(sources)
    assert not found, "\n" + "\n".join(found)
    assert {room(module) for module in modules(sources).values()} == set(LEVELS), "a room of the table is gone"


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("askfirst/store.py", "from askfirst.train import run", "askfirst.train, at level 6"),
        ("askfirst/store.py", "import askfirst.policy", "askfirst.policy, at level 1;"),
        ("askfirst/errors.py", "def f():\n    from askfirst import store", "errors.py:2: imports askfirst.store"),
        (
            "askfirst/values.py",
            "if TYPE_CHECKING:\n    from .store import plain",
            "values.py:2: imports askfirst.store",
        ),
        ("askfirst/values.py", "import importlib\nimportlib.import_module('askfirst.cli')", "askfirst.cli, at level 9"),
        ("askfirst/envs/a.py", "from askfirst.envs.b import x", "askfirst.envs.b, a plugin beside it"),
        ("askfirst/envs/a.py", "from .b import x", "askfirst.envs.b, a plugin beside it"),
        ("askfirst/envs/a/one.py", "from ..b import x", "askfirst.envs.b, a plugin beside it"),
        ("askfirst/envs/_help.py", "from askfirst.envs import b", "askfirst.envs.b, a plugin beside it"),
        ("askfirst/envs/a.py", "from askfirst.rewards.strict import score", "askfirst.rewards.strict, at level 2"),
        ("askfirst/envs/a.py", "from askfirst.rollout import rollouts", "askfirst.rollout, at level 3"),
        ("askfirst/report/page.py", "from askfirst.decide import verdict", "at level 3; it may import below 2"),
        ("askfirst/utilities.py", "", "give 'utilities' a level"),
        ("askfirst/plan.py", "import askfirst.nowhere", "which is not in the table"),
    ],
)
def test_a_planted_import_is_found(path: str, text: str, complaint: str) -> None:
    found = violations({"askfirst/store.py": "", "askfirst/envs/b.py": "", path: text})
    assert len(found) == 1
    assert complaint in found[0]


def test_a_planted_cycle_is_found() -> None:
    found = violations(
        {
            "askfirst/backends/hf/__init__.py": "def f():\n    from askfirst.backends.hf import one",
            "askfirst/backends/hf/one.py": "from .two import x",
            "askfirst/backends/hf/two.py": "if TYPE_CHECKING:\n    from askfirst.backends.hf.one import y",
        }
    )
    assert found == ["import cycle: askfirst.backends.hf.one → askfirst.backends.hf.two → askfirst.backends.hf.one"]


def test_what_is_allowed_passes() -> None:
    allowed = {
        "askfirst/__init__.py": "__version__ = '0'",
        "askfirst/errors.py": "import json",
        "askfirst/store.py": "from askfirst.errors import InputError\nfrom askfirst import __version__",
        "askfirst/envs/_help.py": "from askfirst.store import plain",
        "askfirst/envs/a/__init__.py": "from .one import x\nfrom askfirst.envs._help import y",
        "askfirst/envs/a/one.py": "from askfirst.envs import _help",
        "askfirst/report/page.py": "from askfirst.report import plots",
        "askfirst/report/plots.py": "from askfirst.plan import Plan",
        "askfirst/cli/__init__.py": "def f():\n    from askfirst.train import run",
    }
    assert violations(allowed) == []
