"""The text form, its hash, and the hash of a whole database of which some records were changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askfirst.retail.hashing import page_of, sha256_of, text_form

EXAMPLES = (
    (
        '{"b": [1, 2.0, true], "a": "it\'s"}',
        "(('a', \"it's\"), ('b', (1, 2.0, True)))",
        "e407c577993b2d7851e277f452965152b31a2ee9a3f29af7bcab556b4cf7f7f0",
    ),
    (
        '{"orders": {"#W1": {"status": "pending", "items": ["x"], "total": 10.5}}}',
        "(('orders', (('#W1', (('items', ('x',)), ('status', 'pending'), ('total', 10.5))),)),)",
        "98965c27222fac850678f26bd2b803472cc51ce577f5c5712c995e22efba3cc3",
    ),
    (
        '{"z": [], "y": {}, "B": null, "a": -0.0, "x": 1.4210854715202004e-14}',
        "(('B', None), ('a', -0.0), ('x', 1.4210854715202004e-14), ('y', ()), ('z', ()))",
        "9f6fbadcec5ed168651e5f1d8ec9a9ca208a3a553a8898be537f614314669d33",
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(("source", "text", "sha256"), EXAMPLES)
def test_the_published_examples(source: str, text: str, sha256: str) -> None:
    value = json.loads(source)
    assert text_form(value) == text
    assert sha256_of(value) == sha256


def test_types_and_the_order_of_lists_matter_and_that_of_keys_does_not() -> None:
    assert len({sha256_of({"a": value}) for value in (1, 1.0, "1", True)}) == 4
    assert sha256_of([1, 2]) != sha256_of([2, 1])
    assert sha256_of({"a": 1, "b": 2}) == sha256_of({"b": 2, "a": 1})


RECORDS = st.dictionaries(st.sampled_from("xyz"), JSON, max_size=2)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from("abc"), RECORDS, max_size=3), JSON)
def test_a_page_is_the_text_form_and_takes_changes_in_any_place(tables: dict[str, Any], value: Any) -> None:
    page = page_of(tables)
    assert page.text.decode() == text_form(tables)
    assert page.sha256 == page.sha256_with({}) == sha256_of(tables)
    for place in [*page.spans][:2]:
        table, key = place
        changed = {**tables, table: {**tables[table], key: value}}
        assert page.sha256_with({place: text_form(value).encode()}) == sha256_of(changed)
    everything = {name: dict.fromkeys(records, value) for name, records in tables.items()}
    text = text_form(value).encode()
    assert page.sha256_with(dict.fromkeys(page.spans, text)) == sha256_of(everything)
