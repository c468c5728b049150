"""The verbs that take the weights of a run elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askfirst.cli.app import app, exports
from askfirst.cli.extras import extra

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder with a selected checkpoint.")]
NewFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")]


@exports.command(name="merged")
def export_merged(run_folder: RunArgument, folder: NewFolder) -> None:
    """Write base and selected adapter as one model that transformers loads."""
    with extra("hf"):
        from askfirst.cli import leaving

        leaving.merged(run_folder, folder)


@exports.command(name="gguf")
def export_gguf(
    run_folder: RunArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, such as model.gguf.")],
    kind: Annotated[str, typer.Option("--type", help="Of the matrices: f32, f16 or q8_0.")] = "f16",
) -> None:
    """Write base and selected adapter as one GGUF file with tokenizer and chat template, for llama.cpp."""
    with extra("hf"):
        from askfirst.cli import leaving

        leaving.gguf(run_folder, file, kind)


@exports.command(name="mlx-adapter")
def export_mlx_adapter(run_folder: RunArgument, folder: NewFolder) -> None:
    """Write the selected adapter in the layout of mlx-lm, for its --adapter-path."""
    with extra("hf"):
        from askfirst.cli import leaving

        leaving.mlx_adapter(run_folder, folder)


@app.command()
def push(
    run_folder: RunArgument,
    repo: Annotated[str, typer.Argument(metavar="REPO", help="OWNER/NAME on the hub.")],
    private: Annotated[bool, typer.Option("--private", help="Where the repository is new.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also what is not finished or may not ship.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which files, and their sizes.")] = False,
) -> None:
    """Upload the selected adapter of a run with its card and report. Exit 1 where the run may not ship.

    The token is HF_TOKEN, or what `hf auth login` keeps; HF_ENDPOINT names another hub.
    """
    with extra("hf"):
        import huggingface_hub

        from askfirst.cli import leaving
        from askfirst.exports.push import Hub

        token = None if dry_run else huggingface_hub.get_token()
        leaving.push(run_folder, Hub(repo, token, private), anyway=anyway, dry_run=dry_run)
