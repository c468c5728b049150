"""Many continuations of few prompts, one token of each at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from transformers import DynamicCache

from askfirst.backends.hf.attention import Rules, attending, ready_mask
from askfirst.backends.hf.batching import Ids, prompt_lines
from askfirst.backends.hf.network import Network
from askfirst.backends.hf.packed import Line

PREFILL_TOKENS = 4096  # prompt tokens computed in one pass
Pair = tuple[Tensor, Tensor]  # keys and values


class Decoder(Protocol):
    """Rows in decoding; `hidden` (rows, size) are the states that predict each row's next token."""

    hidden: Tensor

    def advance(self, tokens: Tensor) -> None:
        """Feed every row its next token, (rows,)."""

    def keep(self, rows: Tensor) -> None:
        """Drop all but these rows."""


def decoder(network: Network, prompts: Sequence[Ids], copies: Sequence[int], new: int) -> Decoder:
    """`copies[i]` rows that continue prompt i, with room for `new` tokens each."""
    kind = PackedDecoder if network.packs else PlainDecoder
    return kind(network, prompts, copies, new)


class PackedDecoder:
    """Holds the keys and values of a prompt once for all of its rows, and writes those of the rows in place."""

    def __init__(self, network: Network, prompts: Sequence[Ids], copies: Sequence[int], new: int) -> None:
        self.network, self.filled = network, 0
        device = network.device
        self.lengths = torch.tensor([len(p) for p in prompts], device=device)
        self.group = torch.repeat_interleave(torch.arange(len(prompts)), torch.tensor(copies)).to(device)
        last, self.prompts = self._prefill(prompts)
        self.hidden = last[self.group]
        rows = len(self.group)
        self.own: list[Pair] = [
            (k.new_zeros((rows, k.shape[1], new, k.shape[3])), v.new_zeros((rows, v.shape[1], new, v.shape[3])))
            for k, v in self.prompts
        ]
        self._hidden_keys: dict[int | None, Tensor | None] = {}
        self._arrange()

    def advance(self, tokens: Tensor) -> None:
        """Feed every row its next token, (rows,)."""
        positions = (self.lengths[self.group] + self.filled).unsqueeze(1)
        self._hidden_keys.clear()  # what is hidden changes with every token, and only with that
        with attending(self._attend):
            self.hidden = self.network.hidden(tokens.unsqueeze(1), positions, ready_mask(tokens), None)[:, 0]
        self.filled += 1

    def keep(self, rows: Tensor) -> None:
        """Drop all but these rows, and the prompts that no row continues."""
        self.hidden = self.hidden[rows]
        for pair in self.own:
            for room in pair:
                room[: len(rows), :, : self.filled] = room[rows, :, : self.filled]
        groups, self.group = torch.unique(self.group[rows], return_inverse=True)
        if len(groups) < len(self.lengths):
            self.lengths = self.lengths[groups]
            self.prompts = [(k[groups], v[groups]) for k, v in self.prompts]
        self._arrange()

    def _prefill(self, prompts: Sequence[Ids]) -> tuple[Tensor, list[Pair]]:
        """The state of each prompt's last token (prompts, size), and for each layer padded (prompts, heads, …)."""
        longest = max(map(len, prompts))
        last: list[Tensor] = []
        layers: list[list[Pair]] = []
        for line in prompt_lines(prompts, PREFILL_TOKENS):
            kept: dict[int, Pair] = {}
            ids, positions = (torch.from_numpy(x).to(self.network.device) for x in (line.ids, line.positions))
            with attending(Line(line.blocks, self.network.device, kept)):
                hidden = self.network.hidden(ids, positions, ready_mask(ids), None)[0]
            places = torch.zeros((len(line.places), longest), dtype=torch.int64)
            for i, place in enumerate(line.places):
                places[i, : len(place)] = torch.from_numpy(place)
                last.append(hidden[int(place[-1])])
            flat = places.flatten().to(self.network.device)
            layers.append(
                [(_by_prompt(k, flat, longest), _by_prompt(v, flat, longest)) for _, (k, v) in sorted(kept.items())]
            )
        joined = [
            (torch.cat([k for k, _ in parts]), torch.cat([v for _, v in parts])) for parts in zip(*layers, strict=True)
        ]
        return torch.stack(last), joined

    def _arrange(self) -> None:
        """Give each row a slot beside the other rows of its prompt."""
        count = torch.bincount(self.group, minlength=len(self.lengths))
        self.wide = int(count.max())
        first = torch.cumsum(count, 0) - count
        # Rows of a prompt stand side by side.
        rows = torch.arange(len(self.group), device=first.device)
        self.slot_of_row = self.group * self.wide + rows - first[self.group]
        self.row_of_slot = first.new_zeros(len(self.lengths) * self.wide)
        self.row_of_slot[self.slot_of_row] = rows

    def _attend(self, rules: Rules, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Queries (rows, heads, 1, size) over the prompt and the row so far, its newest token included."""
        rows, heads, size = len(query), key.shape[1], query.shape[-1]
        end = self.filled + 1
        prompt_keys, prompt_values = self.prompts[rules.layer]
        for room, newest in zip(self.own[rules.layer], (key, value), strict=True):
            room[:rows, :, self.filled] = newest[:, :, 0]
        # Rows of a room lie evenly, so a cut through it can be multiplied where it stands.
        keys, values = (x.flatten(0, 1)[: rows * heads, :end] for x in self.own[rules.layer])
        queries = (query[:, :, 0] * rules.scaling).view(rows * heads, -1, size)
        own = torch.bmm(queries, keys.transpose(1, 2)).view(rows, heads, -1, end)
        earlier = self._from_slots(torch.bmm(self._to_slots(queries, heads), prompt_keys.flatten(0, 1).transpose(1, 2)))
        scores = rules.capped(torch.cat([earlier.view(rows, heads, -1, prompt_keys.shape[2]), own], dim=-1))
        hidden = self._hidden(rules.window, prompt_keys.shape[2])
        if hidden is not None:
            scores = scores.masked_fill(hidden, float("-inf"))
        shares = torch.softmax(scores, dim=-1)
        split = prompt_keys.shape[2]
        found = torch.bmm(shares[..., split:].flatten(0, 1), values)
        of_prompt = self._to_slots(shares[..., :split].flatten(0, 1), heads)
        found = found + self._from_slots(torch.bmm(of_prompt, prompt_values.flatten(0, 1)))
        return found.view(rows, 1, -1, prompt_values.shape[3])

    def _to_slots(self, rows: Tensor, heads: int) -> Tensor:
        """(rows · heads, repeats, n) → (prompts · heads, slots · repeats, n)."""
        repeats, n = rows.shape[1:]
        slots = rows.view(-1, heads, repeats, n).index_select(0, self.row_of_slot)
        slots = slots.view(-1, self.wide, heads, repeats, n).transpose(1, 2)
        return slots.reshape(-1, self.wide * repeats, n)

    def _from_slots(self, slots: Tensor) -> Tensor:
        """The way back: (prompts · heads, slots · repeats, n) → (rows · heads, repeats, n)."""
        n = slots.shape[2]
        heads, repeats = len(slots) // len(self.lengths), slots.shape[1] // self.wide
        rows = slots.view(-1, heads, self.wide, repeats, n).transpose(1, 2).reshape(-1, heads, repeats, n)
        return rows.index_select(0, self.slot_of_row).view(-1, repeats, n)

    def _hidden(self, window: int | None, longest: int) -> Tensor | None:
        """(rows, 1, 1, keys), True where a row may not look: a prompt's padding, and what lies before its window."""
        if window not in self._hidden_keys:
            lengths = self.lengths[self.group].unsqueeze(1)
            prompt, own = (torch.arange(n, device=lengths.device) for n in (longest, self.filled + 1))
            position = lengths + self.filled
            places = torch.cat([prompt.expand(len(lengths), -1), lengths + own], dim=1)
            hidden = torch.cat([prompt >= lengths, torch.zeros_like(lengths + own, dtype=torch.bool)], dim=1)
            if window is not None:
                hidden |= position - places >= window
            self._hidden_keys[window] = hidden[:, None, None, :] if bool(hidden.any()) else None
        return self._hidden_keys[window]


class PlainDecoder:
    """The library's own cache and attention, prompts padded on the left and repeated for every row."""

    def __init__(self, network: Network, prompts: Sequence[Ids], copies: Sequence[int], new: int) -> None:
        del new
        self.network = network
        rows = [prompt for prompt, count in zip(prompts, copies, strict=True) for _ in range(count)]
        longest = max(map(len, rows))
        ids = torch.tensor([[0] * (longest - len(r)) + list(r) for r in rows], device=network.device)
        self.lengths = torch.tensor([len(r) for r in rows], device=network.device)
        self.seen = torch.arange(longest, device=network.device) >= longest - self.lengths.unsqueeze(1)
        self.cache = DynamicCache(config=network.config)
        positions = (self.seen.cumsum(dim=1) - 1).clamp(min=0)
        self.hidden = network.hidden(ids, positions, self.seen, self.cache)[:, -1]

    def advance(self, tokens: Tensor) -> None:
        """Feed every row its next token, (rows,)."""
        positions, self.lengths = self.lengths.unsqueeze(1), self.lengths + 1
        self.seen = torch.cat([self.seen, self.seen.new_ones((len(tokens), 1))], dim=1)
        self.hidden = self.network.hidden(tokens.unsqueeze(1), positions, self.seen, self.cache)[:, 0]

    def keep(self, rows: Tensor) -> None:
        """Drop all but these rows."""
        self.hidden, self.lengths, self.seen = self.hidden[rows], self.lengths[rows], self.seen[rows]
        self.cache.batch_select_indices(rows)


def _by_prompt(flat: Tensor, places: Tensor, longest: int) -> Tensor:
    """(heads, tokens, size) of a line → (prompts, heads, longest, size)."""
    chosen = flat.index_select(1, places)
    return chosen.view(flat.shape[0], -1, longest, flat.shape[2]).transpose(0, 1).contiguous()
