"""Preference pairs: two replies to one request of the reply protocol, of which one is better; and files of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from askfirst.cases import placed
from askfirst.errors import InputError
from askfirst.replies import Truth, truth
from askfirst.store import as_record, read_lines, write_lines
from askfirst.values import Scenario


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replies to a scenario; `why` says what makes the chosen one better than the rejected one."""

    name: str
    family: str
    scenario: Scenario
    chosen: str
    rejected: str
    why: str


@dataclass(frozen=True, slots=True)
class PairLine:
    """A pair as a line of a file."""

    name: str
    family: str
    shown: str
    stratum: str
    truth: Truth
    chosen: str
    rejected: str
    why: str


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """A file of pairs, one JSON object a line."""
    write_lines(path, map(_as_line, pairs))


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """The pairs of a file that `write_pairs` or a person wrote.

    Raises InputError, with file and line, for a line that is none, whose replies are the same, or whose name was taken;
    and for a file without any.
    """
    found: dict[str, Pair] = {}
    for number, value in enumerate(read_lines(path, by_hand=True), start=1):
        where = f"{path}:{number}"
        line = as_record(PairLine, value, where)
        if line.chosen == line.rejected:
            raise InputError("chosen and rejected are the same reply", where=where)
        if not line.name.strip() or line.name in found:
            raise InputError(f"expected a name of its own, found {line.name!r}", where=where)
        scenario = placed(line.shown, line.truth, line.stratum, where)
        found[line.name] = Pair(line.name, line.family, scenario, line.chosen, line.rejected, line.why)
    if not found:
        raise InputError("there are no pairs in it", where=str(path))
    return tuple(found.values())


def _as_line(pair: Pair) -> PairLine:
    where = pair.scenario
    shown, own = where.opening[-1].content, truth(where)
    return PairLine(pair.name, pair.family, shown, where.stratum, own, pair.chosen, pair.rejected, pair.why)
