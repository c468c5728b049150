"""Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) on every linear layer of a frozen model.

ΔW = (α/r)·B·A with B = 0 at the start, so that the adapted model first equals its base bit for bit.
The files are those of PEFT, which loads them.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from askfirst import store
from askfirst.backends.hf.adapted import LoraLinear, Together
from askfirst.errors import InputError, ModelError

CONFIG_FILE, WEIGHTS_FILE = "adapter_config.json", "adapter_model.safetensors"
REFERENCE_FILE, AVERAGE_FILE = "reference.safetensors", "teacher.safetensors"
# Of the spread of logits: the order in which a product is summed.
ROUNDING = {torch.float32: 1e-3, torch.bfloat16: 0.05}
PREFIX = "base_model.model."
T = TypeVar("T", bound=Tensor)


class Adapter:
    """All adapters of one model: switching, hashing and files."""

    def __init__(self, model: Any, rank: int, alpha: float, seed: int) -> None:
        if rank < 1:
            raise InputError(f"lora_rank is {rank}", hint="a rank of 1 or more is needed to train")
        self.rank, self.alpha = rank, alpha
        self.layers = _adapt(model, rank, torch.Generator().manual_seed(seed))
        self._alone = [Together([layer], alpha / rank) for layer in self.layers.values()]
        self._together = _grouped(model, self._alone)

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """The trainable weights by their PEFT names, sorted."""
        return _named({name: (layer.a, layer.b) for name, layer in self.layers.items()})

    @contextlib.contextmanager
    def fixed(self, reference: bool = False, together: bool = False, average: bool = False) -> Iterator[None]:
        """Within this context nothing is trained, and the model is the policy, its reference, or the average teacher,
        which is the reference until it has followed the policy.

        Computed layer by layer, as in training, its logprobs are those of a training step to the bit; `together` is
        quicker for a few tokens, and rounds in another order.
        """
        groups = self._together if together else self._alone
        for group in groups:
            group.take()
            if average and self.averages():
                group.hold("average")
            elif reference or average:
                group.hold("reference" if self.anchored else "base")
            else:
                group.hold("policy")
        try:
            yield
        finally:
            for group in groups:
                group.let_go()

    @property
    def anchored(self) -> bool:
        """Whether the reference is a copy of the adapter rather than the model without it."""
        return all(layer.reference is not None for layer in self.layers.values())

    def anchor(self) -> None:
        """Make the adapter as it stands the reference, and that the average teacher."""
        for layer in self.layers.values():
            layer.reference, layer.average = (layer.a.detach().clone(), layer.b.detach().clone()), None

    def follow(self, rate: float) -> None:
        """Move the average of ΔW = (α/r)·B·A to (1 − rate) of what it was and `rate` of what ΔW is.

        ΔW itself is averaged, in fp32 and as large as the layers: the product of averages of B and A is another matrix.
        """
        scale = self.alpha / self.rank
        with torch.no_grad():
            for layer in self.layers.values():
                if layer.average is None:
                    a, b = layer.reference or (layer.a, torch.zeros_like(layer.b))
                    layer.average = torch.mm(b, a).mul_(scale)
                layer.average.lerp_(torch.mm(layer.b, layer.a).mul_(scale), rate)

    def averages(self) -> dict[str, Tensor]:
        """The average teacher's ΔW by layer; empty before it has followed the policy."""
        found = {f"{PREFIX}{name}.delta": layer.average for name, layer in sorted(self.layers.items())}
        return {name: average for name, average in found.items() if average is not None}

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
        if self.averages():
            write_tensors(folder / AVERAGE_FILE, self.averages())

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
        self._load_average(folder / AVERAGE_FILE)

    def _load_average(self, path: Path) -> None:
        for layer in self.layers.values():
            layer.average = torch.zeros_like(layer.base.weight, dtype=torch.float32) if path.exists() else None
        if path.exists():
            assign(self.averages(), read_tensors(path), path)

    def _references(self) -> dict[str, Tensor]:
        pairs = {name: layer.reference for name, layer in self.layers.items() if layer.reference is not None}
        return _named(pairs)


def _named(pairs: Mapping[str, tuple[T, T]]) -> dict[str, T]:
    """Pairs (a, b) by layer as single tensors by their PEFT names, sorted."""
    named = {f"{PREFIX}{name}.lora_A.weight": a for name, (a, _) in pairs.items()}
    named |= {f"{PREFIX}{name}.lora_B.weight": b for name, (_, b) in pairs.items()}
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


def _adapt(model: Any, rank: int, generator: torch.Generator) -> dict[str, LoraLinear]:
    model.requires_grad_(False)
    head = model.get_output_embeddings()
    linear = {n: m for n, m in model.named_modules() if isinstance(m, nn.Linear) and m is not head}
    if not linear:
        raise ModelError(f"{type(model).__name__} has no linear layers to adapt")
    layers = {}
    for name, module in linear.items():
        layers[name] = LoraLinear(module, rank, generator)
        parent, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(parent), leaf, layers[name])
    return layers


def _grouped(model: Any, alone: Sequence[Together]) -> list[Together]:
    """Layers by what they read in a trial, where computing them together gives the same logits; else as they are."""
    layers, scale = [layer for each in alone for layer in each.layers], alone[0].scale
    read: dict[LoraLinear, list[Tensor]] = {layer: [] for layer in layers}
    hooks = [layer.register_forward_pre_hook(lambda own, given: read[own].append(given[0])) for layer in layers]
    ids = torch.arange(4, device=layers[0].base.weight.device).unsqueeze(0)
    with torch.no_grad():
        expected = model(input_ids=ids, use_cache=False).logits
        for hook in hooks:
            hook.remove()
        groups: dict[object, list[LoraLinear]] = {}
        for layer in layers:
            # What a layer reads more than once, or not at all, it reads alone. Tensors are held, so ids are theirs.
            groups.setdefault(id(read[layer][0]) if len(read[layer]) == 1 else layer, []).append(layer)
        together = [Together(group, scale) for group in groups.values()]
        for each in together:
            each.hold("policy")
        found = model(input_ids=ids, use_cache=False).logits
        for each in together:
            each.let_go()
    if bool((found - expected).abs().mean() <= ROUNDING[found.dtype] * expected.float().std()):
        return together
    return list(alone)
