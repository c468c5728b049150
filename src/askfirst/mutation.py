"""Does the self-test notice when a check is gone? Every condition of a reward, in turn, made always true or false.

A mutant that the self-test does not turn red for is a check that nothing depends on: a case is missing, or the check.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.util
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from askfirst import plugins
from askfirst.contracts.rewards import cases, faults
from askfirst.contracts.selftest import SCORES, MutationRecord, Reason, corpus_hash, scorer_hash
from askfirst.errors import AskfirstError, InputError
from askfirst.events import Event, Listener
from askfirst.store import read_lines
from askfirst.values import FrozenMap
from askfirst.workers import Stop, side_by_side

SECONDS = 20.0  # of computing for one mutant, however busy the machine; one that takes longer has been noticed
# Files of these names hold cases, not checks.
CASES = ("_attacks", "_honest", "_cases")
# What is held by records of another program, row by row, and not by cases.
REPLAYED = frozenset(
    f"askfirst.retail.{name}"
    for name in "arithmetic changes database folder given hashing lookups published tools world".split()
)
# What stays imported while a mutant is tried: it has no part in scoring.
SHARED = frozenset(
    f"askfirst{name}" for name in ("", ".errors", ".values", ".store", ".events", ".workers", ".plugins", ".mutation")
)
_FAULTS = "dict[str, bool]"  # what a function returns that collects faults by code
LEAST = 8  # mutants that are worth a process of their own


@dataclass(frozen=True, slots=True)
class Mutant:
    """The condition at place `site` of a module, replaced by `value`; `at` says so in words that outlive edits."""

    module: str
    site: int
    value: bool
    at: str


@dataclass(frozen=True, slots=True)
class _Work:
    """What one worker tries; `reward` is a module's name."""

    reward: str
    mutants: tuple[Mutant, ...]


def mutants(reward: ModuleType) -> tuple[Mutant, ...]:
    """Every mutant of a reward: of its own files, of the helpers beside it that it imports, and of what these call
    elsewhere in their package. Of askfirst that is as far as SCORES: the source that the scorer's hash is bound to."""
    found = []
    trees = {module: ast.parse(_source(module)) for module in scoring_modules(reward)}
    inside = tuple(trees)
    trees |= {module: ast.parse(_source(module)) for module in _elsewhere(reward, inside)}
    called = _called([trees[module] for module in inside], tuple(trees.values()))
    for module, tree in trees.items():
        source = _source(module)
        owners = {id(n): f.name for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
        for number, (parent, name, index) in enumerate(_sites(tree)):
            node = _get(parent, name, index)
            function = owners[id(node)]
            if module not in inside and function not in called:
                continue
            where = f"{module.removeprefix('askfirst.')}:{function}"
            for value in (False,) if isinstance(parent, ast.While) else (True, False):
                text = " ".join((ast.get_source_segment(source, node) or "").split())
                found.append(Mutant(module, number, value, f"{where}: {text} → {value}"))
    return tuple(found)


def scoring_modules(reward: ModuleType) -> list[str]:
    """The modules that a reward scores with: itself, its package, and the private helpers that these import."""
    own = reward.__name__
    room = own.rpartition(".")[0]
    return _imported([own], lambda name: name == own or name.startswith((f"{own}.", f"{room}._")))


def _elsewhere(reward: ModuleType, inside: Sequence[str]) -> list[str]:
    """Other modules of a reward's package that these import, directly or through one another."""
    top = reward.__name__.partition(".")[0]
    within = SCORES if top == "askfirst" else (top,)
    found = _imported(inside, lambda name: any(f"{name}.".startswith(f"{package}.") for package in within))
    return [name for name in found if name not in inside]


def _imported(start: Sequence[str], among: Callable[[str], bool]) -> list[str]:
    """The loaded modules that some import, directly or through one another, with themselves, sorted; no cases, and
    nothing that is REPLAYED."""
    wanted, waiting = set[str](), list(start)
    while waiting:
        name = waiting.pop()
        if name in wanted or not among(name) or name.endswith(CASES) or name in REPLAYED:
            continue
        if getattr(sys.modules.get(name), "__file__", None):
            wanted.add(name)
            waiting += plugins.imported(sys.modules[name])
    return sorted(wanted)


def _names(tree: ast.AST) -> set[str]:
    """Every name that a piece of source uses, behind a dot or alone."""
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)
    }


