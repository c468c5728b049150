"""The selected adapter of a run, its card and its report, to a model hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import HfHubHTTPError

from askfirst.backends.hf.lora import CONFIG_FILE, WEIGHTS_FILE
from askfirst.errors import InputError, Refusal
from askfirst.exports import weights
from askfirst.runfolder import RunFolder
from askfirst.ship import ShipRecord
from askfirst.store import read_as
from askfirst.values import Verdict

CARD = "README.md"  # where a hub looks for the card


@dataclass(frozen=True, slots=True)
class Hub:
    """A repository on a hub. `endpoint` None is the library's own; `private` counts where it is new."""

    repo: str
    token: str | None
    private: bool = False
    endpoint: str | None = None


def why_not(run: RunFolder) -> str:
    """Why a run is nothing to publish; empty where its verdict is SHIP and no ship gate said otherwise."""
    if not run.verdict.is_file():
        return "the run is not finished"
    if run.ship.is_file() and (decision := read_as(ShipRecord, run.ship).decision) != "SHIP":
        return f"the ship gate says {decision}"
    decision = read_as(Verdict, run.verdict).decision
    return "" if decision == "SHIP" else f"the verdict is {decision}"


def require_good(run: RunFolder) -> None:
    """Raise Refusal for a run that is not finished or may not ship."""
    if reason := why_not(run):
        raise Refusal(
            reason, where=str(run.root), hint="--anyway publishes it all the same; a card says what the verdict was"
        )


def contents(run: RunFolder) -> dict[str, Path]:
    """Path in the repository → file: the adapter, and card and report where they are written.

    Raises InputError for a run without a selected adapter, GateFailed for one that was changed since.
    """
    adapter = weights.chosen(run).folder
    files = {name: adapter / name for name in (CONFIG_FILE, WEIGHTS_FILE)}
    files |= {name: path for name, path in ((CARD, run.card), (run.report.name, run.report)) if path.is_file()}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise InputError("the selected adapter is not whole", where=missing[0])
    return files


def check_card(path: Path) -> None:
    """Raise InputError unless the hub's library reads the front matter of a card."""
    try:
        huggingface_hub.ModelCard.load(path, ignore_metadata_errors=False)
    except ValueError as error:
        raise InputError(f"the hub would refuse the card: {error}", where=str(path)) from error


def push(files: Mapping[str, Path], hub: Hub) -> str:
    """Upload files as one commit, into a repository that is made where there is none; the address of the commit.

    Raises InputError with the hub's own words where it refuses or does not answer.
    """
    api = huggingface_hub.HfApi(endpoint=hub.endpoint, token=hub.token or False)
    operations = [huggingface_hub.CommitOperationAdd(name, path) for name, path in files.items()]
    try:
        api.create_repo(hub.repo, private=hub.private, exist_ok=True)
        found = api.create_commit(hub.repo, operations, commit_message="askfirst: adapter, card and report")
    except (*HfHubHTTPError.__bases__, ValueError) as error:  # whatever HTTP client the library was built on
        words = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(
            f"not pushed: {words}", where=hub.repo, hint="HF_TOKEN holds the token, HF_ENDPOINT the hub"
        ) from error
    return str(found.commit_url)


def listed(files: Mapping[str, Path]) -> Iterator[str]:
    """A line for each file: bytes, its place in the repository and where it comes from."""
    for name, path in files.items():
        yield f"{path.stat().st_size:>12,} {name:<28} {path}"
