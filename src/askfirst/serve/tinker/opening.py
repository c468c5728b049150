"""From a model's name to a service that trains adapters on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askfirst.backends.hf import identity, set_threads
from askfirst.backends.hf.models import default_cache, load, resolve
from askfirst.policy import ModelSpec
from askfirst.serve.tinker.engine import Engine
from askfirst.serve.tinker.held import Limits, Served
from askfirst.serve.tinker.service import Service
from askfirst.serve.tinker.shelf import Shelf
from askfirst.store import content_hash


def service(name: str, aliases: Sequence[str], folder: Path, limits: Limits) -> Service:
    """Open a model and the folder of its checkpoints, which this process holds. Raises ModelError.

    Clients may call the model by its name, by its folder, where the SDK also finds its tokenizer, and by the aliases.
    """
    cache = default_cache()
    source = resolve(name, cache)
    base = load(name, "fp32", cache)
    set_threads(base.model, 0)
    source = str(Path(source).absolute()) if Path(source).is_dir() else source
    names = tuple(dict.fromkeys((name, source, *aliases)))
    files = content_hash(identity(ModelSpec(name), cache))
    kept = Shelf(folder)
    kept.tidy()
    return Service(Engine(base, source), Served(names, source, files), kept, limits)
