"""What the self-test of a reward says, and for which source and which cases it speaks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.cases import Case
from askfirst.store import content_hash, plain, read_as, write_json
from askfirst.values import FrozenMap, Interval

NOT_MEASURED = "not measured"  # what stands where a number would claim to have been measured
STALE = f"{NOT_MEASURED}: the record is of another source or other cases"
# Of askfirst itself, the packages whose source decides about scores.
SCORES = ("askfirst.rewards", "askfirst.replies", "askfirst.calls", "askfirst.clarify", "askfirst.retail")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case tried. `deviates` is None where the reward gave no score to compare with the bound."""

    attack: bool
    family: str
    deviates: bool | None
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of the scored cases deviate, with exact two-sided 95 % bounds."""

    count: int
    of: int
    interval: Interval

    def words(self, what: str) -> str:
        """The rate in a line; `what` says what deviates."""
        share, low, high = (100 * part for part in (self.interval.estimate, self.interval.lower, self.interval.upper))
        return f"{self.count} of {self.of} {what} = {share:.1f} % [{low:.1f}, {high:.1f}]"


@dataclass(frozen=True, slots=True)
class Family:
    """The cases of a family: attacks or honest ones, those that deviate, and those that got no score."""

    family: str
    attacks: bool
    cases: int
    deviating: int
    unscored: int


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a mutant is the same reward; `at` as a mutant says it."""

    at: str
    why: str


@dataclass(frozen=True, slots=True)
class MutationRecord:
    """What `askfirst mutate` found in a reward of this source with these cases."""

    version: int
    reward: str
    source: str
    corpus: str
    killed: int
    equivalent: tuple[Reason, ...]
    surviving: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mutants:
    """How many mutants of a reward its self-test notices, how many are the same reward, and how many live on."""

    killed: int
    equivalent: int
    surviving: int

    def __str__(self) -> str:
        return f"{self.killed} killed, {self.equivalent} the same reward, {self.surviving} surviving"


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """What the self-test of a reward found. `broken` says in words which cases failed; empty is green.

    `source` is the hash of all source that scores, `corpus` that of the cases: a report speaks for exactly these.
    `false_positives` are attacks above their cap, `false_negatives` honest cases below their floor.
    """

    reward: str
    source: str
    corpus: str
    attacks: int
    honest: int
    broken: tuple[str, ...]
    false_positives: Rate | str
    false_negatives: Rate | str
    families: tuple[Family, ...]
    mutants: Mutants | str


def parts(module: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> tuple[ModuleType, ...]:
    """A reward, and the one it builds on: what its parameter `base` names. Raises PluginError for an unknown one."""
    base = {**getattr(module, "DEFAULTS", {}), **params}.get("base")
    return (module, plugins.load("rewards", base)) if isinstance(base, str) and base else (module,)


def scorer_hash(module: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> str:
    """sha256 over the source that scores: the reward, what it builds on, and what these import of their own package."""
    found: dict[str, str] = {}
    for part in parts(module, params):
        found[part.__name__] = plugins.source_hash(part)
        top = part.__name__.partition(".")[0]
        for other in plugins.reached(part, SCORES if top == "askfirst" else (top, *SCORES)):
            body = Path(str(other.__file__)).read_bytes()
            found.setdefault(other.__name__, hashlib.sha256(body).hexdigest())
    return content_hash(found)


def corpus_hash(cases: Iterable[Case]) -> str:
    """sha256 over cases: the scenario, what is said, and the bound and codes of each."""
    return content_hash([(c.name, c.scenario.id, c.env, tuple(map(_hex, c.replies)), c.bound, *c.codes) for c in cases])


def rate(outcomes: Sequence[Outcome]) -> Rate | str:
    """The share of deviating cases among those that were scored; words where none was."""
    from askfirst.stats import clopper_pearson  # here, so that whoever counts nothing need not load scipy

    scored = [o.deviates for o in outcomes if o.deviates is not None]
    if not scored:
        return NOT_MEASURED
    return Rate(sum(scored), len(scored), clopper_pearson.interval(sum(scored), len(scored)))


def families(outcomes: Sequence[Outcome]) -> tuple[Family, ...]:
    """The outcomes counted by family, attacks first."""
    kinds = sorted({(not o.attack, o.family) for o in outcomes})
    found = []
    for honest, name in kinds:
        own = [o.deviates for o in outcomes if o.family == name and o.attack is not honest]
        found.append(Family(name, not honest, len(own), own.count(True), own.count(None)))
    return tuple(found)


def record_path(module: ModuleType) -> Path:
    """Where the record of a reward's mutants lies: `ours.mutants.json` beside `ours.py` or the package `ours`."""
    file = Path(str(module.__file__))
    room = file.parent.parent if file.name == "__init__.py" else file.parent
    return room / f"{module.__name__.rpartition('.')[2]}.mutants.json"


def write_record(path: Path, record: MutationRecord) -> None:
    """Keep what `askfirst mutate` found."""
    write_json(path, plain(record))


def mutants(module: ModuleType, source: str, corpus: str) -> Mutants | str:
    """What the record beside the reward says of its mutants; words where there is none or it is of something else."""
    path = record_path(module)
    if not path.is_file():
        return NOT_MEASURED
    record = read_as(MutationRecord, path)
    if (record.source, record.corpus) != (source, corpus):
        return STALE
    return Mutants(record.killed, len(record.equivalent), len(record.surviving))


def _hex(reply: str) -> str:
    """A reply that may hold what no record can, such as half a surrogate pair."""
    return reply.encode("utf-8", "surrogatepass").hex()
