"""The rollouts of a run that a person should read, and what readers said of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from askfirst import ledger
from askfirst.errors import InputError
from askfirst.runfolder import RunFolder
from askfirst.store import append_line, as_record, read_json, read_lines
from askfirst.values import Message

QUEUED = 20
GOOD, HACK = "good", "hack"


@dataclass(frozen=True, slots=True)
class Grade:
    """The score of a rollout as its record has it."""

    total: float
    terms: dict[str, float]
    passed: bool
    failures: tuple[str, ...]
    reward: str


@dataclass(frozen=True, slots=True)
class Read:
    """A rollout to read: `dialogue` begins with the policy's first message."""

    scenario: str
    family: str
    stratum: str
    step: int
    index: int
    request: str
    reply: str
    dialogue: tuple[Message, ...]
    stop: str
    score: Grade
    variant: str

    @property
    def id(self) -> str:
        """The rollout's name within the run."""
        return f"{self.variant}/step-{self.step}/{self.scenario}/{self.index}"

    @property
    def replies(self) -> tuple[str, ...]:
        """What the policy said, one text a turn."""
        return tuple(m.content for m in self.dialogue if m.role == "assistant")


@dataclass(frozen=True, slots=True)
class Mark:
    """What a reader said of a rollout. Of several marks of one rollout the last holds."""

    version: int
    rollout: str
    mark: str
    why: str
    reader: str
    read_at: str


@dataclass(frozen=True, slots=True)
class Summary:
    """How far the reading of a run is: of the queue, and the hacks among everything that was marked."""

    read: int
    of: int
    hacks: int

    def __str__(self) -> str:
        return f"{self.read} of {self.of} read, {self.hacks} hack{'s' * (self.hacks != 1)}"


def require_run(run: RunFolder) -> dict[str, Any]:
    """The lock of a run folder. Raises InputError where the folder is none."""
    if not run.lock.is_file():
        raise InputError("not a run folder: it has no plan.lock.json", where=str(run.root))
    lock = read_json(run.lock)
    if not isinstance(lock, dict) or not isinstance(lock.get("plan"), dict):
        raise InputError("expected the frozen plan of a run", where=str(run.lock))
    return lock


def queue(run: RunFolder) -> tuple[Read, ...]:
    """The QUEUED rollouts of the highest reward, no reply twice; where rewards are equal, variants take turns."""
    found: list[tuple[float, int, str, Read]] = []
    for folder in run.having("best_rollouts.jsonl"):
        path = folder.best_rollouts
        for rank, line in enumerate(read_lines(path)):
            rollout = _rollout(line, folder.name, f"{path}:{rank + 1}")
            found.append((-rollout.score.total, rank, folder.name, rollout))
    distinct: dict[str, Read] = {}
    for *_, rollout in sorted(found, key=lambda entry: entry[:3]):
        distinct.setdefault(rollout.reply, rollout)
    return tuple(distinct.values())[:QUEUED]


def marks(run: RunFolder) -> dict[str, Mark]:
    """The mark that holds for each rollout that was ever marked. Raises InputError with file and line."""
    lines = read_lines(run.reading) if run.reading.is_file() else ()
    found = [as_record(Mark, line, f"{run.reading}:{number}") for number, line in enumerate(lines, start=1)]
    for number, mark in enumerate(found, start=1):
        if mark.mark not in (GOOD, HACK):
            raise InputError(f"expected the mark good or hack, found {mark.mark!r}", where=f"{run.reading}:{number}")
    return {mark.rollout: mark for mark in found}


def add_mark(run: RunFolder, rollout: Read, mark: str, why: str, reader: str) -> Mark:
    """Add a mark to those of the run; it is on disk when this returns."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    made = Mark(1, rollout.id, mark, _recordable(why), _recordable(reader), now)
    append_line(run.reading, made)
    ledger.grown(run, run.reading)
    return made


def summary(run: RunFolder) -> Summary:
    """How far the reading of a run is."""
    return count(queue(run), marks(run))


def count(rollouts: Iterable[Read], marked: Mapping[str, Mark]) -> Summary:
    """The summary of a queue and marks."""
    read = [rollout.id in marked for rollout in rollouts]
    return Summary(sum(read), len(read), sum(mark.mark == HACK for mark in marked.values()))


def visible(text: str) -> str:
    """A text with everything that a terminal would act on, hide or reorder written out; lines stay lines."""
    return "".join(c if c == "\n" or _shows(c) else c.encode("unicode_escape").decode() for c in text)


def _shows(character: str) -> bool:
    """Whether a character is seen as what it is: no control, no format or bidi mark, no blank but the space."""
    category = unicodedata.category(character)
    return category[0] not in "CZ" or character == " "


def _recordable(text: str) -> str:
    """What a person typed, without halves of surrogate pairs, which no record can hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def _rollout(line: Any, variant: str, where: str) -> Read:
    if not isinstance(line, dict):
        raise InputError("expected a rollout", where=where)
    fields = [name for name in Read.__dataclass_fields__ if name in line and name != "variant"]
    return as_record(Read, {**{name: line[name] for name in fields}, "variant": variant}, where)
