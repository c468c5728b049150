"""Backend `hf`: any transformers causal LM with a LoRA adapter, on CPU or CUDA."""

from __future__ import annotations

from pathlib import Path

import torch

from askfirst.backends.hf.models import default_cache, load, resolve, template
from askfirst.backends.hf.policy import HfPolicy
from askfirst.backends.hf.vllm import open_engine
from askfirst.ledger import file_hash
from askfirst.policy import ModelSpec, Policy

# Products this small gain little from a second thread, and on a busy machine threads that wait for each other cost
# up to four times as much (docs/lab-notes.md). One thread also keeps results the same whatever the number of cores.
SMALL = 20_000_000
FOUND = torch.get_num_threads()  # before any model was opened


def identity(spec: ModelSpec, cache: Path | None = None) -> dict[str, str | None]:
    """Hashes of the files of a model, and of its chat template; None for a hub id, whose files are the hub's."""
    source = Path(resolve(spec.name, cache or default_cache()))
    if not source.is_dir():
        return {"files": None, "chat_template": None}
    return {
        **{p.name: file_hash(p) for p in sorted(source.iterdir()) if p.is_file()},
        "chat_template": template(source),
    }


def open_policy(spec: ModelSpec, seed: int, cache: Path | None = None) -> Policy:
    """Load the model named in `spec` and draw its adapter from `seed`.

    `cache` is where converted models are kept, ~/.cache/askfirst/models unless given.
    A model with fewer than SMALL weights is computed on one thread in this process, whatever `spec` says.
    Raises ModelError for a name that resolves to nothing usable.
    """
    cache = cache or default_cache()
    policy = HfPolicy(load(spec.name, spec.dtype, cache), spec, seed)
    if spec.sampler == "vllm":
        policy.sample_with(open_engine(resolve(spec.name, cache), spec.dtype, spec.lora_rank, policy.network.context))
    set_threads(policy.network.model, spec.threads)
    return policy


def set_threads(model: torch.nn.Module, threads: int) -> None:
    """Have this process compute on so many threads, 0 being all; a model of fewer than SMALL weights on one."""
    small = sum(weight.numel() for weight in model.parameters()) < SMALL
    torch.set_num_threads(1 if small else threads or FOUND)
