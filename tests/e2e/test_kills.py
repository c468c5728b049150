"""A run that is killed at any instant and resumed ends as one that was left alone."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import random
import time
from pathlib import Path

import pytest
from tests.e2e.test_whole_job import contents

from askfirst import matrix, variants
from askfirst import plan as plans
from askfirst.errors import InputError
from askfirst.runfolder import RunFolder
from askfirst.store import held

EXAMPLES = Path(__file__).parents[2] / "examples"
SERVER = multiprocessing.get_context("forkserver")
WITH_TORCH = importlib.util.find_spec("torch") is not None
# What children need is imported once, so that an attempt costs what it does.
SERVER.set_forkserver_preload(
    ["tests.e2e.test_whole_job", "askfirst.matrix", *["askfirst.backends.hf.policy"] * WITH_TORCH]
)
SMALL = (
    "matrix.seeds=[0]", "train.group_size=4", "train.scenarios_per_step=6", "evaluation.dev_items=20",
    "evaluation.sealed_items=20", "selection.min_informative_fraction=0.0", "selection.max_false_ask=1.0", "gate=[]",
    "env.clear_fraction=[0.3, 0.5]", "decision.effect=0.9", "ship={ ambiguous_pass = { above = 0.0 } }",
)  # fmt: skip


def work(example: str, sets: tuple[str, ...], out: str, jobs: int) -> None:
    """What `askfirst run --resume` does, without the command line. Runs in a process of its own."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        file = EXAMPLES / f"{example}.toml"
        plan = plans.load(file, sets)
        secret = (file.with_suffix(".seed"),)
        folder = RunFolder(Path(out))
        job = variants.Run(plan, folder, file.read_text(), sets, secret, lambda event: None, lambda: False, jobs)
        matrix.run(job)


def attempt(job: tuple[str, tuple[str, ...], int], out: Path, seconds: float | None) -> bool:
    """Let a process work for so long, then kill it; whether it was killed."""
    example, sets, jobs = job
    process = SERVER.Process(target=work, args=(example, sets, str(out), jobs))
    process.start()
    process.join(seconds)
    alive = process.is_alive()
    if alive:
        process.kill()
        process.join()
    else:
        assert process.exitcode == 0
    return alive


def kill_and_compare(example: str, sets: tuple[str, ...], folder: Path, kills: int, jobs: int = 1) -> None:
    whole, job = folder / "whole", (example, sets, jobs)
    attempt((example, sets, 1), whole, None)  # the server starts with the first
    start = time.monotonic()
    attempt(job, folder / "again", None)
    seconds = time.monotonic() - start
    expected, done, run, instants = contents(whole), 0, 0, random.Random(1)
    while done < kills:
        run += 1
        out = folder / f"killed-{run}"
        patience = 0.0
        while attempt(job, out, instants.uniform(0.05, 0.6 + patience) * seconds):
            done += 1
            patience += 0.05  # a slow machine must get to an end
        assert contents(out) == expected, f"run {run} of {done} kills differs"


def test_tabular_survives_kills(tmp_path: Path, kills: int) -> None:
    sets = (*SMALL, "train.steps=6", "evaluation.every=2", "arm=[{ name = 'anchored' }]")
    kill_and_compare("e2e", sets, tmp_path, kills)


def test_side_by_side_survives_kills(tmp_path: Path, kills: int) -> None:
    kill_and_compare("e2e", (*SMALL, "train.steps=6", "evaluation.every=2"), tmp_path, kills // 3, jobs=2)


TAUGHT = ("arm=[{ name = 'sdpo' }]", "train.advantage='sdpo_token'", "teacher.rate=0.3")


def test_an_average_teacher_survives_kills(tmp_path: Path, kills: int) -> None:
    if kills < 50:
        pytest.skip("takes a few seconds; .ci/run has --kills 50")
    sets = (*SMALL, *TAUGHT, "train.steps=6", "evaluation.every=2")
    kill_and_compare("sdpo-judgment-tabular", sets, tmp_path, kills // 3)


@pytest.mark.skipif(not WITH_TORCH, reason="needs the hf extra")
def test_an_average_teacher_of_nano_survives_kills(tmp_path: Path, kills: int) -> None:
    if kills < 50:
        pytest.skip("takes a minute; .ci/run has --kills 50")
    sets = (*SMALL, *TAUGHT, "train.steps=4", "evaluation.every=2", "train.lr=1e-3")
    kill_and_compare("sdpo-judgment-nano", sets, tmp_path, kills // 10)


@pytest.mark.skipif(not WITH_TORCH, reason="needs the hf extra")
def test_nano_survives_kills(tmp_path: Path, kills: int) -> None:
    if kills < 50:
        pytest.skip("takes a minute; .ci/run has --kills 50")
    sets = (*SMALL, "train.steps=4", "evaluation.every=2", "arm=[{ name = 'anchored' }]")
    kill_and_compare("quickstart", sets, tmp_path, kills // 5)


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with held(tmp_path), pytest.raises(InputError, match="another process"), held(tmp_path):
        pass
    with held(tmp_path):
        pass
