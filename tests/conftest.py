"""Settings that hold for every test."""

import os

import hypothesis
import pytest

# The suite runs one worker a core; a thread pool in each would only make them wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples in every run: a red test is red again, and nothing is written beside the tree.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, database=None, max_examples=100)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """The one mark of the suite."""
    config.addinivalue_line("markers", "thorough: takes seconds to minutes; runs with --thorough, as .ci/run does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest first, so that two workers end at the same time; thorough tests when asked for."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)
    if not config.getoption("--thorough"):
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="runs with --thorough, as .ci/run does"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """What makes the suite longer."""
    parser.addoption("--kills", type=int, default=4, help="kills of a tabular run; of nano a fifth, from 50 on")
    parser.addoption("--thorough", action="store_true", help="also the tests that are marked so")
