"""What a verb needs beside the package itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from askfirst.errors import InputError


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Within this context a package that is not installed is an error of the input, which names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).startswith("askfirst"):
            raise
        raise InputError(
            f"this needs the package {error.name}, which is not installed", hint=f"pip install 'askfirst[{name}]'"
        ) from error
