"""`askfirst demo`: a run in the browser, or as a folder for a Hub Space."""

from __future__ import annotations

from pathlib import Path

from askfirst.demo import space
from askfirst.errors import InputError


def serve(folder: Path, host: str, port: int) -> None:
    """Serve until Ctrl-C. Raises InputError where the extra is not installed."""
    try:
        from askfirst.demo import app
    except ModuleNotFoundError as error:
        raise InputError(
            f"no module {error.name!r}", where="askfirst demo", hint="pip install 'askfirst[demo]'"
        ) from error
    app.launch(folder, host, port)


def export(folder: Path, out: Path) -> None:
    """Write the folder of a Space and say what is in it."""
    for path in space.write(folder, out):
        print(path)
