"""A matrix from its plan to its verdict, and on Ray: the records of a run on this machine, whatever is lost there."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.e2e.test_whole_job import contents

from askfirst.runfolder import RunFolder
from askfirst.slugs import parse
from askfirst.store import content_hash

pytestmark = pytest.mark.thorough
ON_RAY = importlib.util.find_spec("ray") is not None and Path("/proc/self/stat").is_file()
on_ray = pytest.mark.skipif(not ON_RAY, reason="needs the extra ray, and looks for processes in /proc")
ROOT = Path(__file__).parents[2]
PLAN = ROOT / "examples" / "matrix.toml"
EDITS = (
    "train.steps=6", "evaluation.every=2", "evaluation.dev_items=20", "evaluation.sealed_items=40",
    "matrix.rewards=['slots', 'format_only']", "matrix.betas=[0.0, 0.05]", "matrix.group_sizes=[]", "matrix.seeds=[1]",
    "selection.max_false_ask=1.0", "selection.min_informative_fraction=0.0", "decision.effect=0.9",
)  # fmt: skip
SETS = [part for edit in EDITS for part in ("--set", edit)]
VARIANTS = 8
WORK = """
import os, resource, signal, time
from pathlib import Path
from askfirst.errors import GateFailed, Interrupted
from askfirst.events import Event
from askfirst.store import append_line
from askfirst.values import FrozenMap

def speak(item, listen, stop):
    for n in range(50):
        listen(Event("step", item, values=FrozenMap({"n": n})))

def wait(item, listen, stop):
    listen(Event("step", item))
    while not stop():
        time.sleep(0.02)
    raise Interrupted(f"{item} stopped")

def fail(item, listen, stop):
    if item == "bad":
        raise GateFailed("too little", where="bad", hint="more")
    wait(item, listen, stop)

def die(item, listen, stop):
    os.kill(os.getpid(), signal.SIGKILL)

def die_once(item, listen, stop):
    append_line(Path(item), {"try": 1})
    if Path(item).read_text().count("try") == 1:
        os.kill(os.getpid(), signal.SIGKILL)

def fill(item, listen, stop):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))  # as on a disk with no room left
    try:
        append_line(Path(item), "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

def blunder(item, listen, stop):
    raise KeyError(item)
"""
DRIVER = """
import sys
import ray
import work
from askfirst import errors
from askfirst.cluster import Place, spread

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)

def tried(work, items, stop=lambda: False):
    heard = []
    try:
        spread(work, items, Place(), heard.append, stop)
    except errors.AskfirstError as error:
        return error, heard
    return None, heard

error, heard = tried(work.speak, ["a", "b", "c"])
assert error is None, error
for item in "abc":
    assert [e.values["n"] for e in heard if e.name == item] == list(range(50)), item

error, heard = tried(work.fail, ["good", "bad", "never begun"])
assert (type(error), error.message, error.where, error.hint) == (errors.GateFailed, "too little", "bad", "more"), error

heard = []
try:
    spread(work.wait, ["a", "b", "c"], Place(), heard.append, lambda: len(heard) >= 2)
    raise AssertionError("it was not stopped")
except errors.Interrupted:
    pass
assert 2 <= len(heard) <= 3, heard  # the last of what ran before the word to stop came

error, heard = tried(work.die, ["a"])
assert type(error) is errors.BackendFault and "6 workers in a row were lost" in error.message, error
assert [e.kind for e in heard] == ["lost"] * 5, heard

error, heard = tried(work.die_once, [sys.argv[1]])
assert error is None and [e.kind for e in heard] == ["lost"], (error, heard)
assert open(sys.argv[1]).read().count("try") == 2

error, heard = tried(work.fill, [sys.argv[2]])
assert type(error) is errors.StorageFault and "cannot write" in error.message and error.exit_code == 3, error

