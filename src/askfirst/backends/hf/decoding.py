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
from askfirst.backends.hf.parking import Pair, Parking
from askfirst.errors import ModelError

PREFILL_TOKENS = 4096  # tokens computed in one pass before decoding


class Decoder(Protocol):
    """Rows in decoding; `hidden` (rows, size) are the states that predict each row's next token."""

    hidden: Tensor

    def advance(self, tokens: Tensor) -> None:
        """Feed every row its next token, (rows,)."""

    def keep(self, rows: Tensor) -> None:
        """Drop all but these rows."""


def decoder(network: Network, prompts: Sequence[Ids], copies: Sequence[int], new: int, more: bool = False) -> Decoder:
    """`copies[i]` rows that continue prompt i, with room for `new` tokens each.

    With `more` a PackedDecoder keeps what another turn needs.
    """
    if network.packs:
        return PackedDecoder(network, prompts, copies, new, Parking() if more else None)
    return PlainDecoder(network, prompts, copies)


class PackedDecoder:
    """Holds the keys and values of a prompt once for all of its rows, and writes those of the rows in place.

    Rows that are dropped are set aside in `parking`, where there is one; then `resume` goes on with any of the turn.
    """

    numbers: Tensor  # of the rows that are left, in this turn
    group: Tensor  # place in `prompts` of each row's prompt
    lengths: Tensor  # of the prompts at hand
    prompts: list[Pair]  # their keys and values in each layer
    # Places (row, token, place behind the prompt) of what is fed; none where a cut through the room has them.
    places: tuple[Tensor, Tensor, Tensor] | None

    def __init__(
        self,
        network: Network,
        prompts: Sequence[Ids],
        copies: Sequence[int],
        new: int,
        parking: Parking | None = None,
    ) -> None:
        self.network, self.parking = network, parking
        last, layers = self._prefill(prompts)
        self.whole = torch.tensor([len(p) for p in prompts], device=network.device), layers
        origin = torch.repeat_interleave(torch.arange(len(prompts)), torch.tensor(copies)).to(network.device)
        shapes = [(len(origin), k.shape[1], new, k.shape[3]) for k, _ in layers]
        own = [(k.new_zeros(shape), v.new_zeros(shape)) for shape, (k, v) in zip(shapes, layers, strict=True)]
        self._begin(origin, torch.zeros_like(origin), own)
        self.hidden = last[origin]

    def advance(self, tokens: Tensor) -> None:
        """Feed every row its next token, (rows,)."""
        self._feed(tokens.unsqueeze(1), None)

    def keep(self, rows: Tensor) -> None:
        """Drop all but these rows, and the prompts that no row continues."""
        if self.parking is not None:
            gone = torch.ones_like(self.numbers, dtype=torch.bool)
            gone[rows] = False
            self._park(gone.nonzero().squeeze(1), self.parking)
        for pair in self.own:
            for room in pair:
                room[: len(rows), :, : self.end] = room[rows, :, : self.end]
        self.hidden, self.numbers = self.hidden[rows], self.numbers[rows]
        self._count(self.filled[rows])
        self._choose_prompts()

    def resume(self, numbers: Sequence[int], held: Sequence[int], own: Sequence[Ids], new: int) -> None:
        """Start another turn with rows of the last one by number, those of a prompt side by side.

        `own[i]` is all that row i has behind its prompt by now; its first `held[i]` tokens stood there before. There is
        room for `new` more. Raises ModelError for a decoder without parking.
        """
        if self.parking is None:
            raise ModelError("a decoder without parking cannot resume")
        if len(self.numbers):
            self._park(torch.arange(len(self.numbers), device=self.network.device), self.parking)
        chosen = torch.tensor(numbers, device=self.network.device)
        filled, layers = self.parking.take(chosen, max(map(len, own)) + new)
        # A row that had ended was fed what nobody wanted until it was dropped.
        filled = torch.minimum(filled, torch.tensor(held, device=chosen.device))
        rest = [ids[n:] for ids, n in zip(own, filled.tolist(), strict=True)]
        longest, at_once = max(map(len, rest)), max(1, PREFILL_TOKENS // len(rest))
        tokens = torch.tensor([[*ids, *(0,) * (longest - len(ids))] for ids in rest], device=chosen.device)
        counts = torch.tensor([len(ids) for ids in rest], device=chosen.device)
        self._begin(self.origin[chosen], filled, layers)
        self.hidden = self.hidden.new_zeros((len(rest), self.hidden.shape[1]))
        for start in range(0, longest, at_once):
            part = tokens[:, start : start + at_once]
            self._feed(part, (counts - start).clamp(0, part.shape[1]))

    def _begin(self, origin: Tensor, filled: Tensor, own: list[Pair]) -> None:
        """A turn of rows that continue the prompts `origin` (rows,) and hold `filled` (rows,) own tokens each."""
        self.origin, self.own = origin, own
        self._count(filled)
        self.numbers = torch.arange(len(origin), device=origin.device)
        self._hidden_keys: dict[int | None, Tensor | None] = {}
        self._choose_prompts()

    def _park(self, rows: Tensor, parking: Parking) -> None:
        if len(rows):
            parking.put(self.numbers[rows], rows, self.filled[rows], self.own)

    def _feed(self, tokens: Tensor, counts: Tensor | None) -> None:
        """Feed the first `counts` (rows,) of tokens (rows, n), or all: `hidden` is then that of each row's last."""
        rows, n = tokens.shape
        steps = torch.arange(n, device=tokens.device)
        self.positions = (self.lengths[self.group] + self.filled).unsqueeze(1) + steps
        fed = torch.full_like(self.filled, n) if counts is None else counts
        if self.even and counts is None:
            self.places = None
        else:
            row, token = (steps < fed.unsqueeze(1)).nonzero(as_tuple=True)
            self.places = row, token, self.filled[row] + token
        self._count(self.filled + fed)
        self._hidden_keys.clear()  # what is hidden changes with every token, and only with that
        with attending(self._attend):
            # What is fed to rows that have no more tokens is nobody's, and must not leave the model's context.
            positions = self.positions.clamp(max=self.network.context - 1)
            states = self.network.hidden(tokens, positions, ready_mask(tokens), None)
        last = states[torch.arange(rows, device=tokens.device), (fed - 1).clamp(min=0)]
        self.hidden = last if counts is None else torch.where((fed > 0).unsqueeze(1), last, self.hidden)

    def _count(self, filled: Tensor) -> None:
        """Own tokens of each row (rows,), of the longest, and whether all have as many."""
        self.filled, self.end = filled, int(filled.max())
        self.even = self.end == int(filled.min())

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

    def _choose_prompts(self) -> None:
        """Hold those prompts at hand that a row continues, and give each row a slot beside the others of its prompt."""
        groups, self.group = torch.unique(self.origin[self.numbers], return_inverse=True)
        self.lengths, self.prompts = self.whole
        if len(groups) < len(self.lengths):
            self.lengths = self.lengths[groups]
            self.prompts = [(k[groups], v[groups]) for k, v in self.prompts]
        if self.parking is None:  # nothing comes back: what no row continues is not needed any more
            self.whole = self.lengths, self.prompts
            self.origin[self.numbers] = self.group
        count = torch.bincount(self.group, minlength=len(self.lengths))
        self.wide = int(count.max())
        first = torch.cumsum(count, 0) - count
        self.full = len(self.group) == len(self.lengths) * self.wide  # then slots are rows
        # Rows of a prompt stand side by side.
        rows = torch.arange(len(self.group), device=first.device)
        self.slot_of_row = self.group * self.wide + rows - first[self.group]
        self.row_of_slot = first.new_zeros(len(self.lengths) * self.wide)
        self.row_of_slot[self.slot_of_row] = rows

    def _attend(self, rules: Rules, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Queries (rows, heads, n, size) over the prompt and the row so far, its newest n tokens included."""
        rows, heads, n, size = len(query), key.shape[1], query.shape[2], query.shape[3]
        prompt_keys, prompt_values = self.prompts[rules.layer]
        for room, newest in zip(self.own[rules.layer], (key, value), strict=True):
            self._write(room, newest)
        # Rows of a room lie evenly, so a cut through it can be multiplied where it stands.
        keys, values = (x.flatten(0, 1)[: rows * heads, : self.end] for x in self.own[rules.layer])
        queries = (query * rules.scaling).reshape(rows * heads, -1, size)
        own = torch.bmm(queries, keys.transpose(1, 2)).view(rows, heads, -1, self.end)
        earlier = self._from_slots(torch.bmm(self._to_slots(queries, heads), prompt_keys.flatten(0, 1).transpose(1, 2)))
        split = prompt_keys.shape[2]
        scores = rules.capped(torch.cat([earlier.view(rows, heads, -1, split), own], dim=-1))
        hidden = self._hidden(rules.window, split)
        if hidden is not None:
            wide = scores.view(rows, heads, -1, n, scores.shape[3])
            scores = wide.masked_fill(hidden, float("-inf")).view(scores.shape)
        shares = torch.softmax(scores, dim=-1)
        found = torch.bmm(shares[..., split:].flatten(0, 1), values)
        of_prompt = self._to_slots(shares[..., :split].flatten(0, 1), heads)
        found = found + self._from_slots(torch.bmm(of_prompt, prompt_values.flatten(0, 1)))
        return found.view(rows, -1, n, size).transpose(1, 2)

    def _write(self, room: Tensor, newest: Tensor) -> None:
        """Put the newest (rows, heads, n, size) of each row behind what it has."""
        if self.places is None:
            room[: len(newest), :, self.end - newest.shape[2] : self.end] = newest
            return
        row, token, place = self.places
        room[row, :, place] = newest[row, :, token]

    def _to_slots(self, rows: Tensor, heads: int) -> Tensor:
        """(rows · heads, repeats, n) → (prompts · heads, slots · repeats, n)."""
        repeats, n = rows.shape[1:]
        slots = rows.view(-1, heads, repeats, n)
        slots = (
            (slots if self.full else slots.index_select(0, self.row_of_slot))
            .view(-1, self.wide, heads, repeats, n)
            .transpose(1, 2)
        )
        return slots.reshape(-1, self.wide * repeats, n)

    def _from_slots(self, slots: Tensor) -> Tensor:
        """The way back: (prompts · heads, slots · repeats, n) → (rows · heads, repeats, n)."""
        n = slots.shape[2]
        heads, repeats = len(slots) // len(self.lengths), slots.shape[1] // self.wide
        rows = slots.view(-1, heads, self.wide, repeats, n).transpose(1, 2).reshape(-1, heads, repeats, n)
        return (rows if self.full else rows.index_select(0, self.slot_of_row)).reshape(-1, repeats, n)

    def _hidden(self, window: int | None, longest: int) -> Tensor | None:
        """(rows, 1, 1, n, keys), True where a token may not look: a prompt's padding, what comes later in its own
        row, and what lies before its window."""
        if window not in self._hidden_keys:
            lengths = self.lengths[self.group].unsqueeze(1)
            prompt, own = (torch.arange(n, device=lengths.device) for n in (longest, self.end))
            places = torch.cat([prompt.expand(len(lengths), -1), lengths + own], dim=1).unsqueeze(1)  # (rows, 1, keys)
            queries = self.positions.unsqueeze(2)  # (rows, n, 1)
            padding = torch.cat([prompt >= lengths, torch.zeros_like(lengths + own, dtype=torch.bool)], dim=1)
            hidden = padding.unsqueeze(1) | (places > queries)
            if window is not None:
                hidden |= queries - places >= window
            self._hidden_keys[window] = hidden[:, None, None] if bool(hidden.any()) else None
        return self._hidden_keys[window]


class PlainDecoder:
    """The library's own cache and attention, prompts padded on the left and repeated for every row."""

    def __init__(self, network: Network, prompts: Sequence[Ids], copies: Sequence[int]) -> None:
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
