"""Every decision method says what it can speak of, and the three-way rule knows those for a paired difference."""

from __future__ import annotations

from typing import get_args

import pytest

from askfirst import plugins
from askfirst.inference.rule import METHODS
from askfirst.values import Target


@pytest.mark.parametrize("name", plugins.names("stats"))
def test_a_method_names_its_targets(name: str) -> None:
    module = plugins.load("stats", name)
    assert module.TARGETS
    assert set(module.TARGETS) <= set(get_args(Target))
    assert module.__doc__


def test_the_rule_knows_methods_by_their_files() -> None:
    for name, (module, _) in METHODS.items():
        assert plugins.load("stats", name) is module
