"""Backend `hf`: any transformers causal LM with a LoRA adapter, on CPU or CUDA."""

from __future__ import annotations

from pathlib import Path

from askfirst.backends.hf.models import default_cache, load
from askfirst.backends.hf.policy import HfPolicy
from askfirst.policy import ModelSpec, Policy


def open_policy(spec: ModelSpec, seed: int, cache: Path | None = None) -> Policy:
    """Load the model named in `spec` and draw its adapter from `seed`.

    `cache` is where converted models are kept, ~/.cache/askfirst/models unless given.
    Raises ModelError for a name that resolves to nothing usable.
    """
    return HfPolicy(load(spec.name, spec.dtype, cache or default_cache()), spec, seed)
