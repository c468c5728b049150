"""Settings that hold for every test."""

import os

import hypothesis
import pytest

# The suite runs one worker a core; a thread pool in each would only make them wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples in every run: a red test is red again, and nothing is written beside the tree.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, database=None, max_examples=100)
hypothesis.settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest first, so that two workers end at the same time."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kills N`: how often a run is killed and resumed."""
    parser.addoption("--kills", type=int, default=10, help="kills of a tabular run; of nano a fifth, from 50 on")
