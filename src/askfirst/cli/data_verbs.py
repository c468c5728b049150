"""The verbs that make training data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askfirst.cli.app import Json
from askfirst.cli.record_verbs import app

__all__ = ["app"]
SETTINGS = (
    "env (judgment), seed (0), attempts (3) at a request, temperature (0.7), max_tokens (96), and of an endpoint "
    "endpoint.key_from (VARIABLE that holds its key), .thinking_tokens (0), .concurrency (8), .timeout_seconds (120)."
)


@app.command()
def generate(
    out: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="File to write.")],
    model: Annotated[str, typer.Option(help="The teacher: a model as in `eval`, or a name that an endpoint knows.")],
    endpoint: Annotated[str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Requests to draw from the templates.")] = 400,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=SETTINGS)] = None,
    as_json: Json = False,
) -> None:
    """Put training requests into a teacher's words. What does not keep slots and values is rejected, and counted.

    A plan draws its train split from the file by [env] generated = "FILE.jsonl", and audits it before training.
    """
    from askfirst.cli import generating

    generating.generate(out, model, endpoint, count, generating.settings(sets or []), as_json=as_json)
