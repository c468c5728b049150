"""Keys and values of rows that are not being decoded, kept for their next turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Pair = tuple[Tensor, Tensor]  # keys and values (rows, heads, tokens, size)


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows set aside together: their numbers (n,), their lengths (n,), and each layer's keys and values."""

    rows: Tensor
    lengths: Tensor
    layers: tuple[Pair, ...]


class Parking:
    """Rows by number, each with the tokens it had when it was set aside."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def put(self, numbers: Tensor, which: Tensor, lengths: Tensor, layers: Sequence[Pair]) -> None:
        """Set aside the rows `which` (n,) of layers, known as `numbers` (n,), with `lengths` (n,) tokens each."""
        longest = int(lengths.max())
        kept = tuple((k[which, :, :longest], v[which, :, :longest]) for k, v in layers)
        self._parts.append(_Part(numbers, lengths, kept))

    def take(self, numbers: Tensor, longest: int) -> tuple[Tensor, list[Pair]]:
        """Lengths (n,) and layers of the rows `numbers` (n,), with space for `longest` tokens in each row.

        Takes them out for good, with all that is not asked for.
        """
        parts, self._parts = self._parts, []
        known = torch.cat([part.rows for part in parts])
        lengths = torch.cat([part.lengths for part in parts])
        place = torch.argsort(known)[torch.searchsorted(known.sort().values, numbers)]
        layers = [
            (_gathered([k for k, _ in layer], place, longest), _gathered([v for _, v in layer], place, longest))
            for layer in zip(*(part.layers for part in parts), strict=True)
        ]
        return lengths[place], layers


def _gathered(parts: Sequence[Tensor], place: Tensor, longest: int) -> Tensor:
    """(rows, heads, longest, size): the rows at `place` of all parts in a line, with space behind them."""
    shape = (len(place), parts[0].shape[1], longest, parts[0].shape[3])
    whole = parts[0].new_zeros(shape)
    start = 0
    for part in parts:
        here = ((place >= start) & (place < start + len(part))).nonzero().squeeze(1)
        held = min(part.shape[2], longest)  # beyond what any of these rows has, others may have more
        whole[here, :, :held] = part[place[here] - start, :, :held]
        start += len(part)
    return whole
