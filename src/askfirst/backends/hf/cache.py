"""Key-value caches of our own: one that grows, one that is written in place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


class FullLayer(CacheLayerMixin):  # type: ignore[misc]  # transformers carries no types here
    """A layer that keeps every position, also where the model attends in a window: the mask does the rest.

    Keys and values have shape (rows, heads, positions, head size) and grow by concatenation.
    """

    is_sliding = False

    def __init__(self, keys: Tensor | None = None, values: Tensor | None = None) -> None:
        super().__init__()
        self.keys, self.values, self.is_initialized = keys, values, True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do: a layer is complete when made."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Add positions; returns all keys and values so far."""
        if self.keys is not None and self.values is not None:
            key_states = torch.cat([self.keys, key_states], dim=2)
            value_states = torch.cat([self.values, value_states], dim=2)
        self.keys, self.values = key_states, value_states
        return key_states, value_states

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Number of keys the next query sees, and the position of the first."""
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        """Number of positions held."""
        return 0 if self.keys is None else int(self.keys.shape[2])

    def get_max_length(self) -> int:
        """−1: no limit."""
        return -1


class SlotLayer(FullLayer):
    """A layer with room for `length` positions, written in place."""

    def __init__(self, rows: int, length: int, keys: Tensor, values: Tensor) -> None:
        """`keys` and `values` lend their heads, head size, dtype and device."""
        super().__init__()
        self.room_keys = keys.new_zeros((rows, keys.shape[1], length, keys.shape[3]))
        self.room_values = values.new_zeros((rows, values.shape[1], length, values.shape[3]))
        self.rows, self.filled = rows, 0

    def put(self, first_row: int, end: int, keys: Tensor, values: Tensor, copies: int) -> None:
        """Write a prompt, shape (1, heads, positions, head size), into `copies` rows so that it ends before `end`."""
        rows, columns = slice(first_row, first_row + copies), slice(end - keys.shape[2], end)
        self.room_keys[rows, :, columns] = keys
        self.room_values[rows, :, columns] = values
        self.filled = end

    def keep(self, rows: Tensor) -> None:
        """Drop all but these rows."""
        self.rows = len(rows)
        self.room_keys[: self.rows, :, : self.filled] = self.room_keys[rows, :, : self.filled]
        self.room_values[: self.rows, :, : self.filled] = self.room_values[rows, :, : self.filled]

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the next positions of every row; returns views of all so far."""
        start, self.filled = self.filled, self.filled + key_states.shape[2]
        self.room_keys[: self.rows, :, start : self.filled] = key_states
        self.room_values[: self.rows, :, start : self.filled] = value_states
        return self.room_keys[: self.rows, :, : self.filled], self.room_values[: self.rows, :, : self.filled]

    def get_seq_length(self) -> int:
        """Number of positions held."""
        return self.filled


def empty(layers: int) -> Cache:
    """A cache that remembers what passes through it."""
    return Cache(layers=[FullLayer() for _ in range(layers)])
