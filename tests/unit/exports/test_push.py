"""Adapter, card and report on a hub: a local server that speaks the calls of huggingface_hub."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from askfirst import ledger
from askfirst.errors import InputError, Refusal
from askfirst.store import read_as, read_json, write_json
from askfirst.values import Verdict

TOKEN = "hf_secret"
REPO = "owner/asks"
SHIP = "ship={ ambiguous_pass = { above = 0.5 } }"


class FakeHub(BaseHTTPRequestHandler):
    """Creates repositories and takes commits, for who has the token; keeps what it was sent."""

    server: Any

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(self.path)
        if self.path == "/api/validate-yaml":
            return self.answer(200, {"warnings": []})
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.answer(401, {"error": "Invalid username or password."})
        if self.path == "/api/repos/create":
            self.server.repo = json.loads(body)
            return self.answer(200, {"url": f"{self.server.url}/{REPO}"})
        if self.path == f"/api/models/{REPO}/preupload/main":
            names = [each["path"] for each in json.loads(body)["files"]]
            modes = [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]
            return self.answer(200, {"files": modes})
        for line in body.decode().splitlines():
            each = json.loads(line)
            if each["key"] == "file":
                self.server.files[each["value"]["path"]] = base64.b64decode(each["value"]["content"])
        return self.answer(200, {"commitUrl": f"{self.server.url}/{REPO}/commit/1", "commitOid": "1"})

    def answer(self, status: int, body: Any) -> None:
        sent = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), FakeHub)
    server.url, server.seen, server.files, server.repo = f"http://127.0.0.1:{server.server_port}", [], {}, {}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def run(recorded: Any) -> Any:
    """A finished run that ships, with the files of an adapter in its selected checkpoint."""
    found = recorded(sets=("model.backend='hf'", "model.name='owner/base'", SHIP))
    folder = found.root / read_json(found.selected)["checkpoint"]
    lines = found.ledger.read_text().splitlines()
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (folder / name).write_text(f"{name} of the run")
    found.ledger.write_text("\n".join(lines[:-1]) + "\n")  # finished anew, with these files
    ledger.finish(found)
    return found


def pushing() -> Any:
    pytest.importorskip("huggingface_hub", reason="needs the hf extra")
    from askfirst.cli import leaving

    return leaving


def test_a_run_that_ships_is_pushed_with_its_card(run, hub, capsys):
    leaving = pushing()
    leaving.push(run.root, leaving.pushing.Hub(REPO, TOKEN, True, hub.url), anyway=False, dry_run=False)
    assert set(hub.files) == {"README.md", "adapter_config.json", "adapter_model.safetensors"}
    assert hub.files["adapter_model.safetensors"] == b"adapter_model.safetensors of the run"
    assert hub.files["README.md"] == run.card.read_bytes()
    assert b"model-index" in hub.files["README.md"]
    assert (hub.repo["name"], hub.repo["organization"], hub.repo["visibility"]) == ("asks", "owner", "private")
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == f"pushed    {hub.url}/{REPO}/commit/1"
    assert TOKEN not in out


def test_a_dry_run_says_what_would_be_sent_and_sends_nothing(run, hub, capsys):
    leaving = pushing()
    run.report.write_text("<p>report</p>")
    ledger.written(run, run.report)
    leaving.push(run.root, leaving.pushing.Hub(REPO, TOKEN, False, hub.url), anyway=False, dry_run=True)
    lines = capsys.readouterr().out.splitlines()
    told = {line.split()[1]: int(line.split()[0].replace(",", "")) for line in lines[:-1]}
    assert set(told) == {"README.md", "report.html", "adapter_config.json", "adapter_model.safetensors"}
    assert told["report.html"] == 13
    assert lines[-1] == "dry run   nothing was sent"
    assert hub.seen == []


@pytest.mark.parametrize("how", ["verdict", "ship gate", "unfinished"])
def test_what_may_not_ship_is_refused_unless_anyway(run, hub, how, capsys):
    leaving = pushing()
    if how == "unfinished":
        run.verdict.unlink()
        lines = run.ledger.read_text().splitlines()
        run.ledger.write_text("\n".join(lines[:-1]) + "\n")
    elif how == "ship gate":
        from askfirst.ship import ship

        assert ship(run).decision == "DISCARD"  # there is no self-test report
    else:
        verdict = read_as(Verdict, run.verdict)
        write_json(run.verdict, {**read_json(run.verdict), "decision": "DISCARD"})
        assert verdict.decision == "SHIP"
    wanted = leaving.pushing.Hub(REPO, TOKEN, False, hub.url)
    words = {"unfinished": "not finished", "ship gate": "ship gate says DISCARD", "verdict": "verdict is DISCARD"}
    with pytest.raises(Refusal, match=words[how]):
        leaving.push(run.root, wanted, anyway=False, dry_run=False)
    assert hub.seen == []
    if how == "verdict":
        return  # a verdict that was changed behind the ledger goes nowhere
    leaving.push(run.root, wanted, anyway=True, dry_run=False)
    assert "adapter_model.safetensors" in hub.files
    assert ("README.md" in hub.files) is (how == "ship gate")
    assert "anyway" in capsys.readouterr().out


def test_a_refusal_of_the_hub_is_one_message_without_the_token(run, hub):
    leaving = pushing()
    with pytest.raises(InputError, match="not pushed") as refused:
        leaving.push(run.root, leaving.pushing.Hub(REPO, "hf_other", False, hub.url), anyway=False, dry_run=False)
    assert "hf_other" not in str(refused.value)
    with pytest.raises(InputError, match="not pushed"):
        leaving.push(run.root, leaving.pushing.Hub("no repo", TOKEN, False, hub.url), anyway=False, dry_run=False)
    hub.shutdown()
    hub.server_close()
    with pytest.raises(InputError, match="not pushed"):
        leaving.push(run.root, leaving.pushing.Hub(REPO, TOKEN, False, hub.url), anyway=False, dry_run=False)


def test_front_matter_that_a_hub_cannot_read_is_refused(tmp_path: Path):
    leaving = pushing()
    path = tmp_path / "CARD.md"
    path.write_text("---\nmodel-index: [{name: a, results: [{task: 3}]}]\n---\nwords")
    with pytest.raises(InputError, match="would refuse the card"):
        leaving.pushing.check_card(path)
