"""Checkpoints on disk: `tinker://<model>/<kind>/<name>` is one folder, made whole or not at all."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from askfirst import store
from askfirst.errors import InputError

SCHEME = "tinker://"
TRAINING, SAMPLER, EXTERNAL, PASSING = "weights", "sampler_weights", "external_weights", "passing"
KINDS = (TRAINING, SAMPLER, EXTERNAL)
RECORD, COUNTER, MODEL = "checkpoint.json", "sessions.json", "model.json"
_NAME = re.compile(r"\w[\w.=-]{0,199}", re.ASCII)
_MODEL = re.compile(r"(session-\d+):train:(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class About:
    """What a model is: the name its client gave the base, the hash of the base's files, the adapter's rank."""

    version: int
    base_model: str
    base_files: str
    rank: int
    user_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """checkpoint.json. Times are seconds since 1970; `expires_at` 0 is never."""

    version: int
    about: About
    created_at: float
    expires_at: float = 0.0
    user_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """A checkpoint by its parts."""

    model_id: str
    kind: str
    name: str

    @property
    def uri(self) -> str:
        """As clients name it."""
        return f"{SCHEME}{self.model_id}/{self.kind}/{self.name}"

    @classmethod
    def parse(cls, uri: str) -> Place:
        """Raises InputError for what names no checkpoint."""
        parts = uri.removeprefix(SCHEME).split("/")
        if not uri.startswith(SCHEME) or len(parts) != 3 or parts[1] not in KINDS:
            raise InputError(f"{uri!r} names no checkpoint", hint=f"{SCHEME}<model>/{TRAINING}/<name>")
        return cls(*parts).checked()

    def checked(self) -> Place:
        """Itself. Raises InputError for a name that is no plain file name."""
        if not _NAME.fullmatch(self.name) or not _MODEL.fullmatch(self.model_id):
            raise InputError(
                f"{self.name!r} of {self.model_id!r} is no name of a checkpoint",
                hint="letters, digits, _ . = and -, up to 200, none of the last three first",
            )
        return self


class Shelf:
    """The folder of a server. `clock` gives seconds since 1970."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.root, self._clock = root, clock

    def next_session(self) -> str:
        """A name that no session of this folder has had."""
        path = self.root / COUNTER
        number = int(store.read_json(path)["next"]) if path.is_file() else 1
        store.write_json(path, {"version": 1, "next": number + 1})
        return f"session-{number}"

    def folder(self, place: Place) -> Path:
        """Where a checkpoint lies, whether it is there or not."""
        return self._model(place.model_id) / place.kind / place.name

    def describe(self, model_id: str, about: About) -> None:
        """Write down what a model is."""
        store.write_json(self._model(model_id) / MODEL, about)

    def about(self, model_id: str) -> About:
        """What a model is. Raises InputError for one that never was."""
        if not _MODEL.fullmatch(model_id) or not (path := self._model(model_id) / MODEL).is_file():
            raise InputError(f"no model is called {model_id!r} in the folder of this server")
        return store.read_as(About, path)

    def put(self, place: Place, record: Record, fill: Callable[[Path], None], overwrite: bool = False) -> None:
        """Keep what `fill` writes. Raises InputError where the name is taken."""
        folder = self.folder(place.checked())
        if self._there(place) and not overwrite:
            raise InputError(f"{place.uri} exists", hint="choose another name, or overwrite=True")

        def write(target: Path) -> None:
            fill(target)
            store.write_json(target / RECORD, record)

        store.commit_folder(folder, write)

    def record(self, about: About, ttl_seconds: int | None, user_metadata: dict[str, str] | None) -> Record:
        """What is kept beside a checkpoint made now."""
        now = self._clock()
        return Record(1, about, now, now + ttl_seconds if ttl_seconds else 0.0, dict(user_metadata or {}))

    def find(self, place: Place) -> tuple[Path, Record]:
        """Folder and record of a checkpoint. Raises InputError where it is not there, or no longer."""
        if not self._there(place):
            raise InputError(f"{place.uri} is not in the folder of this server, or has expired")
        folder = self.folder(place)
        return folder, store.read_as(Record, folder / RECORD)

    def of_model(self, model_id: str) -> list[Place]:
        """The checkpoints of a model, the oldest first."""
        found = [Place(model_id, kind, name) for kind in KINDS for name in self._names(model_id, kind)]
        there = [(self.find(place)[1].created_at, place) for place in found if self._there(place)]
        return [place for _, place in sorted(there, key=lambda pair: pair[0])]

    def size(self, place: Place) -> int:
        """Bytes of a checkpoint."""
        return sum(path.stat().st_size for path in self.folder(place).iterdir())

    def expire(self, place: Place, ttl_seconds: int | None) -> None:
        """Give a checkpoint another end."""
        folder, record = self.find(place)
        ends = self._clock() + ttl_seconds if ttl_seconds else 0.0
        store.write_json(folder / RECORD, replace(record, expires_at=ends))

    def remove(self, place: Place) -> None:
        """Delete a checkpoint. Raises InputError where it is not there."""
        shutil.rmtree(self.find(place)[0])

    def pass_on(self, model_id: str, name: str, fill: Callable[[Path], None]) -> Path:
        """Keep weights that a sampling client holds only as long as its session lasts; returns their folder."""
        folder = self._model(model_id) / PASSING / name
        store.commit_folder(folder, fill)
        return folder

    def end_session(self, session_id: str) -> None:
        """Delete what was kept only for a session."""
        for folder in (self.root / session_id).glob(f"*/{PASSING}"):
            shutil.rmtree(folder, ignore_errors=True)

    def tidy(self) -> None:
        """Delete what earlier processes left: unfinished folders, passing weights, what has expired."""
        store.sweep(self.root)
        for session in self.root.glob("session-*"):
            self.end_session(session.name)
        for path in list(self.root.glob(f"session-*/train-*/*/*/{RECORD}")):
            if self._expired(path):
                shutil.rmtree(path.parent, ignore_errors=True)

    def _model(self, model_id: str) -> Path:
        match = _MODEL.fullmatch(model_id)
        if not match:
            raise InputError(f"no model is called {model_id!r}")
        return self.root / match[1] / f"train-{match[2]}"

    def _names(self, model_id: str, kind: str) -> Iterator[str]:
        folder = self._model(model_id) / kind
        yield from (path.name for path in folder.iterdir() if _NAME.fullmatch(path.name)) if folder.is_dir() else ()

    def _there(self, place: Place) -> bool:
        path = self.folder(place) / RECORD
        return path.is_file() and not self._expired(path)

    def _expired(self, path: Path) -> bool:
        ends = store.read_as(Record, path).expires_at
        return bool(ends) and ends <= self._clock()
