"""What a run was made with, by hashes: versions, revision, model, prompts and data. It stands in provenance.json."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import __version__, ledger, plugins
from askfirst.canary import canary
from askfirst.contracts.reported import modules, rewards_of
from askfirst.deviation import differing
from askfirst.plan import Plan, judges_of, resolved
from askfirst.policy import ModelSpec
from askfirst.runfolder import RunFolder
from askfirst.store import content_hash, plain, read_json, write_json
from askfirst.values import Scenario

# What numbers may depend on, of what is installed.
PACKAGES = ("numpy", "scipy", "pydantic", "torch", "transformers", "tokenizers", "safetensors", "peft", "vllm")
GIT_SECONDS = 10
CHANGED = "environment_changed"


def record(run: RunFolder, plan: Plan, dev: Sequence[Scenario]) -> None:
    """Write provenance.json at the start of a run; where a run goes on with something else, enter that."""
    found = plain(collect(plan, dev))
    if not run.provenance.is_file():
        write_json(run.provenance, found)
    elif not ledger.events(run, ledger.FINISHED):
        # A commit is not a change of what the run depends on: the code has a hash of its own.
        before, now = ({k: v for k, v in each.items() if k != "git"} for each in (read_json(run.provenance), found))
        changes = plain(tuple(differing(before, now)))
        known = [line["changes"] for line in ledger.events(run, CHANGED)][-1:]
        if changes != (known[0] if known else []):
            entry = {"version": 1, "event": CHANGED, "changes": changes, "recorded_at": ledger.now()}
            ledger.append(run.ledger, entry)


def collect(plan: Plan, dev: Sequence[Scenario]) -> dict[str, Any]:
    """Everything that a run depends on and its plan does not hold. What cannot be known is None."""
    env = plugins.environment(plan.env.name, plan.env.data, plan.env.families)
    judges = judges_of(plan)
    models = [(judge.backend, judge.model) for judge in judges if judge.model]
    models += [(plan.model.backend, name) for name in model_names(plan)]
    used = [*(module for module, _ in modules(rewards_of(plan))), *(plugins.load("judges", j.name) for j in judges)]
    return {
        "version": 1,
        "askfirst": __version__,
        "code_sha256": code_hash(),
        "git": revision(Path(__file__).parent),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: _installed(name) for name in PACKAGES},
        "models": {name: _model(backend, name) for backend, name in models},
        "system_prompt_sha256": content_hash(env.system_prompt(plan.env.system_prompt)),
        "dev_sha256": content_hash(list(dev)),
        "prompts": prompts([env, *used]),
        "sealed": {"commitment": plan.env.sealed, "canary": canary(plan.env.sealed)},
    }


def made_with() -> str:
    """A hash of what numbers depend on beside the plan: code, Python and packages; alike on all nodes of a run."""
    return content_hash([code_hash(), platform.python_version(), {name: _installed(name) for name in PACKAGES}])


def model_names(plan: Plan) -> list[str]:
    """The models of every arm, each once."""
    return sorted({own.model.name for own in resolved(plan).values()})


def prompts(used: Sequence[ModuleType]) -> dict[str, str]:
    """Hashes of the prompts of judges and simulated users: what a plugin names in its PROMPTS (name → text)."""
    found: dict[str, str] = {}
    for module in used:
        named: Mapping[str, str] = getattr(module, "PROMPTS", {})
        found |= {f"{plugins.name_of(module)}/{name}": content_hash(text) for name, text in named.items()}
    return found


def code_hash() -> str:
    """sha256 over every source file of the package, so that a copy outside of git is known too."""
    root = Path(__file__).parent
    files = sorted(root.rglob("*.py"))
    return content_hash([[path.relative_to(root).as_posix(), ledger.file_hash(path)] for path in files])


def revision(folder: Path) -> dict[str, Any]:
    """The git revision of a folder, and whether anything in it differs from that; None outside of a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--", ".") if commit else None
    return {"revision": commit or None, "dirty": None if changes is None else bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _model(backend: str, name: str) -> dict[str, str | None]:
    """Hashes of a model's files, tokenizer and chat template among them, as far as its backend can name them."""
    identity = getattr(plugins.load("backends", backend), "identity", None)
    if identity is None:
        return {}  # a model that is its source, which the lock holds
    found: dict[str, str | None] = identity(ModelSpec(name))
    return found
