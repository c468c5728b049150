"""What is not installed is said by the name of its extra."""

import importlib

import pytest

from askfirst.cli.extras import extra
from askfirst.errors import InputError


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(InputError, match="no_such_package_here") as told, extra("search"):
        importlib.import_module("no_such_package_here")
    assert "askfirst[search]" in str(told.value)


def test_a_module_of_our_own_that_is_missing_is_our_fault() -> None:
    with pytest.raises(ModuleNotFoundError), extra("search"):
        raise ModuleNotFoundError("no", name="askfirst.nowhere")
