"""Generated training requests: a file of paraphrases that a plan may draw its train split from.

A line is a scenario of the environment whose request a teacher put into other words, with where it comes from. What it
is judged against is as the environment made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.envs import _mix
from askfirst.errors import EnvironmentFault, GateFailed, InputError
from askfirst.generated.rules import identity
from askfirst.ledger import file_hash
from askfirst.plan import Plan
from askfirst.runfolder import RunFolder
from askfirst.store import as_record, generator, plain, read_json, read_lines
from askfirst.values import FrozenMap, Message, Scenario

VERSION = 1
SOURCE = "generated/"  # before the file's name, among the sources of a lock
PAIRED = frozenset({"ambiguous", "clear_twin"})  # strata whose members belong together by their twin


@dataclass(frozen=True, slots=True)
class Source:
    """The draw that a scenario comes from: `env` with its version, the split's arguments, and its id there."""

    env: str
    env_version: str
    count: int
    seed: int
    id: str


@dataclass(frozen=True, slots=True)
class Teacher:
    """Who said it in other words: name, fingerprint, the hash of the instructions, and at which attempt."""

    name: str
    fingerprint: str
    prompt_sha256: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file. `hidden` is what replies are judged against; the fields before it are those of a scenario."""

    version: int
    id: str
    family: str
    stratum: str
    ambiguous: bool
    opening: tuple[Message, ...]
    template: str
    values: tuple[str, ...]
    twin: str
    hidden: dict[str, Any]
    source: Source
    teacher: Teacher

    @property
    def scenario(self) -> Scenario:
        """As a scenario of the train split."""
        names = (self.id, self.family, self.stratum, "train", self.ambiguous, self.opening)
        return Scenario(*names, _frozen(self.hidden), self.template, self.values, self.twin)


def line_of(made: Scenario, source: Source, teacher: Teacher) -> Line:
    """A scenario, with other words for its request, as a line."""
    names = (made.id, made.family, made.stratum, made.ambiguous, made.opening, made.template, made.values, made.twin)
    return Line(VERSION, *names, plain(made.hidden), source, teacher)


def _frozen(value: Any) -> Any:
    """JSON types as the immutable values that they were written from."""
    if isinstance(value, dict):
        return FrozenMap({name: _frozen(inner) for name, inner in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def read(path: Path) -> tuple[Line, ...]:
    """The lines of a file. Raises InputError with file and line, also for an id that is not that of its content."""
    found, seen = [], dict[str, int]()
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{number}"
        made = as_record(Line, line, where)
        if made.version != VERSION or not made.opening:
            raise InputError(f"expected version {VERSION} and an opening", where=where)
        if made.id != identity(made.opening, made.scenario.hidden, made.source.env):
            raise InputError("the id is not that of what the line says: it was changed", where=where)
        if made.id in seen:
            raise InputError(f"the same as line {seen[made.id]}", where=where)
        seen[made.id] = number
        found.append(made)
    if not found:
        raise InputError("there are no generated requests in it", where=str(path))
    return tuple(found)


def environment(plan: Plan) -> ModuleType:
    """The plan's environment. Where the plan names generated data, its train split is drawn from that.

    Raises InputError for a file that cannot be read, or was made from another environment or another version of it.
    """
    env = plugins.environment(plan.env.name, plan.env.data, plan.env.families)
    if plan.env.generated is None:
        return env
    path = Path(plan.env.generated)
    return _environment(env, path, file_hash_of(path))


def file_hash_of(path: Path) -> str:
    """sha256 of a data file. Raises InputError where there is none."""
    if not path.is_file():
        raise InputError("the plan's generated data is not here", where=str(path), hint="askfirst generate makes it")
    return file_hash(path)


def sources(plan: Plan) -> dict[str, str]:
    """What a lock holds of a plan's generated data: the file's name and hash; nothing where it has none."""
    if plan.env.generated is None:
        return {}
    return {f"{SOURCE}{plan.env.generated}": file_hash_of(Path(plan.env.generated))}


def require_same(run: RunFolder, plan: Plan) -> None:
    """Raise GateFailed unless a plan's generated data is what its run was frozen with."""
    locked = read_json(run.lock).get("sources", {}) if run.lock.is_file() else {}
    for name, found in sources(plan).items():
        if locked.get(name, found) != found:
            raise GateFailed("the generated data changed since the run was frozen", where=name.removeprefix(SOURCE))


@lru_cache(maxsize=4)  # asked for again at every step
def _environment(env: ModuleType, path: Path, digest: str) -> ModuleType:
    """The environment with a train split of its own; `digest` tells versions of the file apart."""
    del digest
    lines, name = read(path), plugins.name_of(env)
    for number, line in enumerate(lines, start=1):
        if (line.source.env, line.source.env_version) != (name, env.VERSION):
            origin = f"{line.source.env} {line.source.env_version}, not {name} {env.VERSION}"
            raise InputError(f"generated from {origin}", where=f"{path}:{number}", hint="generate it anew")
    pools: dict[str, list[Scenario]] = {}
    for line in sorted(lines, key=lambda line: line.id):
        pools.setdefault(line.stratum, []).append(line.scenario)

    def scenarios(
        split: str, n: int, seed: int, strata: Mapping[str, float] | None = None, *kinds: Mapping[str, float]
    ) -> list[Scenario]:
        """As the environment's own; those of train come out of the file."""
        if split != "train":
            given = () if strata is None and not kinds else (strata, *kinds)
            return list(env.scenarios(split, n, seed, *given))
        return _drawn(env, pools, n, seed, strata)

    made = ModuleType(env.__name__, env.__doc__)
    vars(made).update({**vars(env), "scenarios": scenarios})
    return made


def _drawn(
    env: ModuleType, pools: Mapping[str, Sequence[Scenario]], n: int, seed: int, strata: Mapping[str, float] | None
) -> list[Scenario]:
    """n distinct scenarios of the pools by strata; pairs match one to one as far as their counts go."""
    _mix.check_draw("train", n)
    if strata is None:
        share = getattr(env, "AMBIGUOUS_SHARE", 0.5)
        strata = {"ambiguous": share, **{k: (1.0 - share) * v for k, v in env.CLEAR_MIX.items()}}
    found: list[Scenario] = []
    for stratum, count in _mix.apportion(_mix.checked_weights(strata, env.STRATA), n).items():
        pool = list(pools.get(stratum, ()))
        if count > len(pool):
            raise EnvironmentFault(
                f"the generated data has {len(pool)} requests of stratum {stratum}, {count} are drawn at once",
                hint="askfirst generate with a larger --count",
            )
        # Both strata of the pairs hold the same twins, in one order.
        pool.sort(key=lambda s: s.twin if stratum in PAIRED else s.id)
        stream = generator("generated", seed, "pairs" if stratum in PAIRED else stratum)
        found += [pool[at] for at in stream.permutation(len(pool))[:count]]
    return [found[at] for at in generator("generated", seed, "order").permutation(len(found))]
