"""Where a run's variants are trained, as the command line says it."""

from __future__ import annotations

import os

import pytest

from askfirst.cli.running import Where, where_of
from askfirst.cluster import HERE, Place
from askfirst.errors import InputError


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        monkeypatch.setenv(name, "given")  # what is set stays, and nothing is left behind


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ([], Where(1)),
        (["3"], Where(3)),
        (["ray"], Where(8, Place(HERE, 1.0, 0.0))),
        (["ray:cpus=4,gpus=0.5"], Where(2, Place(HERE, 4.0, 0.5))),
        (["ray", "auto"], Where(8, Place("auto"))),
        (["10.0.0.7:6379", "ray:cpus=16"], Where(1, Place("10.0.0.7:6379", 16.0))),
        (["ray://head:10001"], Where(8, Place("ray://head:10001"))),
        (["ray:cpus=0"], Where(1, Place(HERE, 0.0))),
    ],
)
def test_where_it_runs(words: list[str], where: Where) -> None:
    assert where_of(words) == where


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["0"], "at least 1, found 0"),
        (["-2"], "at least 1, found -2"),
        (["slurm"], "'slurm' is no place to run"),
        (["ray", "2"], "for this machine alone"),
        (["ray:memory=3"], "expected cpus=N or gpus=N, found 'memory=3'"),
        (["ray:cpus=-1"], "found 'cpus=-1'"),
        (["ray:cpus=nan"], "found 'cpus=nan'"),
    ],
)
def test_what_is_no_place_is_refused(words: list[str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        where_of(words)
