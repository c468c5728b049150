"""The selected checkpoint of a run in the forms that other programs load: merged into its base, and for mlx-lm.

A checkpoint itself is a PEFT folder already: `PeftModel.from_pretrained(base, folder)`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from askfirst import ledger
from askfirst.backends.hf import models
from askfirst.backends.hf.lora import CONFIG_FILE, PREFIX, WEIGHTS_FILE, read_tensors, write_tensors
from askfirst.errors import InputError
from askfirst.plan import Plan, arm_plan, validate
from askfirst.reading import require_run
from askfirst.runfolder import RunFolder
from askfirst.selection import Selected
from askfirst.ship import ShipRecord
from askfirst.store import commit_folder, read_as, read_json, write_json

MLX_WEIGHTS = "adapters.safetensors"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selected checkpoint: the plan as its arm has it, and the folder with the adapter."""

    plan: Plan
    folder: Path


def chosen(run: RunFolder) -> Chosen:
    """The selected checkpoint of a run of backend `hf`, also where the ship gate moved it aside.

    Raises InputError where there is none, GateFailed where the run was changed since.
    """
    plan = validate(require_run(run)["plan"], str(run.lock))
    if not run.selected.is_file():
        raise InputError("nothing was selected in this run", where=str(run.root), hint="askfirst run --resume goes on")
    ledger.require_intact(run)
    selected = read_as(Selected, run.selected)
    own, folder = arm_plan(plan, selected.arm), run.root / selected.checkpoint
    if own.model.backend != "hf":
        raise InputError(f"backend {own.model.backend!r} has no weights that other programs load", where=str(run.root))
    if run.ship.is_file() and (moved := read_as(ShipRecord, run.ship).moved):
        folder = run.root / moved
    return Chosen(own, folder)


def merged(found: Chosen, cache: Path | None = None) -> models.Loaded:
    """The base model with the adapter added to its weights, W + (α/r)·B·A, in the plan's dtype; on the CPU.

    Raises ModelError where the base is not to be had, InputError for an adapter that does not fit it.
    """
    import peft  # takes seconds

    base = models.load(found.plan.model.name, found.plan.model.dtype, cache or models.default_cache())
    base.model.to("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Found missing adapter keys", UserWarning)
        try:
            model: Any = peft.PeftModel.from_pretrained(base.model, str(found.folder)).merge_and_unload()
        except (OSError, ValueError, RuntimeError, UserWarning) as error:
            words = str(error).strip().splitlines()[0]
            raise InputError(f"the adapter does not fit its base: {words}", where=str(found.folder)) from error
    return models.Loaded(model, base.tokenizer, base.end_ids)


def write_merged(found: Chosen, out: Path, cache: Path | None = None) -> tuple[Path, ...]:
    """Write the merged model as a folder that AutoModelForCausalLM loads; its files. Raises InputError where it is."""
    require_new(out)
    whole = merged(found, cache)

    def fill(folder: Path) -> None:
        with models.quiet():
            whole.model.save_pretrained(folder)
            whole.tokenizer.save_pretrained(folder)

    commit_folder(out, fill)
    return tuple(sorted(out.iterdir()))


def write_mlx_adapter(found: Chosen, out: Path) -> tuple[Path, ...]:
    """Write the adapter as mlx-lm 0.32 loads it (`--adapter-path`); its files. Raises InputError where it is.

    There y = Wx + scale·(x·lora_a)·lora_b, with lora_a (in, r) and lora_b (r, out): the transposes of PEFT's A and B,
    and scale = α/r.
    """
    require_new(out)
    config = read_json(found.folder / CONFIG_FILE)
    weights = read_tensors(found.folder / WEIGHTS_FILE)
    renamed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        layer, _, kind = name.removeprefix(PREFIX).removesuffix(".weight").rpartition(".")
        renamed[f"{layer}.{kind.lower()}"] = weight.T
    inside = [_place(name) for name in renamed]
    settings = {
        "fine_tune_type": "lora",
        "num_layers": 1 + max(layer for layer, _ in inside),
        "lora_parameters": {
            "keys": sorted({key for _, key in inside}),
            "rank": config["r"],
            "scale": config["lora_alpha"] / config["r"],
            "dropout": 0.0,
        },
        "model": found.plan.model.name,
    }

    def fill(folder: Path) -> None:
        write_json(folder / CONFIG_FILE, settings)
        write_tensors(folder / MLX_WEIGHTS, renamed)

    commit_folder(out, fill)
    return tuple(sorted(out.iterdir()))


def require_new(out: Path) -> None:
    """Raise InputError where something stands already."""
    if out.exists():
        raise InputError("is there already", where=str(out), hint="name a new file or folder")


def _place(name: str) -> tuple[int, str]:
    """`model.layers.3.self_attn.q_proj.lora_a` → (3, `self_attn.q_proj`). Raises InputError for another shape."""
    head, _, rest = name.partition("layers.")
    number, _, inner = rest.partition(".")
    if head != "model." or not number.isdigit():
        raise InputError(f"mlx-lm knows adapters in model.layers only, found {name}")
    return int(number), inner.rpartition(".")[0]
