"""The state of a training from scratch on disk, so that one that was killed goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from askfirst import store
from askfirst.backends.hf.lora import assign, read_tensors, write_tensors
from askfirst.errors import InputError

STEP, STATE = "step", "optimizer"
NAMED = "halfway-*.safetensors"


@dataclass(frozen=True, slots=True)
class Halfway:
    """A file in `folder` that is written every `every` steps.

    `made` is all that the weights depend on. What was begun by anything else has another file and is not gone on with.
    """

    folder: Path
    made: str
    every: int

    @property
    def path(self) -> Path:
        """The file, named by what the weights depend on."""
        return self.folder / NAMED.replace("*", store.content_hash(self.made)[-16:])

    def due(self, step: int) -> bool:
        """Whether to write after so many steps."""
        return step % self.every == 0

    def write(self, step: int, model: Any, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        """Write the state after `step` steps, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors = {STEP: torch.tensor(step), **dict(model.named_parameters())}
        for i, optimizer in enumerate(optimizers):
            for j, weight in enumerate(_weights(optimizer)):
                tensors |= {f"{STATE}/{i}/{j}/{key}": value for key, value in optimizer.state[weight].items()}
        write_tensors(self.path, tensors)

    def read(self, model: Any, optimizers: Sequence[torch.optim.Optimizer]) -> int:
        """Put back what was written; returns the steps done, 0 where there is no file.

        Raises InputError for a file that does not fit.
        """
        if not self.path.is_file():
            return 0
        found = read_tensors(self.path)
        held = {name: found.pop(name) for name in list(found) if name.startswith(f"{STATE}/")}
        if STEP not in found:
            raise InputError("no state of a training", where=str(self.path), hint="remove it to begin anew")
        step = int(found.pop(STEP))
        assign(dict(model.named_parameters()), found, self.path)
        for name, value in held.items():
            _, i, j, key = name.split("/")
            optimizer = optimizers[int(i)]
            optimizer.state[_weights(optimizer)[int(j)]][key] = value
        return step

    def remove(self) -> None:
        """Remove the file, and those of others that were begun in the folder."""
        for path in self.folder.glob(NAMED):
            path.unlink()


def _weights(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]
