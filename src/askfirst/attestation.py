"""A signature over a run: an in-toto Statement v1 about its ledger, in a DSSE envelope signed with ed25519.

Formats: https://github.com/in-toto/attestation (Statement v1), https://github.com/secure-systems-lab/dsse.
Needs the extra `sign`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import importlib.util
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askfirst import ledger
from askfirst.errors import InputError, StorageFault
from askfirst.runfolder import RunFolder
from askfirst.store import canonical, pretty, read_json, write_bytes, write_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:askfirst:run:v1"


def new_key(path: Path) -> Path:
    """Make an ed25519 key: the private one at `path`, readable by its owner alone, the public one beside it as .pub.

    Returns the path of the public key. Raises InputError where a file is there already.
    """
    require_extra()
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem, public = form.Encoding.PEM, path.with_name(path.name + ".pub")
    keep_secret(path, key.private_bytes(pem, form.PrivateFormat.PKCS8, form.NoEncryption()))
    write_bytes(public, key.public_key().public_bytes(pem, form.PublicFormat.SubjectPublicKeyInfo))
    return public


def keep_secret(path: Path, body: bytes) -> None:
    """Write a file that only its owner can read. Raises InputError where there is one, StorageFault for a full disk."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise InputError("there is a file already; a key is never overwritten", where=str(path)) from error
    except OSError as error:
        raise StorageFault(f"cannot write: {error.strerror or error}", where=str(path)) from error


def sign(run: RunFolder, key_file: Path) -> str:
    """Write attestation.json of a finished and intact run; returns the public key, in hex."""
    require_extra()
    found = ledger.verify(run)
    if not found.intact:
        what = found.findings[0] if found.findings else "it is not finished"
        raise InputError(f"only a finished and intact run is signed: {what}", where=str(run.root))
    key = _private(key_file)
    verdict = read_json(run.verdict)
    body = run.ledger.read_bytes()
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": run.ledger.name, "digest": {"sha256": hashlib.sha256(body).hexdigest()}}],
        "predicateType": PREDICATE,
        "predicate": {"head": found.head, "bytes": len(body), "decision": verdict.get("decision")},
    }
    payload = canonical(statement).encode()
    name = str(key.public_key().public_bytes_raw().hex())
    signature = {"keyid": name, "sig": _text(key.sign(encoded(payload)))}
    write_json(run.attestation, {"payload": _text(payload), "payloadType": PAYLOAD, "signatures": [signature]})
    return name


def encoded(payload: bytes) -> bytes:
    """What DSSE signs: its pre-authentication encoding of type and payload."""
    kind = PAYLOAD.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def check(run: RunFolder, key_file: Path | None) -> tuple[str | None, list[ledger.Finding]]:
    """The public key that signed a run, in hex, and what is wrong with the signature.

    A ledger may have gone on since: what was signed is its beginning. Without `key_file` the key is the one that the
    signature names, which says that one and the same key signed all of it, not whose key it is.
    """
    require_extra()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    def wrong(what: str) -> tuple[None, list[ledger.Finding]]:
        return None, [ledger.Finding(run.attestation.name, what)]

    if not run.attestation.is_file():
        return wrong("is missing: the run is not signed")
    envelope = read_json(run.attestation)
    try:
        (signature,) = envelope["signatures"]
        payload, sig = _bytes(envelope["payload"]), _bytes(signature["sig"])
        name = str(signature["keyid"])
        rewritten = {"payload": _text(payload), "payloadType": PAYLOAD}
        whole = {**rewritten, "signatures": [{"keyid": name, "sig": _text(sig)}]}
        statement = json.loads(payload)
        predicate, subject = statement["predicate"], statement["subject"][0]["digest"]["sha256"]
        size, key = int(predicate["bytes"]), Ed25519PublicKey.from_public_bytes(bytes.fromhex(name))
        key.verify(sig, encoded(payload))
    except (KeyError, IndexError, TypeError, ValueError, binascii.Error):
        return wrong("is not an envelope of a signature over a run")
    except InvalidSignature:
        return wrong("the signature does not hold")
    if run.attestation.read_bytes() != pretty(whole).encode():
        return wrong("is not written as it was")
    findings = []
    if key_file is not None and _public(key_file) != name:
        findings.append(ledger.Finding(run.attestation.name, f"is signed by {name}, not by the key that was given"))
    if hashlib.sha256(run.ledger.read_bytes()[:size]).hexdigest() != subject:
        findings.append(ledger.Finding(run.ledger.name, "does not begin as the ledger that was signed"))
    return name, findings


def _private(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key: Any = None
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"cannot read the key: {error}", where=str(path), hint="--new-key makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("expected an ed25519 key", where=str(path))
    return key


def _public(path: Path) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key: Any = None
    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the public key: {error}", where=str(path)) from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError("expected an ed25519 key", where=str(path))
    return str(key.public_bytes_raw().hex())


def _text(body: bytes) -> str:
    return base64.b64encode(body).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def require_extra() -> None:
    """Raise InputError where the package cryptography is not installed."""
    if importlib.util.find_spec("cryptography") is None:
        raise InputError("this needs the package cryptography", hint="pip install 'askfirst[sign]'")
