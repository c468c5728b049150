"""From a name to a module: `load("rewards", "strict")` imports `askfirst.rewards.strict`.

A file is the registration. A third party writes `theirpkg.rewards:ours`, which imports
`theirpkg.rewards.ours`. Files whose name starts with an underscore are private helpers.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from askfirst.errors import AskfirstError, PluginError

# Kind → what a module of that kind must define.
KINDS: dict[str, tuple[str, ...]] = {
    "envs": ("VERSION", "FAMILIES", "scenarios", "start", "parse", "step", "demonstrations"),
    "rewards": ("VERSION", "BOUNDS", "score", "ATTACKS", "HONEST"),
    "advantages": ("NEEDS", "advantages"),
    "losses": ("NEEDS", "loss"),
    "stats": ("interval", "TARGETS"),
    "backends": ("open_policy",),
    "trackers": ("start", "log", "finish"),
    "judges": ("VERSION", "DIMENSIONS"),
}
# What a careless module raises while it is imported; anything else is the machine's and goes up.
RAISED = (
    *(ImportError, SyntaxError, ArithmeticError, AssertionError, AttributeError),
    *(LookupError, NameError, OSError, RuntimeError, TypeError, ValueError),
)


def names(kind: str) -> list[str]:
    """The plugins of a kind that ship with the package, sorted."""
    folder = Path(__file__).parent / _kind(kind)
    return sorted(m.name for m in pkgutil.iter_modules([str(folder)]) if not m.name.startswith("_"))


def load(kind: str, name: str) -> ModuleType:
    """Import a plugin and check that it defines what its kind must.

    Raises PluginError for an unknown name (listing the choices) or an incomplete module.
    """
    target = name.replace(":", ".") if ":" in name else f"askfirst.{_kind(kind)}.{name}"
    if not all(part.isidentifier() for part in target.split(".")) or (":" not in name and name not in names(kind)):
        raise PluginError(
            f"no {kind} plugin is called {name!r}",
            hint=f"choose one of: {', '.join(names(kind))}; or create src/askfirst/{kind}/{name}.py",
        )
    try:
        module = importlib.import_module(target)
    except AskfirstError:
        raise
    except RAISED as error:
        words = str(error) if isinstance(error, ImportError | SyntaxError) else f"{type(error).__name__}: {error}"
        raise PluginError(f"{kind} plugin {name!r} does not import: {words}", where=_line_of(error, target)) from error
    missing = [item for item in KINDS[kind] if not hasattr(module, item)]
    if missing:
        raise PluginError(f"{kind} plugin {name!r} must define {', '.join(missing)}", where=target)
    return module


def environment(name: str, data: str = "", families: Sequence[str] = ()) -> ModuleType:
    """An environment; with `data`, the one that plays what is in that folder, and with `families`, the one that draws
    from these alone. Raises PluginError where it cannot."""
    module = load("envs", name)
    if families:
        if data:
            raise PluginError("tasks of a folder have no families to choose from", hint="leave env.families out")
        if not hasattr(module, "of_families"):
            raise PluginError(f"environment {name!r} does not choose families", hint="leave env.families out")
        chosen: ModuleType = module.of_families(tuple(families))
        return chosen
    if not data:
        return module
    if not hasattr(module, "of_folder"):
        raise PluginError(f"environment {name!r} plays no data from a folder", hint="leave env.data out")
    found: ModuleType = module.of_folder(Path(data))
    return found


def _line_of(error: BaseException, target: str) -> str:
    """File and line of the plugin's package at which an error came up; the module's name where it never got there."""
    package = f"{target.partition('.')[0]}."
    lines = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if f"{frame.f_globals.get('__name__')}.".startswith(package)
    ]
    return lines[-1] if lines else target


def source_hash(module: ModuleType) -> str:
    """sha256 over the plugin's source: its file or package, and the private helpers (`_*.py`) beside it."""
    source = getattr(module, "__file__", None)
    if source is None:
        raise PluginError(f"{module.__name__} has no source file to hash")
    path = Path(source)
    package = path.name == "__init__.py"
    room = path.parent.parent if package else path.parent
    own = path.parent.rglob("*.py") if package else [path]
    files = sorted({*own, *(f for f in room.glob("_*.py") if f.name != "__init__.py")})
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(room).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def name_of(module: ModuleType) -> str:
    """The name that `load` takes for a plugin: `slots`, or `theirpkg.rewards:ours`."""
    folder, _, leaf = module.__name__.rpartition(".")
    return leaf if folder in {"", *(f"askfirst.{kind}" for kind in KINDS)} else f"{folder}:{leaf}"


def imported(module: ModuleType) -> tuple[str, ...]:
    """The full names of what a module's source imports, anywhere in it: modules, and what it takes out of them."""
    path = Path(module.__file__ or "")
    package = module.__name__ if path.name == "__init__.py" else module.__name__.rpartition(".")[0]
    return _imports(path.read_text("utf-8"), package)


@lru_cache(maxsize=256)  # the same sources are asked again at every evaluation
def _imports(source: str, package: str) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(found)


def reached(module: ModuleType, within: tuple[str, ...]) -> list[ModuleType]:
    """The loaded modules that a module imports, directly or through one another, as far as they are, or lie in, one
    of the packages `within`; itself excepted, sorted by name."""
    found, waiting = {module.__name__: module}, [module]
    while waiting:
        for name in imported(waiting.pop()):
            other = sys.modules.get(name)
            inside = any(name == package or name.startswith(f"{package}.") for package in within)
            if inside and name not in found and getattr(other, "__file__", None):
                found[name] = sys.modules[name]
                waiting.append(found[name])
    return [found[name] for name in sorted(set(found) - {module.__name__})]


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise PluginError(f"no plugin kind is called {kind!r}", hint=f"choose one of: {', '.join(KINDS)}")
    return kind
