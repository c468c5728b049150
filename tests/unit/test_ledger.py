"""A finished run is bound by its ledger: every edit is found, and an honest going-on is not called one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askfirst import ledger
from askfirst.cli.proving import verify
from askfirst.errors import GateFailed, InputError
from askfirst.reading import Grade as Score
from askfirst.reading import Read, add_mark
from askfirst.runfolder import RunFolder
from askfirst.store import write_json, write_lines


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    ledger.begin(folder.ledger, {"version": 1, "event": "frozen", "plan_sha256": "0"})
    write_json(folder.verdict, {"decision": "SHIP"})
    write_lines(folder.variant("a", 0).metrics, [{"step": 1, "seconds": 0.5}])
    ledger.finish(folder)
    folder.report.write_text("<p>page</p>")
    ledger.written(folder, folder.report)
    return folder


def where(run: RunFolder) -> list[str]:
    return [finding.where for finding in ledger.verify(run).findings]


def test_a_run_that_was_left_alone_is_intact(run: RunFolder) -> None:
    found = ledger.verify(run)
    assert (found.intact, found.lines, found.files) == (True, 3, 3)
    ledger.finish(run)
    ledger.written(run, run.report)
    assert ledger.verify(run) == found  # what is bound is not bound again
    ledger.require_intact(run)


def test_an_edit_of_any_byte_of_any_file_is_found(run: RunFolder) -> None:
    files = [path for path in sorted(run.root.rglob("*")) if path.is_file()]
    assert len(files) == 4
    for path in files:
        body = path.read_bytes()
        for place in range(0, len(body), 13):
            path.write_bytes(body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :])
            assert not ledger.verify(run).intact, (path.name, place)
        for other in (body + b" ", body + b"\n", body[:-1], body[1:]):
            path.write_bytes(other)
            assert not ledger.verify(run).intact, (path.name, other[-5:])
        path.write_bytes(body)
    assert ledger.verify(run).intact


def test_what_is_missing_added_or_linked_is_named(run: RunFolder) -> None:
    body = run.verdict.read_bytes()
    run.verdict.unlink()
    assert where(run) == ["verdict.json"]
    with pytest.raises(GateFailed, match="verdict"):
        ledger.require_intact(run)
    outside = run.root.parent / "elsewhere"
    outside.write_bytes(body)
    run.verdict.symlink_to(outside)
    assert where(run) == ["verdict.json"]
    run.verdict.unlink()
    run.verdict.write_bytes(body)
    (run.root / "notes.txt").write_text("x")
    assert where(run) == ["notes.txt"]


def test_lines_cannot_be_dropped_swapped_or_made_up(run: RunFolder) -> None:
    lines = run.ledger.read_bytes().splitlines(keepends=True)
    for other in (lines[1:], [lines[0], lines[2], lines[1]], [*lines, lines[0]], [*lines[:2], b"[]\n", lines[2]]):
        run.ledger.write_bytes(b"".join(other))
        assert any(name.startswith("ledger.jsonl:") for name in where(run))
    run.ledger.write_bytes(b"".join(lines[:2]))
    assert where(run) == ["report.html"]  # its line is gone: it was never entered
    run.ledger.write_bytes(lines[0])
    assert not ledger.verify(run).finished


def test_a_cut_that_leaves_no_trace_is_found_by_who_kept_the_head(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    head = ledger.verify(run).head
    lines = run.ledger.read_bytes().splitlines(keepends=True)
    run.ledger.write_bytes(b"".join(lines[:2]))
    run.report.unlink()
    verify(run.root, None, None, as_json=False)  # a limit, and it is said
    assert "not seen  a ledger and files that were both cut back" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="1"):
        verify(run.root, head[:12], None, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["intact"], found["findings"][0]["where"]) == (False, "ledger.jsonl")


def test_marks_of_readers_grow_and_their_past_is_held(run: RunFolder) -> None:
    score = Score(1.0, {"pass": 1.0}, True, (), "r")
    rollout = Read("s", "f", "ambiguous", 1, 0, "request", "reply", (), "end", score, "a/seed-0")
    for mark in ("good", "hack"):
        add_mark(run, rollout, mark, "", "me")
        assert ledger.verify(run).intact
    marks = run.reading.read_text()
    run.reading.write_text(marks.replace("good", "hack", 1))
    add_mark(run, rollout, "hack", "", "me")  # what is written now is bound, what was changed before stays found
    assert "reading.jsonl" in where(run)


def test_an_unfinished_run_has_nothing_to_hold_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(InputError, match="cannot read the ledger"):
        ledger.verify(folder)
    ledger.begin(folder.ledger, {"event": "frozen"})
    ledger.require_intact(folder)
    with pytest.raises(SystemExit, match="1"):
        verify(tmp_path, None, None, as_json=False)
    assert "unfinished" in capsys.readouterr().out


@pytest.mark.parametrize("files", [1, [1], [{"path": "x"}], [{"path": 1, "file_sha256": "x"}]])
def test_a_line_of_another_form_is_a_finding(run: RunFolder, files: object) -> None:
    ledger.append(run.ledger, {"event": "written", "files": files})
    assert not ledger.verify(run).intact
