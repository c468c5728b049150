"""Linear layers with adapters; while nothing is trained, those that read the same tensor are computed together.

Queries, keys and values of a decoder layer are products of one input, and so are gate and up. For the few tokens of a
decoding step one larger product takes less time; for the many of a training step it does not. Own modules, because a
decoded token passes through each of them and the stock wrappers cost more than the arithmetic of a small model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

Pair = tuple[Tensor, Tensor]


class LoraLinear(nn.Module):
    """A frozen linear layer plus its adapter. The adapter's weights are fp32, its arithmetic is the input's."""

    together: Together  # the layers that it is computed with

    def __init__(self, base: nn.Linear, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        self.base = base
        bound = base.in_features**-0.5
        a = torch.rand(rank, base.in_features, generator=generator) * (2 * bound) - bound
        self.a = nn.Parameter(a.to(base.weight.device))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))
        self.reference: Pair | None = None  # a copy of (a, b) at the anchor
        self.average: Tensor | None = None  # the average teacher's ΔW (out, in), fp32

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)."""
        if self.together.fixed:
            return self.together.output(self, x)
        y = _adapted(
            x.reshape(-1, x.shape[-1]), (self.base.weight, self.base.bias), self.a, self.b, self.together.scale
        )
        return y.view(*x.shape[:-1], -1)


class Together:
    """Layers that read one tensor: what the first that is asked computes for all, the others find."""

    def __init__(self, layers: Sequence[LoraLinear], scale: float) -> None:
        self.layers, self.scale = tuple(layers), scale
        self.fixed = False  # whether nothing is trained
        # What is then used instead of the trained weights, in the activation dtype: casting once a token would cost
        # more than using them. None means the model as it was opened.
        self.held: Pair | None = None
        self.added: Tensor | None = None  # what is used instead of both: ΔW of all layers, (out, in)
        self._sizes = [layer.base.out_features for layer in layers]
        self._weight, self._bias = _stacked([layer.base for layer in layers])
        self._read: Tensor | None = None  # what the outputs at hand belong to
        self._outputs: dict[LoraLinear, Tensor] = {}
        self.take()

    def take(self) -> None:
        """Compute these layers from here on."""
        for layer in self.layers:
            layer.together = self

    def output(self, layer: LoraLinear, x: Tensor) -> Tensor:
        """The output (…, out) of a layer for x (…, in)."""
        if self._read is not x or layer not in self._outputs:
            self._read, self._outputs = x, dict(zip(self.layers, self._compute(x), strict=True))
        found = self._outputs.pop(layer)
        if not self._outputs:
            self._read = None
        return found

    def hold(self, which: Literal["policy", "reference", "base", "average"]) -> None:
        """Fix the adapters as they are, at their reference, switched off, or at their average, until `let_go`.

        The average is there once `follow` was called.
        """
        self.fixed, self.held, self.added = True, None, None
        if which == "base":
            return
        averages = [layer.average for layer in self.layers if layer.average is not None]
        if which == "average":
            self.added = torch.cat(averages).to(self._weight.dtype)
            return
        of_reference = which == "reference"
        pairs = [(of_reference and layer.reference) or (layer.a.detach(), layer.b.detach()) for layer in self.layers]
        a, b = (list(tensors) for tensors in zip(*pairs, strict=True))
        dtype = self._weight.dtype
        self.held = torch.cat(a).to(dtype), _diagonal(b).to(dtype)

    def let_go(self) -> None:
        """Back to the trained weights."""
        self.fixed, self.held, self.added, self._read, self._outputs = False, None, None, None, {}

    def _compute(self, x: Tensor) -> Iterator[Tensor]:
        flat, base = x.reshape(-1, x.shape[-1]), (self._weight, self._bias)
        if self.held is not None:
            y = _product(flat, base, *self.held, self.scale)[0]
        else:
            y = nn.functional.linear(flat, *base)
            if self.added is not None:
                y.addmm_(flat, self.added.t())
        parts = torch.split_with_sizes(y, self._sizes, dim=1) if len(self._sizes) > 1 else (y,)
        return (part.view(*x.shape[:-1], -1) for part in parts)


def _stacked(layers: Sequence[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of all layers, one below the other; the layers' own weights become parts of it."""
    if len(layers) == 1:
        return layers[0].weight, layers[0].bias
    weight = _as_they_lie([layer.weight.detach() for layer in layers])
    if weight is None:
        weight = torch.cat([layer.weight.detach() for layer in layers])
        for layer, part in zip(
            layers, torch.split_with_sizes(weight, [layer.out_features for layer in layers]), strict=True
        ):
            layer.weight.data = part
    if all(layer.bias is None for layer in layers):
        return weight, None
    zeros = [weight.new_zeros(layer.out_features) for layer in layers]
    return weight, torch.cat([z if layer.bias is None else layer.bias for layer, z in zip(layers, zeros, strict=True)])


def _as_they_lie(parts: Sequence[Tensor]) -> Tensor | None:
    """The whole (rows, size) of parts that already lie one below the other in memory, as in a twin of a model; else
    None."""
    first, place = parts[0], parts[0].data_ptr()
    for part in parts:
        same = part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        if not (same and part.is_contiguous() and part.data_ptr() == place):
            return None
        place += part.numel() * part.itemsize
    return first.as_strided((sum(len(part) for part in parts), first.shape[1]), first.stride())


def _diagonal(blocks: Sequence[Tensor]) -> Tensor:
    """Blocks (out, rank) down a diagonal, zeros elsewhere."""
    if len(blocks) == 1:
        return blocks[0]
    found = blocks[0].new_zeros(sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks))
    row = column = 0
    for block in blocks:
        found[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return found


def _product(
    x: Tensor, base: tuple[Tensor, Tensor | None], a: Tensor, b: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """x Wᵀ + bias + s (x Aᵀ) Bᵀ, written once and added to where it stands, and x Aᵀ."""
    low = torch.mm(x, a.t())
    return nn.functional.linear(x, *base).addmm_(low, b.t(), alpha=scale), low


class _Adapted(torch.autograd.Function):
    """The product with W frozen."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, base: tuple[Tensor, Tensor | None], a: Tensor, b: Tensor, scale: float) -> Tensor:
        """x (tokens, in), A (rank, in), B (out, rank) → (tokens, out)."""
        a, b = a.to(x.dtype), b.to(x.dtype)
        y, low = _product(x, base, a, b, scale)
        ctx.save_for_backward(x, low, base[0], a, b)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """dx = dy W + d A, dA = dᵀ x, dB = s dyᵀ (x Aᵀ), where d = s dy B; those of A and B in fp32."""
        x, low, weight, a, b = ctx.saved_tensors
        (dy,) = gradients
        d = torch.mm(dy, b).mul_(ctx.scale)
        dx = torch.mm(dy, weight).addmm_(d, a) if ctx.needs_input_grad[0] else None
        return dx, None, torch.mm(d.t(), x).float(), torch.mm(dy.t(), low).float().mul_(ctx.scale), None


_adapted: Callable[..., Tensor] = _Adapted.apply
