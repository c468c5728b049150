"""The verb that serves the Tinker API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askfirst.cli.app import servers
from askfirst.cli.record_verbs import app

__all__ = ["app"]


@servers.command(name="tinker")
def serve_tinker(
    model: Annotated[str, typer.Option(help="nano, smollm2-135m, a folder or a hub id.")] = "nano",
    aliases: Annotated[
        list[str] | None, typer.Option("--as", metavar="NAME", help="A further name for the model; may be repeated.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8500,
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where checkpoints are kept.")] = Path("tinker"),
    sessions: Annotated[int, typer.Option(min=1, help="Sessions that may be open at once.")] = 64,
    idle_seconds: Annotated[float, typer.Option(min=1, help="A session that is silent for longer ends.")] = 600.0,
) -> None:
    """Serve the Tinker API on this machine: adapters trained on one model. Needs the extras `hf` and `tinker`."""
    from askfirst.cli import serving

    serving.serve_tinker(model, aliases or [], serving.Place("127.0.0.1", port), folder,
                         serving.Bounds(sessions, idle_seconds))  # fmt: skip
