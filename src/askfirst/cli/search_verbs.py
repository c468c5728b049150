"""The verb that tries settings of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askfirst.cli.app import PLACES, Json, PlanFile, Set, app
from askfirst.cli.extras import extra


@app.command()
def search(
    plan: PlanFile,
    trials: Annotated[int, typer.Option(min=1, help="How many settings, those of an earlier call included.")] = 10,
    out: Annotated[Path | None, typer.Option(help="Folder; by default searches/<name of the plan file>.")] = None,
    sets: Set = None,
    where: Annotated[
        list[str] | None, typer.Option("--jobs", "--on", "--address", metavar="N|ray|ADDRESS", help=PLACES)
    ] = None,
    as_json: Json = False,
) -> None:
    """Try settings within the plan's [[search.range]]s, on dev alone, and write the best as a plan to freeze.

    Every trial is a run of its own; the sealed split stays shut. The same command goes on with a search that was
    stopped. Exit 1 where no trial had a checkpoint to select. Needs the extra `search`.
    """
    from askfirst.cli import running

    target, chosen = out or Path("searches") / plan.stem, running.where_of(where or ())
    with extra("search"):
        from askfirst.cli import searching
    searching.search(plan, target, tuple(sets or ()), trials, chosen, as_json=as_json)
