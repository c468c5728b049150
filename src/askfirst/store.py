"""What is written to disk and how: canonical JSON, hashes, seeds from names, atomic files, logs."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from json.encoder import encode_basestring
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeVar

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from askfirst.errors import InputError, StorageFault

if sys.platform != "win32":
    import fcntl

T = TypeVar("T")
EVERY_WHOLE = 2**53  # below it, every whole number is a double
UNFINISHED = ".unfinished"  # ends the names of files and folders that are being written

# Fields that hold wall-clock measurements, hashes of what holds some, or where the code was taken from: everything else
# of a run is a function of plan and code.
TIME_FIELDS = frozenset(
    {"seconds", "wall_seconds", "tokens_per_second", "started_at", "finished_at", "opened_at", "read_at", "recorded_at"}
    | {"chain", "file_sha256", "git"}
)


def plain(value: Any) -> Any:
    """Dataclasses, mappings, tuples, enums and numpy scalars as JSON types. Raises on NaN and unknown types."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} has no place in a record")
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Path):
        return value.as_posix()
    raise TypeError(f"{type(value).__name__} has no place in a record")


def canonical(value: Any) -> str:
    """One JSON text per value, by the JSON Canonicalization Scheme (RFC 8785).

    Keys are sorted by UTF-16 code units, numbers are written as ECMAScript writes them, strings are escaped only where
    they must be. Raises ValueError for a whole number that a double does not hold and for half a surrogate pair.
    """
    return _emit(plain(value))


def _emit(value: Any) -> str:
    if isinstance(value, str):
        if not value.isascii():
            value.encode()  # half a surrogate pair raises here
        return encode_basestring(value)
    if isinstance(value, dict):
        keys = sorted(value) if all(map(str.isascii, value)) else sorted(value, key=lambda k: k.encode("utf-16-be"))
        return "{" + ",".join(f"{_emit(k)}:{_emit(value[k])}" for k in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_emit, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _whole(value) if isinstance(value, int) else _number(value)


def _whole(value: int) -> str:
    if abs(value) < EVERY_WHOLE:
        return str(value)
    text = _number(float(value)) if abs(value) < 1 << 1023 else ""
    if text != str(value) and (not text or float(value) != value):
        raise ValueError(f"{value} is more than a JSON number holds exactly; write it as text")
    return text


def _number(value: float) -> str:
    """The shortest digits that read back as the same double, with an exponent below 1e-6 and from 1e21 on."""
    text = repr(value)
    if "e" not in text:
        return text.removesuffix(".0") if value else "0"
    mantissa, _, power = text.partition("e")
    sign, digits = ("-" if value < 0 else ""), mantissa.lstrip("-").replace(".", "")
    point = int(power) + 1  # digits before the decimal point
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def content_hash(value: Any) -> str:
    """sha256 of the canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def seed_from(*names: str | int) -> int:
    """A 63-bit seed from names, the same in every process and on every platform."""
    digest = hashlib.sha256("\x1f".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(*names: str | int) -> np.random.Generator:
    """A counter-based generator (Philox) for the stream of that name."""
    return np.random.Generator(np.random.Philox(key=seed_from(*names)))


def write_text(path: Path, text: str) -> None:
    """Write the whole file or nothing: temporary file, fsync, rename. Raises StorageFault."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, body: bytes) -> None:
    """As `write_text`, for bytes."""
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED)
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise _storage(path, error) from error


def pretty(value: Any) -> str:
    """A record as indented JSON with sorted keys, for files."""
    return json.dumps(plain(value), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Write a record as `pretty` has it."""
    write_text(path, pretty(value))


def append_line(path: Path, value: Any) -> None:
    """One canonical JSON line, on disk when this returns. A line cut short by an earlier crash is dropped first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            _drop_partial_line(file)
            file.write(canonical(value).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _storage(path, error) from error


def read_json(path: Path) -> Any:
    """Raises InputError for a missing or malformed file, naming it."""
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=str(path)) from error


def read_lines(path: Path, *, by_hand: bool = False) -> Iterator[Any]:
    """The records of a log, one a line. A last line without its newline was never committed and is left out; in a
    file that a person may have written (`by_hand`) it counts.

    Raises InputError, naming file and line.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=str(path)) from error
    *whole, last = body.split(b"\n")
    for number, line in enumerate([*whole, last] if by_hand and last else whole, start=1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", where=f"{path}:{number}") from error


def read_as(kind: type[T], path: Path) -> T:
    """A record read back as its dataclass; unknown and missing fields are refused with the file's name."""
    return as_record(kind, read_json(path), str(path))


def as_record(kind: type[T], value: Any, where: str) -> T:
    """JSON types as a dataclass, nested ones too. Raises InputError for unknown, missing and mistyped fields."""
    known: Any = kind
    try:
        found: T = _adapter(known).validate_python((value,))[0]
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"][1:]))
        raise InputError(f"not a {kind.__name__}: {first['msg']} at {field or 'the top'}", where=where) from error
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[tuple[Any]]:
    # In a tuple of one, because only then a dataclass takes the adapter's config, which nested ones inherit.
    one: Any = GenericAlias(tuple, (kind,))
    return TypeAdapter(one, config=ConfigDict(extra="forbid", arbitrary_types_allowed=True))


def commit_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder whole or not at all: `fill` writes into a temporary one, which is then renamed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED))
        try:
            fill(temporary)
            for file in (f for f in temporary.rglob("*") if f.is_file()):
                with file.open("rb+") as opened:
                    os.fsync(opened.fileno())
            temporary.chmod(0o755)
            if path.exists():
                shutil.rmtree(path)
            os.replace(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise _storage(path, error) from error


def sweep(folder: Path) -> None:
    """Remove what writes that were cut short have left behind. Only for who holds the folder (`held`)."""
    for rest in list(folder.rglob(f".*{UNFINISHED}")):
        if rest.is_dir():
            shutil.rmtree(rest, ignore_errors=True)
        else:
            rest.unlink(missing_ok=True)


@contextlib.contextmanager
def held(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Within this context no other process holds the folder. Raises InputError when one still does after `patience`
    seconds.

    The system lets go when the process ends, however it ends. On Windows nothing is held.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise _storage(folder, error) from error
    try:
        deadline = time.monotonic() + patience
        while not _locked(handle):
            if time.monotonic() >= deadline:
                raise InputError("another process is at work in this folder", where=str(folder))
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def write_lines(path: Path, values: Iterable[Any]) -> None:
    """A whole log at once, one canonical JSON line a record; written whole or not at all."""
    write_text(path, "".join(canonical(v) + "\n" for v in values))


def _drop_partial_line(file: Any) -> None:
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)


def _storage(path: Path, error: OSError) -> StorageFault:
    return StorageFault(
        f"cannot write: {error.strerror or error}",
        where=str(path),
        hint="free space or choose another --out folder; what was committed before is intact",
    )