def _called(inside: Sequence[ast.Module], every: Sequence[ast.Module]) -> set[str]:
    """The names that modules `inside` use, and `every` one while it is imported; and those that functions of these
    names use in turn, wherever they stand."""
    functions: dict[str, list[ast.FunctionDef]] = {}
    for node in (node for tree in every for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    outside = [s for tree in every for s in tree.body if not isinstance(s, ast.FunctionDef | ast.ClassDef)]
    found, waiting = set[str](), sorted(set().union(*map(_names, [*inside, *outside])))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for function in functions.get(name, ()) for other in _names(function)]
    return found


def survivors(
    reward: ModuleType, jobs: int, listen: Listener, stop: Stop, among: Sequence[Mutant] | None = None
) -> tuple[Mutant, ...]:
    """The mutants, all or `among` some, that the self-test does not notice. `listen` hears of every one tried.

    Raises InputError where the self-test is red as it is: then it would notice anything.
    """
    red = next(faults(reward), None)
    if red is not None:
        raise InputError(f"the self-test is red before anything is broken: {red}", where=reward.__name__)
    every = mutants(reward) if among is None else tuple(among)
    alive: list[Mutant] = []
    by_name = {mutant.at: mutant for mutant in every}

    def heard(event: Event) -> None:
        if not event.values["killed"]:
            alive.append(by_name[event.text])
        listen(event)

    parts = max(jobs, min(4 * jobs, len(every) // LEAST))
    work = [_Work(reward.__name__, every[i::parts]) for i in range(parts)]
    side_by_side(_try_all, [part for part in work if part.mutants], jobs, heard, stop)
    return tuple(sorted(alive, key=lambda mutant: mutant.at))


def split_by_reasons(alive: Sequence[Mutant], reasons: Path | None) -> tuple[list[Mutant], list[str]]:
    """Survivors without a reason, and entries of the file of reasons that fit no survivor.

    The file holds one JSON object a line, {"at": as a mutant says it, "why": what makes it the same reward}.
    Raises InputError for anything else.
    """
    known, found = read_reasons(reasons), {mutant.at for mutant in alive}
    return [m for m in alive if m.at not in known], [at for at in known if at not in found]


def read_reasons(reasons: Path | None) -> dict[str, str]:
    """Why mutants are the same reward, by what they say of themselves; of no file, nothing. Raises InputError."""
    known: dict[str, str] = {}
    for line in read_lines(reasons, by_hand=True) if reasons is not None else ():
        if (
            not isinstance(line, dict)
            or set(line) != {"at", "why"}
            or not all(isinstance(v, str) for v in line.values())
        ):
            raise InputError(f"not a reason: {line!r}", where=str(reasons), hint='{"at": …, "why": …}')
        known[line["at"]] = line["why"]
    return known


def record(reward: ModuleType, alive: Sequence[Mutant], reasons: Path | None) -> MutationRecord:
    """What is known of the mutants of a reward whose survivors are `alive`. Raises InputError for a bad file."""
    known = read_reasons(reasons)
    return MutationRecord(
        version=1,
        reward=plugins.name_of(reward),
        source=scorer_hash(reward),
        corpus=corpus_hash(case for each in cases(reward) for case in each),
        killed=len(mutants(reward)) - len(alive),
        equivalent=tuple(Reason(m.at, known[m.at]) for m in alive if m.at in known),
        surviving=tuple(m.at for m in alive if m.at not in known),
    )


def _try_all(work: _Work, listen: Listener, stop: Stop) -> None:
    for mutant in work.mutants:
        if stop():
            return
        listen(Event("mutant", work.reward, mutant.at, FrozenMap({"killed": _killed(work.reward, mutant)})))


def _killed(reward: str, mutant: Mutant) -> bool:
    """Whether the self-test of the reward turns red. Runs in a process whose modules it may throw away.

    Its package and ours are imported anew, or the mutant before would be tried once more.
    """
    own = reward.partition(".")[0]
    for name in [n for n in sys.modules if n.partition(".")[0] in {"askfirst", own} and n not in SHARED]:
        del sys.modules[name]
    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        contract = importlib.import_module("askfirst.contracts.rewards")
        module = importlib.import_module(reward)
        return next(iter(contract.faults(module)), None) is not None
    except (AskfirstError, ArithmeticError, LookupError, NameError, RuntimeError, TypeError, ValueError, TimeoutError):
        return True  # it does not even import, or its own cases do not run
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.meta_path.remove(finder)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"a mutant computed for more than {SECONDS} s")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Serves one module with one condition replaced."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """A spec for the mutated module alone."""
        if fullname != self.mutant.module:
            return None
        file = _file(fullname)
        package = file.name == "__init__.py"
        places = [str(file.parent)] if package else None
        spec = importlib.util.spec_from_loader(fullname, self, origin=str(file), is_package=package)
        if spec is not None and places:
            spec.submodule_search_locations = places
        return spec

    def get_source(self, fullname: str) -> str:
        """The source as it would have to be written."""
        return ast.unparse(self._tree(fullname))

    def get_code(self, fullname: str) -> CodeType:
        """The code of the mutated module."""
        return compile(self._tree(fullname), str(_file(fullname)), "exec")

    def _tree(self, fullname: str) -> ast.Module:
        tree = ast.parse(_source(fullname))
        parent, name, index = list(_sites(tree))[self.mutant.site]
        constant = ast.copy_location(ast.Constant(self.mutant.value), _get(parent, name, index))
        if index is None:
            setattr(parent, name, constant)
        else:
            getattr(parent, name)[index] = constant
        return ast.fix_missing_locations(tree)


Site = tuple[ast.AST, str, int | None]  # parent, field, place in the field where that is a list


def _sites(tree: ast.Module) -> Iterator[Site]:
    """The conditions of a module in a fixed order."""
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        collects = function.returns is not None and ast.unparse(function.returns) == _FAULTS
        for node in ast.walk(function):
            match node:
                case ast.If() | ast.While() | ast.IfExp():
                    yield node, "test", None
                case ast.comprehension():
                    yield from ((node, "ifs", i) for i in range(len(node.ifs)))
                case ast.BoolOp():
                    yield from ((node, "values", i) for i in range(len(node.values)))
                case ast.Return(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value) if _decides(value):
                    yield node, "value", None
                case (
                    ast.Assign(targets=[ast.Name(id="checks")], value=ast.Dict() as faults)
                    | ast.AnnAssign(target=ast.Name(id="checks"), value=ast.Dict() as faults)
                    | ast.AugAssign(target=ast.Name(id="checks"), value=ast.Dict() as faults)
                ):
                    yield from _checks(faults)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="checks"))]):
                    yield node, "value", None
                case ast.Return(value=ast.Dict()) if collects:
                    yield from _checks(node.value)


def _decides(value: ast.expr | None) -> bool:
    """Whether an expression is a condition by its form."""
    match value:
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="any" | "all" | "bool")):
            return True
    return False


def _checks(faults: Any) -> Iterator[Site]:
    """The values of a dict of faults; `**` has no key."""
    yield from ((faults, "values", i) for i, key in enumerate(faults.keys) if key is not None)


def _get(parent: ast.AST, name: str, index: int | None) -> ast.expr:
    value: Any = getattr(parent, name)
    found: ast.expr = value if index is None else value[index]
    return found


def _file(module: str) -> Path:
    loaded = sys.modules.get(module)
    known = getattr(loaded, "__file__", None)
    if known is None:
        spec = importlib.util.find_spec(module.rpartition(".")[0])
        folder = Path((spec.submodule_search_locations or [""])[0]) if spec else Path()
        leaf = folder / module.rpartition(".")[2]
        known = leaf / "__init__.py" if (leaf / "__init__.py").is_file() else leaf.with_suffix(".py")
    return Path(known)


def _source(module: str) -> str:
    return _file(module).read_text("utf-8")
