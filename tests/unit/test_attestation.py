"""A signature holds for one ledger and one key, and no byte of it can be changed."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from askfirst import ledger
from askfirst.errors import InputError
from askfirst.runfolder import RunFolder
from askfirst.store import write_json

pytest.importorskip("cryptography")
from askfirst import attestation


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    ledger.begin(folder.ledger, {"version": 1, "event": "frozen"})
    write_json(folder.verdict, {"decision": "SHIP"})
    ledger.finish(folder)
    return folder


def test_a_signed_run_says_by_whom(run: RunFolder, tmp_path: Path) -> None:
    key = tmp_path / "key"
    public = attestation.new_key(key)
    assert key.stat().st_mode & 0o077 == 0
    name = attestation.sign(run, key)
    assert attestation.check(run, public) == (name, [])
    assert attestation.check(run, None) == (name, [])
    envelope = json.loads(run.attestation.read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicate"]["head"] == ledger.head(run.ledger)
    # https://github.com/secure-systems-lab/dsse/blob/master/protocol.md: length and type, length and body
    assert attestation.encoded(b"hi") == b"DSSEv1 28 application/vnd.in-toto+json 2 hi"
    with pytest.raises(InputError, match="never overwritten"):
        attestation.new_key(key)


def test_the_ledger_may_go_on_but_not_begin_otherwise(run: RunFolder, tmp_path: Path) -> None:
    attestation.new_key(tmp_path / "key")
    attestation.sign(run, tmp_path / "key")
    ledger.append(run.ledger, {"event": "later"})
    assert attestation.check(run, None)[1] == []
    ledger.begin(run.ledger, {"version": 1, "event": "frozen", "by": "somebody else"})
    ledger.finish(run)
    assert [f.where for f in attestation.check(run, None)[1]] == ["ledger.jsonl"]


def test_another_key_is_named(run: RunFolder, tmp_path: Path) -> None:
    attestation.new_key(tmp_path / "key")
    other = attestation.new_key(tmp_path / "other")
    attestation.sign(run, tmp_path / "key")
    assert "not by the key that was given" in attestation.check(run, other)[1][0].what
    with pytest.raises(InputError, match="cannot read the public key"):
        attestation.check(run, run.ledger)


def test_any_byte_of_a_signature_is_held(run: RunFolder, tmp_path: Path) -> None:
    attestation.new_key(tmp_path / "key")
    attestation.sign(run, tmp_path / "key")
    body = run.attestation.read_bytes()
    for place in range(0, len(body), 9):
        run.attestation.write_bytes(body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :])
        assert found_wrong(run), place
    run.attestation.write_bytes(body)
    assert not found_wrong(run)


def found_wrong(run: RunFolder) -> bool:
    try:
        return bool(attestation.check(run, None)[1])
    except InputError:  # no JSON any more
        return True


def test_what_is_changed_or_unfinished_is_not_signed(run: RunFolder, tmp_path: Path) -> None:
    attestation.new_key(tmp_path / "key")
    run.verdict.write_text("{}")
    with pytest.raises(InputError, match="only a finished and intact run"):
        attestation.sign(run, tmp_path / "key")
    assert attestation.check(run, None)[1][0].what.startswith("is missing")
    with pytest.raises(InputError, match="cannot read the key"):
        attestation._private(run.verdict)
