"""Fixture suites that are sealed: one encrypted file, its key outside of the repository.

AES-256-GCM, from the package cryptography (extra `sign`). The commitment is sha256 over the key and the files, so it
binds both and tells nothing of either. Every file gets a line with the suite's canary before it is encrypted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from askfirst.attestation import keep_secret, require_extra
from askfirst.canary import canary
from askfirst.errors import SplitError, SuiteError
from askfirst.runfolder import RunFolder
from askfirst.store import canonical, read_as, write_json

SUFFIX = ".sealed"


@dataclass(frozen=True, slots=True)
class SealedSuite:
    """A sealed suite as its file has it."""

    version: int
    name: str
    items: int
    commitment: str
    nonce: str
    body: str


def home(places: Path, commitment: str) -> RunFolder:
    """Where a suite's key, the ledger of its openings and what was predicted on it lie."""
    return RunFolder(places / commitment.removeprefix("sha256:"))


def seal(folder: Path, out: Path, places: Path, key: bytes) -> SealedSuite:
    """Encrypt the `.txt` fixtures of a folder into one file with a key of 32 bytes, which is kept below `places`.

    The folder is left as it is: its owner removes it. Raises SuiteError for a folder without fixtures.
    """
    require_extra()
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    texts = {path.name: _text(path) for path in sorted(folder.glob("*.txt"))}
    if not texts:
        raise SuiteError("the folder holds no .txt fixtures", where=str(folder))
    commitment = _commitment(key, texts)
    mark = canary(commitment)
    marked = {name: f"{text.rstrip()}\nCANARY: {mark}\n" for name, text in texts.items()}
    nonce = hashlib.sha256(b"nonce" + commitment.encode()).digest()[:12]  # the key is used for this one message
    body = AESGCM(key).encrypt(nonce, canonical(marked).encode(), commitment.encode())
    suite = SealedSuite(1, folder.name, len(texts), commitment, *(base64.b64encode(b).decode() for b in (nonce, body)))
    keep_secret(home(places, commitment).root / "key", key.hex().encode() + b"\n")
    write_json(out, suite)
    return suite


@contextmanager
def opened(file: Path, places: Path) -> Iterator[tuple[SealedSuite, Path]]:
    """Within this context the fixtures lie in a folder that only this user can read. Whoever calls enters the opening.

    Raises SplitError without the key, or where file and key do not belong together.
    """
    require_extra()
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    suite = read_as(SealedSuite, file)
    path = home(places, suite.commitment).root / "key"
    if not path.is_file():
        raise SplitError("the key of the sealed suite is not here", where=suite.commitment, hint=f"looked for {path}")
    try:
        key = bytes.fromhex(path.read_text("ascii").strip())
        nonce, body = (base64.b64decode(text, validate=True) for text in (suite.nonce, suite.body))
        texts = json.loads(AESGCM(key).decrypt(nonce, body, suite.commitment.encode()))
    except (InvalidTag, ValueError) as error:
        raise SplitError("the sealed suite is not as it was sealed, or this is not its key", where=str(file)) from error
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "suite"
        folder.mkdir()
        for each, text in texts.items():
            (folder / Path(each).name).write_text(text, "utf-8")
        yield suite, folder


def _commitment(key: bytes, texts: dict[str, str]) -> str:
    return "sha256:" + hashlib.sha256(key + canonical(texts).encode()).hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"cannot read the fixture: {error}", where=str(path)) from error
