"""The verbs that show what the records of runs hold. They start nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askfirst.cli.app import Json, app, exports

__all__ = ["app"]


@app.command()
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write each plot as an SVG file.")] = None,
) -> None:
    """Write report.html of a run folder from its records."""
    from askfirst.cli import showing

    showing.report(run_folder, figures)


@app.command()
def card(run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run folder.")]) -> None:
    """Write CARD.md, the model card of a finished run, from its records."""
    from askfirst.cli import showing

    showing.card(run_folder)


@app.command()
def compare(
    run_folders: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Run folders; the first is the base.")],
    split: Annotated[str, typer.Option(help="sealed, or dev, on which checkpoints were selected.")] = "sealed",
    as_json: Json = False,
) -> None:
    """Compare runs on the same items by the rules of their plan. Exit 1 where a rule does not hold."""
    from askfirst.cli import showing

    showing.compare(run_folders, split, as_json=as_json)


@exports.command(name="inspect")
def export_inspect(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the logs.")],
) -> None:
    """Write every evaluation of a run as a log that `inspect view` opens: one an arm, checkpoint and split."""
    from askfirst.cli import exporting

    exporting.inspect_logs(run_folder, out)
