"""What a Tinker server holds: sessions, models in training and sampling clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from askfirst.backends.hf.policy import HfPolicy
from askfirst.errors import InputError
from askfirst.serve.tinker import shelf
from askfirst.serve.tinker.jobs import Job


class Gone(InputError):
    """A session, model or sampling client that this server does not have, or no longer."""


class Busy(InputError):
    """There is no room for this request now; later there may be."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is held at once, and after how many silent seconds a session ends."""

    sessions: int = 64
    models: int = 64
    waiting: int = 8192  # requests that are not begun
    idle_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Served:
    """The base model: the names that clients may call it by, its folder or hub id, and the hash of its files."""

    names: tuple[str, ...]
    source: str
    files: str


@dataclass(slots=True)
class Session:
    """One client. `seen` is when it last said something."""

    id: str
    seen: float
    user_metadata: Mapping[str, str]
    joined: int = 0


@dataclass(slots=True)
class Model:
    """An adapter in training; `policy` is the worker's alone and there once the model is made."""

    id: str
    about: shelf.About
    policy: HfPolicy | None = None
    next_seq: int = 1
    early: dict[int, Job] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampling client's model: the folder of an adapter, or None for the base."""

    id: str
    base_model: str
    folder: Path | None
    model_path: str | None
