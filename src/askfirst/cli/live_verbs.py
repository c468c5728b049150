"""The verbs that show a run while it lives, and the model that came out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askfirst.cli.app import Json
from askfirst.cli.record_verbs import app

__all__ = ["app"]
Port = Annotated[int | None, typer.Option("--serve", min=0, max=65535, metavar="PORT", help="0 takes a free port.")]


@app.command()
def watch(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, finished or not.")],
    once: Annotated[bool, typer.Option("--once", help="Print one frame and end.")] = False,
    port: Port = None,
    as_json: Json = False,
) -> None:
    """Watch a run: phase, time left, curves, gates, warnings. Reads its records only and ends when the run does.

    --serve shows the same in the browser, to this machine only, until Ctrl-C.
    """
    from askfirst.cli import watching

    if port is not None:
        watching.serve(run_folder, port)
    else:
        watching.watch(run_folder, once=once, as_json=as_json)


@app.command()
def demo(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7860,
    host: Annotated[str, typer.Option(help="By default this machine only; 0.0.0.0 for all.")] = "127.0.0.1",
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a folder for a Hub Space instead, and serve nothing.")
    ] = None,
) -> None:
    """Show a run in the browser: results, replay, live chat with the model before and after, environment.

    Needs the extra `demo`.
    """
    from askfirst.cli import exhibiting

    if export is not None:
        exhibiting.export(run_folder, export)
    else:
        exhibiting.serve(run_folder, host, port)
