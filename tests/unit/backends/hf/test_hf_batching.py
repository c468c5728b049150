"""Micro-batches hold every row once, whole, and within the budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.backends.hf.conftest import grouped_rows, random_ids, row

from askfirst.backends.hf.batching import GROUP_ROOM, MicroBatch, micro_batches
from askfirst.errors import BackendFault
from askfirst.values import Row


@given(
    prompts=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=4),
    replies=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=12),
    budget=st.integers(1, 60),
    share=st.booleans(),
)
def test_rows_are_put_together_again(
    prompts: list[list[int]], replies: list[tuple[int, int]], budget: int, share: bool
) -> None:
    rows = [row(prompts[p % len(prompts)], range(n)) for p, n in replies]
    batches = micro_batches(rows, budget, share)
    assert sorted(i for b in batches for i in b.rows) == list(range(len(rows)))
    for batch in batches:
        heads = {tuple(rows[i].token_ids[: int(rows[i].mask.argmax()) - 1].tolist()) for i in batch.rows}
        room = GROUP_ROOM * budget if share and len(heads) == 1 else budget
        assert len(batch.rows) == 1 or batch.ids.size <= room
        assert share == bool(batch.blocks)
        seen = sequences(batch)
        flat, found = batch.ids.flatten(), 0
        for i in batch.rows:
            for t in np.flatnonzero(rows[i].mask):
                place = int(batch.where[found])
                assert seen[place] == tuple(rows[i].token_ids[:t].tolist())
                assert flat[place] == rows[i].token_ids[t - 1]
                found += 1
        assert found == len(batch.where)


def sequences(batch: MicroBatch) -> dict[int, tuple[int, ...]]:
    """For each place what a token there sees, itself included."""
    seen: dict[int, tuple[int, ...]] = {}
    if not batch.blocks:
        length = batch.ids.shape[1]
        for place in range(batch.ids.size):
            line, column = divmod(place, length)
            seen[place] = tuple(batch.ids[line, : column + 1].tolist())
        return seen
    (line,) = batch.ids
    for block in batch.blocks:
        before = tuple(int(t) for a, b in block.chain for t in line[a:b])
        for start, stop in block.children:
            for place in range(start, stop):
                assert place not in seen
                seen[place] = before + tuple(line[start : place + 1].tolist())
                assert batch.positions[0, place] == len(seen[place]) - 1
    assert sorted(seen) == list(range(len(line)))  # blocks hold every token once, in order
    return seen


def test_a_prompt_is_computed_once_for_its_rows() -> None:
    prompt = random_ids(100, 1)
    rows = [row(prompt, random_ids(10, i)) for i in range(8)]
    (batch,) = micro_batches(rows, 4096, pack=True)
    assert batch.ids.size == 99 + 8 * 11
    (plain,) = micro_batches(rows, 4096, pack=False)
    assert plain.ids.size == 8 * 110


def test_a_common_beginning_is_computed_once_for_different_prompts() -> None:
    system = random_ids(50, 1)
    rows = [row(system + random_ids(10, i), random_ids(5, 20 + j)) for i in range(6) for j in range(2)]
    (batch,) = micro_batches(rows, 4096, pack=True)
    assert batch.ids.size == 50 + 6 * (9 + 2 * 6)
    assert [len(b.chain) for b in batch.blocks] == [0, 1] + [2] * 6


def test_rows_without_mask_are_left_out_and_a_masked_first_token_is_refused() -> None:
    ids = np.arange(4)
    none = np.zeros(0)
    blind = Row(ids, np.zeros(4, dtype=np.bool_), none, none, none)
    assert [b.rows for b in micro_batches([blind, *grouped_rows()[:1]], 100, pack=True)] == [(1,)]
    with pytest.raises(BackendFault, match="first token is masked"):
        micro_batches([Row(ids, np.ones(4, dtype=np.bool_), none, none, none)], 100, pack=True)
