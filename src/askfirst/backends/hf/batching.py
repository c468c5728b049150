"""Which rows are trained together, and which of their tokens are computed only once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from askfirst.errors import BackendFault
from askfirst.values import Row

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Rows computed in one pass: row `rows[i]` is `prefixes[prefix_of[i]] + suffixes[i]`.

    A prefix never holds the last token before the first masked one, so that every prediction is made
    by a suffix token. `prefixes` is empty where nothing is shared.
    """

    rows: tuple[int, ...]
    prefixes: tuple[Ids, ...]
    prefix_of: tuple[int, ...]
    suffixes: tuple[Ids, ...]

    @property
    def padded_tokens(self) -> int:
        """Token positions computed, padding included."""
        prefix = len(self.prefixes) * max(map(len, self.prefixes), default=0)
        return prefix + len(self.suffixes) * max(map(len, self.suffixes))


def micro_batches(rows: Sequence[Row], budget: int, share: bool) -> list[MicroBatch]:
    """All rows with a masked token, in micro-batches of at most `budget` padded tokens (one row at least).

    Raises BackendFault for a row whose first token is masked: nothing predicts it.
    """
    trained = [i for i, row in enumerate(rows) if row.mask.any()]
    for i in trained:
        if rows[i].mask[0]:
            raise BackendFault(f"row {i}: its first token is masked, but nothing comes before it to predict it")
    ids = {i: tuple(rows[i].token_ids.tolist()) for i in trained}
    heads = {i: ids[i][: int(rows[i].mask.argmax()) - 1] for i in trained}
    # Prompts of similar length together; rows of one prompt side by side.
    order = sorted(trained, key=lambda i: (len(heads[i]), heads[i], len(ids[i]), i))
    return list(_fill(order, ids, heads, budget, share))


def _fill(
    order: list[int], ids: dict[int, Ids], heads: dict[int, Ids], budget: int, share: bool
) -> Iterator[MicroBatch]:
    batch: MicroBatch | None = None
    for _, group in itertools.groupby(order, key=lambda i: heads[i]):
        # A prompt's rows stay together where they fit: split, its prefix would be computed twice.
        for part in _parts(list(group), ids, heads, budget, share):
            together = _arrange((*batch.rows, *part.rows), ids, heads, share) if batch else part
            if batch and together.padded_tokens > budget:
                yield batch
                together = part
            batch = together
    if batch:
        yield batch


def _parts(
    group: list[int], ids: dict[int, Ids], heads: dict[int, Ids], budget: int, share: bool
) -> Iterator[MicroBatch]:
    """The rows of one prompt, cut into as few micro-batches as the budget allows."""
    whole = _arrange(tuple(group), ids, heads, share)
    if len(group) == 1 or whole.padded_tokens <= budget:
        yield whole
        return
    half = len(group) // 2
    yield from _parts(group[:half], ids, heads, budget, share)
    yield from _parts(group[half:], ids, heads, budget, share)


def _arrange(rows: tuple[int, ...], ids: dict[int, Ids], heads: dict[int, Ids], share: bool) -> MicroBatch:
    """The cheapest of: nothing shared, one prefix a prompt, one prefix common to all rows."""
    choices = [MicroBatch(rows, (), (), tuple(ids[i] for i in rows))]
    if share and len(rows) > 1:
        prompts = tuple(dict.fromkeys(heads[i] for i in rows))
        choices.append(_split(rows, ids, prompts, [heads[i] for i in rows]))
        common = _common_prefix(prompts)
        choices.append(_split(rows, ids, (common,), [common] * len(rows)))
    usable = [c for c in choices if not c.prefixes or min(map(len, c.prefixes)) > 0]
    return min(usable, key=lambda c: c.padded_tokens)


def _split(rows: tuple[int, ...], ids: dict[int, Ids], prefixes: tuple[Ids, ...], prefix_of: list[Ids]) -> MicroBatch:
    place = {prefix: i for i, prefix in enumerate(prefixes)}
    suffixes = tuple(ids[i][len(prefix) :] for i, prefix in zip(rows, prefix_of, strict=True))
    return MicroBatch(rows, prefixes, tuple(place[p] for p in prefix_of), suffixes)


def _common_prefix(prompts: Sequence[Ids]) -> Ids:
    first, last = min(prompts), max(prompts)  # in sorted order these two differ earliest
    shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return tuple(token for token, _ in shared)


def left_padded(prefixes: Sequence[Ids]) -> tuple[np.ndarray, np.ndarray]:
    """Ids and mask (prefixes, longest), padding on the left."""
    longest = max(map(len, prefixes))
    ids = np.zeros((len(prefixes), longest), dtype=np.int64)
    mask = np.zeros((len(prefixes), longest), dtype=np.bool_)
    for i, prefix in enumerate(prefixes):
        ids[i, longest - len(prefix) :] = prefix
        mask[i, longest - len(prefix) :] = True
    return ids, mask


def right_padded(suffixes: Sequence[Ids]) -> np.ndarray:
    """Ids (rows, longest), padding on the right, where a causal model never looks."""
    ids = np.zeros((len(suffixes), max(map(len, suffixes))), dtype=np.int64)
    for i, suffix in enumerate(suffixes):
        ids[i, : len(suffix)] = suffix
    return ids
