"""Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) on every linear layer of a frozen model.

ΔW = (α/r)·B·A with B = 0 at the start, so that the adapted model first equals its base bit for bit.
Own modules, because a decoded token passes through each of them and the stock wrappers cost more than
the arithmetic of a small model; the files are those of PEFT, which loads them.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from askfirst import store
from askfirst.errors import InputError, ModelError

CONFIG_FILE, WEIGHTS_FILE = "adapter_config.json", "adapter_model.safetensors"
REFERENCE_FILE = "reference.safetensors"
_PREFIX = "base_model.model."
T = TypeVar("T", bound=Tensor)


@dataclass(slots=True)
class Switch:
    """Shared by all adapters of a model: off means the model as it was opened."""

    on: bool = True


class LoraLinear(nn.Module):
    """A frozen linear layer plus its adapter. The adapter's weights are fp32, its arithmetic is the input's."""

    def __init__(self, base: nn.Linear, rank: int, scale: float, switch: Switch, generator: torch.Generator) -> None:
        super().__init__()
        self.base, self.scale, self.switch = base, scale, switch
        bound = base.in_features**-0.5
        a = torch.rand(rank, base.in_features, generator=generator) * (2 * bound) - bound
        self.a = nn.Parameter(a.to(base.weight.device))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))
        # What is used instead of (a, b) while nothing is trained: these or the reference's, in the activation
        # dtype. Casting once a token would cost more than using them.
        self.held: tuple[Tensor, Tensor] | None = None
        self.reference: tuple[Tensor, Tensor] | None = None  # a copy of (a, b) at the anchor

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)."""
        y = nn.functional.linear(x, self.base.weight, self.base.bias)
        if not self.switch.on:
            return y
        a, b = self.held or (self.a.to(x.dtype), self.b.to(x.dtype))
        low = nn.functional.linear(x.reshape(-1, x.shape[-1]), a)
        return torch.addmm(y.reshape(-1, y.shape[-1]), low, b.t(), alpha=self.scale).view(y.shape)


class Adapter:
    """All adapters of one model: switching, hashing and files."""

    def __init__(self, model: Any, rank: int, alpha: float, seed: int) -> None:
        if rank < 1:
            raise InputError(f"lora_rank is {rank}", hint="a rank of 1 or more is needed to train")
        self.rank, self.alpha, self.switch = rank, alpha, Switch()
        self.layers = _adapt(model, rank, alpha / rank, self.switch, torch.Generator().manual_seed(seed))

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """The trainable weights by their PEFT names, sorted."""
        return _named({name: (layer.a, layer.b) for name, layer in self.layers.items()})

    @contextlib.contextmanager
    def fixed(self, reference: bool = False) -> Iterator[None]:
        """Within this context nothing is trained, and the model is the policy or its reference."""
        self.switch.on = self.anchored or not reference
        if self.switch.on:
            for layer in self.layers.values():
                a, b = (reference and layer.reference) or (layer.a.detach(), layer.b.detach())
                dtype = layer.base.weight.dtype
                layer.held = (a.to(dtype), b.to(dtype))
        try:
            yield
        finally:
            self.switch.on = True
            for layer in self.layers.values():
                layer.held = None

    @property
    def anchored(self) -> bool:
        """Whether the reference is a copy of the adapter rather than the model without it."""
        return all(layer.reference is not None for layer in self.layers.values())

    def anchor(self) -> None:
        """Make the adapter as it stands the reference."""
        for layer in self.layers.values():
            layer.reference = (layer.a.detach().clone(), layer.b.detach().clone())

    def fingerprint(self) -> str:
        """sha256 over names, shapes and values of the trainable weights."""
        digest = hashlib.sha256()
        for name, weight in self.parameters.items():
            digest.update(f"{name}{tuple(weight.shape)}".encode())
            digest.update(weight.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def save(self, folder: Path, base: str) -> None:
        """Write a PEFT adapter folder; `base` is the name of the model underneath."""
        config = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base,
            "r": self.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": 0.0,
            "bias": "none",
            "fan_in_fan_out": False,
            "inference_mode": True,
            "target_modules": sorted({name.rpartition(".")[2] for name in self.layers}),
        }
        store.write_json(folder / CONFIG_FILE, config)
        write_tensors(folder / WEIGHTS_FILE, self.parameters)
        if self.anchored:
            write_tensors(folder / REFERENCE_FILE, self._references())

    def load(self, folder: Path) -> None:
        """Read a folder that `save` wrote. Raises InputError where it does not fit this model."""
        config = store.read_json(folder / CONFIG_FILE)
        if (config.get("r"), config.get("lora_alpha")) != (self.rank, self.alpha):
            raise InputError(
                f"adapter of rank {config.get('r')} and alpha {config.get('lora_alpha')}, "
                f"the plan says {self.rank} and {self.alpha}",
                where=str(folder / CONFIG_FILE),
            )
        assign(self.parameters, read_tensors(folder / WEIGHTS_FILE), folder / WEIGHTS_FILE)
        if (folder / REFERENCE_FILE).exists():
            self.anchor()
            assign(self._references(), read_tensors(folder / REFERENCE_FILE), folder / REFERENCE_FILE)
        else:
            for layer in self.layers.values():
                layer.reference = None

    def _references(self) -> dict[str, Tensor]:
        pairs = {name: layer.reference for name, layer in self.layers.items() if layer.reference is not None}
        return _named(pairs)


def _named(pairs: Mapping[str, tuple[T, T]]) -> dict[str, T]:
    """Pairs (a, b) by layer as single tensors by their PEFT names, sorted."""
    named = {f"{_PREFIX}{name}.lora_A.weight": a for name, (a, _) in pairs.items()}
    named |= {f"{_PREFIX}{name}.lora_B.weight": b for name, (_, b) in pairs.items()}
    return dict(sorted(named.items()))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write the whole safetensors file or nothing."""
    found = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    store.write_bytes(path, save(found, metadata={"format": "pt"}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file. Raises InputError, naming the file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"not a readable safetensors file: {error}", where=str(path)) from error


def assign(targets: Mapping[str, Tensor], found: dict[str, Tensor], path: Path) -> None:
    """Copy tensors into parameters of the same names and shapes. Raises InputError for any difference."""
    if found.keys() != targets.keys():
        odd = sorted(found.keys() ^ targets.keys())
        raise InputError(f"{len(odd)} tensors do not match this model, first {odd[0]}", where=str(path))
    for name, weight in targets.items():
        if found[name].shape != weight.shape:
            raise InputError(f"{name} has shape {tuple(found[name].shape)}, not {tuple(weight.shape)}", where=str(path))
    with torch.no_grad():
        for name, weight in targets.items():
            weight.copy_(found[name])


def _adapt(model: Any, rank: int, scale: float, switch: Switch, generator: torch.Generator) -> dict[str, LoraLinear]:
    model.requires_grad_(False)
    head = model.get_output_embeddings()
    linear = {n: m for n, m in model.named_modules() if isinstance(m, nn.Linear) and m is not head}
    if not linear:
        raise ModelError(f"{type(model).__name__} has no linear layers to adapt")
    layers = {}
    for name, module in linear.items():
        layers[name] = LoraLinear(module, rank, scale, switch, generator)
        parent, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(parent), leaf, layers[name])
    return layers
