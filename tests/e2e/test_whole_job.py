"""The whole job on the tabular policy: from a plan to a verdict, twice the same, resumable, and honest."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askfirst.monitors import MONITORS
from askfirst.report.page import write_report
from askfirst.store import TIME_FIELDS

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PLAN = Path(__file__).parents[2] / "examples" / "e2e.toml"
EXPECTED = {
    "plan.toml", "plan.lock.json", "ledger.jsonl", "gates.json", "selftest.json", "selected_checkpoint.json",
    "verdict.json", "summary.json", "experiment_table.md", "report.html",
}  # fmt: skip
# A run that is soon over, but not before it can be stopped. So few sealed items could only show a large effect.
EDITS = (
    "train.steps=20", "evaluation.every=10", "evaluation.dev_items=40", "evaluation.sealed_items=40",
    "selection.max_false_ask=1.0", "decision.effect=0.9",
)  # fmt: skip
SHORT = [part for edit in EDITS for part in ("--set", edit)]


def timeless(value: Any) -> Any:
    """A record without its declared time fields."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in TIME_FIELDS}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def contents(folder: Path) -> dict[str, Any]:
    """Every file of a run: bytes, or records without their time fields."""
    found: dict[str, Any] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".json":
            found[name] = timeless(json.loads(path.read_text()))
        elif path.suffix == ".jsonl":
            found[name] = [timeless(json.loads(line)) for line in path.read_text().splitlines()]
        else:
            found[name] = path.read_bytes()
    return found


