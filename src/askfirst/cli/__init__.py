"""The command line: verbs, and the one place where an error becomes a message and an exit code."""

from __future__ import annotations

import sys

from askfirst.cli import data_verbs, leaving_verbs, live_verbs, search_verbs, tinker_verbs
from askfirst.cli.app import app
from askfirst.cli.options import taken
from askfirst.errors import AskfirstError, Interrupted

STOPPED = Interrupted.exit_code
# A module adds its verbs to `app` when it is imported.
VERBS = (app, data_verbs, leaving_verbs, live_verbs, search_verbs, tinker_verbs)


def main() -> None:
    """Run a verb. Exit codes: 0 yes · 1 an honest no · 2 your input · 3 our fault · 130 stopped by Ctrl-C."""
    debug = "--debug" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    try:
        app(args=taken(arguments), standalone_mode=True, prog_name="askfirst")
    except AskfirstError as error:
        if debug:
            raise
        fail(str(error), error.exit_code)
    except SystemExit as end:  # typer makes one of Ctrl-C, without a word
        if end.code != STOPPED:
            raise
        fail("stopped by Ctrl-C; files already written are whole", STOPPED)
    except Exception as error:
        if debug:
            raise
        fail(f"{type(error).__name__}: {error}\n  → this is a fault of askfirst; --debug shows where", 3)


def fail(message: str, code: int) -> None:
    """Print one message to standard error and exit."""
    word = {1: "no", 2: "input", 3: "fault", 130: "stopped"}.get(code, "error")
    print(f"{word:<9} {message}", file=sys.stderr)
    raise SystemExit(code)
