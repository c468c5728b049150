"""The ledger of a run: every line holds the hash of the line before it, and its last lines those of every file.

A line is canonical JSON with a `chain`: sha256 over the chain before it and the line without its own. The first is
chained to 64 zeros. A line with `files` binds files to their hashes, one with `removed` takes them out again, and one
with `bytes` binds a file that grows as far as it had grown.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from askfirst.errors import GateFailed, InputError
from askfirst.runfolder import RunFolder
from askfirst.store import UNFINISHED, append_line, canonical, plain, read_lines, write_lines

GENESIS = "0" * 64
FINISHED = "finished"
CHAIN, HASH = "chain", "file_sha256"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as the ledger says: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found. `head` is the chain of the last line: who keeps it can later tell a cut ledger."""

    finished: bool
    lines: int
    files: int
    head: str
    findings: tuple[Finding, ...]

    @property
    def intact(self) -> bool:
        """Whether the run is finished and nothing differs."""
        return self.finished and not self.findings


def link(head: str, body: Mapping[str, Any]) -> str:
    """The chain of a line that follows `head`."""
    return hashlib.sha256((head + canonical(body)).encode()).hexdigest()


def begin(path: Path, entry: Any) -> None:
    """A new ledger with one line, written whole or not at all."""
    body = plain(entry)
    write_lines(path, [{**body, CHAIN: link(GENESIS, body)}])


def append(path: Path, entry: Any) -> str:
    """Add a line, on disk when this returns; returns its chain."""
    body = plain(entry)
    chain = link(head(path), body)
    append_line(path, {**body, CHAIN: chain})
    return chain


def head(path: Path) -> str:
    """The chain of the last line; GENESIS where there is none."""
    last = list(read_lines(path))[-1:] if path.is_file() else []
    return str(last[0].get(CHAIN, GENESIS)) if last and isinstance(last[0], dict) else GENESIS


def events(run: RunFolder, event: str) -> list[dict[str, Any]]:
    """The lines of one kind, oldest first."""
    lines = read_lines(run.ledger) if run.ledger.is_file() else ()
    return [line for line in lines if isinstance(line, dict) and line.get("event") == event]


def file_hash(path: Path) -> str:
    """sha256 of a file. Raises InputError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=str(path)) from error


def present(run: RunFolder) -> dict[str, Path]:
    """Every file of a run folder by its name within it, but the ledger, its signature and what is half written."""
    files = {p.relative_to(run.root).as_posix(): p for p in sorted(run.root.rglob("*")) if not p.is_dir()}
    own = {run.ledger, run.attestation}
    return {name: path for name, path in files.items() if path not in own and not path.name.endswith(UNFINISHED)}


def now() -> str:
    """The local clock, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def entries(root: Path, paths: Iterable[Path]) -> list[dict[str, str]]:
    """Files with their hashes, as lines of the ledger hold them."""
    return [{"path": path.relative_to(root).as_posix(), HASH: file_hash(path)} for path in paths]


def finish(run: RunFolder) -> None:
    """Bind every file of a run that has its verdict, once."""
    if not events(run, FINISHED):
        later = {run.report, run.reading}  # written again and grown on, each with lines of its own
        files = entries(run.root, (path for path in present(run).values() if path not in later))
        append(run.ledger, {"version": 1, "event": FINISHED, "files": files, "recorded_at": now()})


def written(run: RunFolder, path: Path) -> None:
    """Bind a file that is written whole after the run is finished; nothing to do where it is bound as it stands."""
    if not events(run, FINISHED):
        return
    (entry,) = entries(run.root, [path])
    if _bound(list(read_lines(run.ledger))).get(entry["path"]) != entry[HASH]:
        append(run.ledger, {"version": 1, "event": "written", "files": [entry], "recorded_at": now()})


def grown(run: RunFolder, path: Path) -> None:
    """Bind a file that only grows, as far as it has grown."""
    (entry,) = entries(run.root, [path])
    body = {"version": 1, "event": "grown", "files": [entry], "bytes": path.stat().st_size, "recorded_at": now()}
    append(run.ledger, body)


def _bound(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """File → hash, as the lines say when they are read to the end."""
    found: dict[str, str] = {}
    for line in lines:
        found |= {entry["path"]: entry[HASH] for entry in line.get("files", ())}
        for name in line.get("removed", ()):
            found.pop(name, None)
    return found


def verify(run: RunFolder) -> Verification:
    """Hold a run folder against its ledger. Raises InputError where there is no ledger."""
    try:
        body = run.ledger.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the ledger: {error.strerror}", where=str(run.ledger)) from error
    findings: list[Finding] = []
    lines, chain = _lines(body, findings)
    bound, finished = {}, False
    # Lines that do not say what they must are findings too, not faults of ours.
    try:
        bound = _bound(lines)
        finished = any(line.get("event") == FINISHED for line in lines)
        findings += [f for line in lines if "bytes" in line for f in _prefix(run, line)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        findings.append(Finding(run.ledger.name, f"a line binds files in a form that is not known ({error})"))
    if finished:
        findings += _files(run, bound)
    return Verification(finished, len(lines), len(bound), chain, tuple(findings))


def require_intact(run: RunFolder) -> None:
    """Raise GateFailed where a finished run is not as its ledger says; an unfinished one has nothing to hold to yet."""
    found = verify(run)
    if found.finished and found.findings:
        raise GateFailed(
            f"the run was changed after it was finished: {found.findings[0]}",
            where=str(run.root),
            hint="askfirst verify says all; choose another --out folder",
        )


def _lines(body: bytes, findings: list[Finding]) -> tuple[list[dict[str, Any]], str]:
    """The lines whose form is right, and the chain of the last; what is wrong is added to the findings."""
    *whole, rest = body.split(b"\n")
    lines: list[dict[str, Any]] = []
    chain = GENESIS
    if rest:
        findings.append(Finding("ledger.jsonl", "the last line has no end"))
    for number, raw in enumerate(whole, start=1):
        where = f"ledger.jsonl:{number}"
        try:
            line = json.loads(raw)
            good = isinstance(line, dict) and canonical(line).encode() == raw
        except (ValueError, RecursionError):
            line, good = None, False
        if not good:
            findings.append(Finding(where, "not a canonical JSON object"))
            continue
        own = {key: value for key, value in line.items() if key != CHAIN}
        if line.get(CHAIN) != link(chain, own):
            findings.append(
                Finding(where, "the chain is broken: this line, or one before it, is not as it was written")
            )
        chain = str(line.get(CHAIN))
        lines.append(line)
    return lines, chain


def _prefix(run: RunFolder, line: Mapping[str, Any]) -> list[Finding]:
    """Whether a file that grows still begins as it was when the line was written."""
    (entry,) = line["files"]
    path = run.root / entry["path"]
    if path != run.reading:
        return [Finding(str(entry["path"]), "is no file that may grow")]
    with contextlib.suppress(OSError):
        if hashlib.sha256(path.read_bytes()[: int(line["bytes"])]).hexdigest() == entry[HASH]:
            return []
    return [Finding(entry["path"], f"its first {line['bytes']} bytes are not as they were entered")]


def _files(run: RunFolder, bound: Mapping[str, str]) -> list[Finding]:
    found, here = [], present(run)
    for name, wanted in bound.items():
        path = here.get(name)
        if path is None:
            found.append(Finding(name, "is missing"))
        elif path.is_symlink() or not path.is_file() or file_hash(path) != wanted:
            found.append(Finding(name, "is not as it was entered"))
    return found + [Finding(name, "was never entered") for name in here if name not in bound]
