"""Commands bound what oneDNN keeps, unless somebody has said how much."""

from __future__ import annotations

import os

import pytest
from typer.testing import CliRunner

from askfirst.cli.app import app
from askfirst.cli.kernels import KERNELS


@pytest.mark.parametrize("given", [{}, {"LRU_CACHE_CAPACITY": "7"}])
def test_every_command_bounds_them(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KERNELS:
        monkeypatch.setenv(name, "")  # put back afterwards
        monkeypatch.delenv(name)
    for name, most in given.items():
        monkeypatch.setenv(name, most)
    assert CliRunner().invoke(app, ["models", "list"]).exit_code == 0
    assert {name: os.environ[name] for name in KERNELS} == {**KERNELS, **given}
