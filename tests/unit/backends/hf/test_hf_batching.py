"""Micro-batches hold every row once, whole, and within the budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.backends.hf.conftest import grouped_rows, random_ids, row

from askfirst.backends.hf.batching import left_padded, micro_batches, right_padded
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
        assert len(batch.rows) == 1 or batch.padded_tokens <= budget
        for place, i in enumerate(batch.rows):
            prefix = batch.prefixes[batch.prefix_of[place]] if batch.prefixes else ()
            assert prefix + batch.suffixes[place] == tuple(rows[i].token_ids.tolist())
            assert len(prefix) < int(rows[i].mask.argmax())  # the suffix predicts the first masked token
        assert share or not batch.prefixes


def test_a_prompt_is_computed_once_for_its_rows() -> None:
    prompt = random_ids(100, 1)
    rows = [row(prompt, random_ids(10, i)) for i in range(8)]
    (batch,) = micro_batches(rows, 4096, share=True)
    assert batch.prefixes == (prompt[:-1],)
    assert batch.padded_tokens == 99 + 8 * 11
    (plain,) = micro_batches(rows, 4096, share=False)
    assert plain.padded_tokens == 8 * 110


def test_a_common_beginning_is_computed_once_for_different_prompts() -> None:
    system = random_ids(50, 1)
    rows = [row(system + random_ids(10, i), random_ids(5, i)) for i in range(6)]
    (batch,) = micro_batches(rows, 4096, share=True)
    assert len(batch.prefixes) == 1
    assert batch.prefixes[0][:50] == system


def test_rows_without_mask_are_left_out_and_a_masked_first_token_is_refused() -> None:
    ids = np.arange(4)
    none = np.zeros(0)
    blind = Row(ids, np.zeros(4, dtype=np.bool_), none, none, none)
    assert [b.rows for b in micro_batches([blind, *grouped_rows()[:1]], 100, share=True)] == [(1,)]
    with pytest.raises(BackendFault, match="first token is masked"):
        micro_batches([Row(ids, np.ones(4, dtype=np.bool_), none, none, none)], 100, share=True)


def test_padding_goes_to_the_outside() -> None:
    ids, mask = left_padded([(1, 2, 3), (4,)])
    assert ids.tolist() == [[1, 2, 3], [0, 0, 4]]
    assert mask.tolist() == [[True, True, True], [False, False, True]]
    assert right_padded([(1, 2, 3), (4,)]).tolist() == [[1, 2, 3], [4, 0, 0]]