error, heard = tried(work.blunder, ["k"])
assert type(error) is errors.BackendFault and "KeyError" in error.message, error
print("all held")
"""


@pytest.fixture
def surroundings() -> Iterator[dict[str, str]]:
    """An environment in which Ray keeps its files in a folder of its own; its sockets want a short path."""
    folder = tempfile.mkdtemp(prefix="ray")
    yield {**os.environ, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0"}
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, askfirst: Callable[..., object]) -> Path:
    out = tmp_path_factory.mktemp("matrix") / "local"
    done = askfirst("run", PLAN, "--out", out, "--jobs", "2", *SETS)
    assert done.returncode in (0, 1), done.stderr
    assert (out / "verdict.json").is_file(), done.stderr
    return out


def begin(out: Path, surroundings: dict[str, str], *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "askfirst", "run", str(PLAN), "--out", str(out), "--on", "ray", "--json", *SETS]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*command, *more], cwd=out.parent, env=surroundings, start_new_session=True, **pipes)


def workers(process: int) -> list[int]:
    """The processes below one that are training a variant."""
    parents, found = {}, []
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text()
            title = (entry / "cmdline").read_text()
        except OSError:
            continue
        number = int(stat.partition(" ")[0])
        parents[number] = int(stat.rpartition(")")[2].split()[1])
        if title.startswith("ray::") and "_seed-" in title:
            found.append(number)
    return [number for number in found if process in ancestors(number, parents)]


def ancestors(number: int, parents: dict[int, int]) -> set[int]:
    seen = set()
    while number in parents and number not in seen:
        seen.add(number)
        number = parents[number]
    return seen


def await_workers(driver: subprocess.Popen[str], seconds: float = 90) -> list[int]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and driver.poll() is None:
        if found := workers(driver.pid):
            return found
        time.sleep(0.05)
    return []


def compare(out: Path, local: Path) -> None:
    first, second = contents(local), contents(out)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_the_records_of_a_matrix(local: Path) -> None:
    folders = sorted(folder.name for folder in RunFolder(local).having("run.json"))
    assert len(folders) == VARIANTS
    cells = dict(map(parse, folders))
    assert {(c.reward, c.curriculum, c.beta) for c in cells} == set(
        itertools.product(("slots", "format_only"), ("static", "informative"), (0.0, 0.05))
    )
    for name in folders:
        folder, (cell, _) = local / name, parse(name)
        config = json.loads((folder / "config.json").read_text())
        trained, judged = config["plan"]["reward"]["name"], config["judge"]["name"]
        assert (config["variant"], trained, judged) == (name, cell.reward, "slots")
        assert config["sha256"] == content_hash(config["plan"])
        record = json.loads((folder / "evals" / "dev-00006.json").read_text())
        assert record["reward"].startswith("slots@")
        rollout = json.loads((folder / "last_rollouts.jsonl").read_text().splitlines()[0])
        assert rollout["score"]["reward"].startswith(f"{cell.reward}@")
        assert (folder / "checkpoints/step-00006/curriculum.json").is_file() == (cell.curriculum == "informative")
    summary = json.loads((local / "summary.json").read_text())
    rows = {row["name"]: row for row in summary["matrix"]}
    assert {cell.name for cell in cells} == set(rows)
    assert {name for name, row in rows.items() if row["eligible"]} == {n for n in rows if n.startswith("slots_")}
    chosen = json.loads((local / "selected_checkpoint.json").read_text())
    assert chosen["arm"].startswith("slots_")
    assert chosen["candidates"] == 12
    assert (local / chosen["checkpoint"]).is_dir()
    table = (local / "experiment_table.md").read_text()
    assert f"{chosen['arm'].split('_g-')[0]}_seed-1_g-" in table
    assert "| format_only (control) | informative | 8 | 0.05 |" in table
    page = (local / "report.html").read_text()
    assert all(name in page for name in folders)


@on_ray
def test_workers_killed_at_random_change_nothing(local: Path, tmp_path: Path, surroundings: dict[str, str]) -> None:
    out, instants = tmp_path / "ray", random.Random(3)
    driver = begin(out, surroundings)
    killed = 0
    while killed < 3 and (found := await_workers(driver)):
        time.sleep(instants.uniform(0.2, 1.5))
        still = [number for number in workers(driver.pid) if number in found]
        if still:
            os.kill(instants.choice(still), signal.SIGKILL)
            killed += 1
    said, errors = driver.communicate(timeout=200)
    assert driver.returncode in (0, 1), errors
    # Ray tells of lost workers on the same stream.
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert killed > 0
    assert sum(event["kind"] == "lost" for event in events) >= 1
    finished = Counter(event["name"] for event in events if event["kind"] == "finished")
    assert set(finished.values()) == {1}
    assert len(RunFolder(out).having("run.json")) == VARIANTS
    steps = {event["name"] for event in events if event["kind"] == "step"}
    assert len(steps) == VARIANTS  # progress of every variant came through
    compare(out, local)


@on_ray
def test_a_driver_that_is_killed_goes_on(local: Path, tmp_path: Path, surroundings: dict[str, str]) -> None:
    out = tmp_path / "ray"
    driver = begin(out, surroundings)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(RunFolder(out).having("run.json")) < 2:
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate(timeout=60)
    done = {folder.name: folder.run.stat().st_mtime_ns for folder in RunFolder(out).having("run.json")}
    assert 2 <= len(done) < VARIANTS
    again = begin(out, surroundings, "--resume")
    said, errors = again.communicate(timeout=200)
    assert again.returncode in (0, 1), errors
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert not {event["name"] for event in events if event["kind"] == "step"} & set(done)  # never twice
    assert {name: RunFolder(out).root.joinpath(name, "run.json").stat().st_mtime_ns for name in done} == done
    compare(out, local)


@on_ray
def test_what_a_cluster_promises_beside_that(tmp_path: Path, surroundings: dict[str, str]) -> None:
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "driver.py").write_text(DRIVER)
    path = os.pathsep.join([str(tmp_path), surroundings.get("PYTHONPATH", "")])
    command = [sys.executable, "driver.py", str(tmp_path / "tries.jsonl"), str(tmp_path / "full.jsonl")]
    given = {"cwd": tmp_path, "env": {**surroundings, "PYTHONPATH": path}, "capture_output": True, "text": True}
    done = subprocess.run(command, timeout=200, check=False, **given)
    assert "all held" in done.stdout, done.stdout + done.stderr