@pytest.fixture(scope="module")
def finished(askfirst: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "e2e"
    result = askfirst("run", PLAN, "--out", out)
    assert result.returncode == 0, result.stdout + result.stderr
    for verb in ("plan", "gates", "train", "select", "sealed", "verdict", "look"):
        assert any(line.startswith(verb) for line in result.stdout.splitlines()), verb
    assert result.stdout.count("tokens/s") == 2  # a variant each
    return out


def test_every_record_is_there(finished: Path) -> None:
    assert {p.name for p in finished.iterdir() if p.is_file()} >= EXPECTED
    for arm in ("anchored", "free"):
        for seed in (0,):
            folder = finished / arm / f"seed-{seed}"
            assert len((folder / "metrics.jsonl").read_text().splitlines()) == 60
            assert (folder / "last_rollouts.jsonl").is_file()
            assert len(json.loads((folder / "checkpoint_manifest.json").read_text())["entries"]) == 6


def test_it_learns_to_ask_and_keeps_acting(finished: Path) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    before, after = summary["sealed"]["base"], summary["sealed"]["selected"]
    assert before["ambiguous_pass"] <= 0.3
    assert after["ambiguous_pass"] >= 0.5
    assert after["false_ask"] <= after["ambiguous_ask"] / 3


def test_rollouts_carry_ids_logprobs_and_terms(finished: Path) -> None:
    line = json.loads((finished / "anchored/seed-0/last_rollouts.jsonl").read_text().splitlines()[0])
    assert len(line["token_ids"]) == len(line["sampler_logprobs"]) > 0
    assert sum(line["score"]["terms"].values()) == pytest.approx(line["score"]["total"])


def test_every_batch_holds_the_declared_share_of_clear_requests(finished: Path) -> None:
    for text in (finished / "anchored/seed-0/metrics.jsonl").read_text().splitlines():
        strata = json.loads(text)["strata"]
        clear, unclear = strata["all_clear"]["rollouts"], strata["all_ambiguous"]["rollouts"]
        assert 0.3 <= clear / (clear + unclear) <= 0.4


def test_the_monitors_measure_and_leave_an_honest_run_alone(finished: Path) -> None:
    for arm, kl_is_measured in (("anchored", True), ("free", False)):
        folder = finished / arm / "seed-0"
        lines = [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]
        entries = json.loads((folder / "checkpoint_manifest.json").read_text())["entries"]
        assert [record["alarms"] for record in (*lines, *entries) if record["alarms"]] == []
        measured = {name for r in (*lines, *entries) for name, value in r["monitors"].items() if value is not None}
        assert measured == set(MONITORS) - ({"kl_drift"} if not kl_is_measured else set())
        assert all(e["probes"]["probed"] > 0 == e["probes"]["findings"] and e["probes"]["upper"] < 0.2 for e in entries)
        assert entries[0]["proxy_gap"] == pytest.approx(
            sum(line["reward"] for line in lines[:10]) / 10 - entries[0]["dev"]["strict_pass"]
        )
    page = (finished / "report.html").read_text()
    for words in ("No monitor was outside its bounds", "not measured", "Dev was looked at 12 times", "reward − pass"):
        assert words in page


def test_a_second_run_is_byte_identical_but_for_time(askfirst: Run, finished: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert askfirst("run", PLAN, "--out", again, "--jobs", "2").returncode == 0  # the first had one job
    first, second = contents(finished), contents(again)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_the_sealed_split_was_opened_once_and_a_finished_run_does_not_open_it_again(
    askfirst: Run, finished: Path
) -> None:
    before = contents(finished)
    result = askfirst("run", PLAN, "--out", finished)
    assert result.returncode == 0
    assert "SHIP" in result.stdout
    assert contents(finished) == before
    openings = [line for line in before["ledger.jsonl"] if line["event"] == "sealed_opened"]
    assert [line["number"] for line in openings] == [1]


@pytest.fixture(scope="module")
def short(askfirst: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "short"
    assert askfirst("run", PLAN, "--out", out, *SHORT).returncode in (0, 1)
    assert (out / "verdict.json").is_file()
    return out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_and_resumed_equals_uninterrupted(askfirst: Run, short: Path, tmp_path: Path, jobs: str) -> None:
    out = tmp_path / "stopped"
    command = [sys.executable, "-m", "askfirst", "run", str(PLAN), "--out", str(out), "--jobs", jobs, *SHORT]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **pipes)
    metrics = out / "anchored/seed-0/metrics.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (metrics.is_file() and metrics.read_text().count("\n") >= 3):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that belong to the command
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    refused = askfirst("run", PLAN, "--out", out, *SHORT)
    assert refused.returncode == 2
    assert "unfinished" in refused.stderr
    assert askfirst("run", PLAN, "--out", out, "--resume", *SHORT).returncode in (0, 1)
    first, second = contents(short), contents(out)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_the_report_stands_alone_and_says_what_happened(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    for words in (
        "SHIP",
        "opened once",
        "read by a person: <b>0 of ",
        "Read these",
        "anchored/seed-0",
        "<svg",
        "slots (oracle)",
    ):
        assert words in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "src=" not in page
    assert "Measures of the environment" not in page


def test_the_report_shows_the_measures_of_an_environment(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "measured"
    shutil.copytree(finished, run, ignore=shutil.ignore_patterns("checkpoints"))
    record = json.loads((run / "base" / "dev.json").read_text())
    whole = {"name": "ask_f1", "group": "", "value": 0.5, "lower": 0.25, "upper": 0.75, "items": 8, "clusters": 4}
    part = {**whole, "group": "state=full", "value": 1.0, "lower": None, "upper": None}
    (run / "base" / "dev.json").write_text(json.dumps({**record, "measures": [whole, part]}))
    page = write_report(run).read_text()
    for words in ("Measures of the environment", "before training, dev", "ask f1", "0.50 [0.25, 0.75]", "state: full"):
        assert words in page


def test_a_changed_plan_does_not_mix_with_an_old_folder(askfirst: Run, finished: Path) -> None:
    result = askfirst("run", PLAN, "--out", finished, "--set", "train.lr=0.02")
    assert result.returncode == 2
    assert "another plan" in result.stderr


WATCHED = "monitor=[{{ name = 'proxy_gap', max = -1.0, action = '{}' }}, {{ name = 'gibberish', action = 'off' }}]"


def test_json_for_programs_and_a_monitor_that_stops_the_run(askfirst: Run, tmp_path: Path) -> None:
    sets = ("train.steps=2", "evaluation.every=2", WATCHED.format("stop"))
    result = askfirst("run", PLAN, "--out", tmp_path / "r", "--json", *(a for s in sets for a in ("--set", s)))
    assert result.returncode == 1
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert {"gates", "step", "evaluated", "watch", "warning"} <= {e["kind"] for e in events}
    assert "stopped by a monitor at step 2: proxy_gap" in result.stderr
    assert "Traceback" not in result.stderr
    page = (tmp_path / "r" / "report.html").read_text()
    for words in ("1 warning<", "stops the run", "Switched off by the plan: gibberish"):
        assert words in page
    deviate_from(askfirst, tmp_path / "r", sets)


def deviate_from(askfirst: Run, out: Path, sets: tuple[str, ...]) -> None:
    """A frozen run goes on with another plan when the reason is put on record, but not with easier rules."""

    def call(*verb: str, edits: tuple[str, ...] = ("train.lr=0.02",)) -> subprocess.CompletedProcess[str]:
        edited = [a for s in (*sets, *edits) for a in ("--set", s)]
        return askfirst(verb[0], PLAN, "--out", out, *verb[1:], *edited)

    refused = call("run", "--resume")
    assert (refused.returncode, "plan.train.lr differ" in refused.stderr) == (2, True), refused.stderr
    eased = call("deviate", "--why", "it stops", edits=(WATCHED.format("warn"),))
    assert (eased.returncode, "promised" in eased.stderr) == (1, True), eased.stderr
    assert "deviation" not in (out / "ledger.jsonl").read_text()
    allowed = call("deviate", "--why", "the step was too small")
    assert "changed   plan.train.lr: 0.01 → 0.02" in allowed.stdout, allowed.stderr
    assert call("deviate", "--why", "again").returncode == 2  # nothing differs any more
    assert "stopped by a monitor" in call("run", "--resume").stderr  # it goes on, under the rules of before
    line = json.loads((out / "ledger.jsonl").read_text().splitlines()[-1])
    assert (line["event"], line["why"]) == ("deviation", "the step was too small")
    assert line["changes"] == [{"what": "plan.train.lr", "before": 0.01, "after": 0.02}]
    page = (out / "report.html").read_text()
    for words in ("1 deviation from the frozen plan", "plan.train.lr: 0.01 → 0.02"):
        assert words in page


def test_where_nothing_may_be_selected_the_answer_is_no_and_the_sealed_split_stays_shut(
    askfirst: Run, tmp_path: Path
) -> None:
    out = tmp_path / "r"
    sets = ("train.steps=2", "evaluation.every=2", "selection.min_informative_fraction=1.0", WATCHED.format("warn"))
    sets += ("warmstart={ steps = 2, batch = 4 }",)  # a warm start goes through the same line
    result = askfirst("run", PLAN, "--out", out, *(a for s in sets for a in ("--set", s)))
    assert result.returncode == 1, result.stderr
    assert "\nwarn      anchored/seed-0  step 2: proxy_gap" in result.stdout
    assert result.stdout.startswith("watch     gibberish off · proxy_gap max -1\n")
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["decision"] == "DISCARD"
    assert "informative fraction" in verdict["reason"]
    assert "sealed_opened" not in (out / "ledger.jsonl").read_text()
    assert "DISCARD" in (out / "report.html").read_text()
    assert "dev       warmstart" in result.stdout


def test_arms_are_compared_on_the_sealed_items(askfirst: Run, tmp_path: Path) -> None:
    rule = "ship.strict_pass={ superior_to = 'free', margin = 0.03 }"
    out = tmp_path / "arms"
    result = askfirst("run", PLAN, "--out", out, *SHORT, "--set", "decision.baseline=free", "--set", rule)
    assert result.returncode in (0, 1), result.stderr
    chosen = json.loads((out / "baseline_checkpoint.json").read_text())
    assert chosen["arm"] == "free"
    mine, other, base = (
        json.loads((out / who / "sealed.json").read_text()) for who in ("selected", "baseline", "base")
    )
    passed = [[item["passed"] for item in record["items"]] for record in (mine, other)]
    better = sum(new and not old for new, old in zip(*passed, strict=True))
    worse = sum(old and not new for new, old in zip(*passed, strict=True))
    rules = {each["metric"]: each for each in json.loads((out / "verdict.json").read_text())["rules"]}
    assert f"{better} better, {worse} worse" in rules["strict_pass"]["reason"]
    assert other["checkpoint"].startswith("free/seed-0@")
    assert base["checkpoint"] == "base"
    assert f"{other['checkpoint']} → {mine['checkpoint']}" in result.stdout
