import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askfirst import store

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
records = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def valid_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


documents = records.filter(valid_unicode)


def backwards(value):
    """The same value with the keys of every mapping in reverse order, and tuples for lists."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return tuple(map(backwards, value)) if isinstance(value, list) else value


@given(documents)
def test_canonical_text_reads_back_as_the_value(value):
    assert json.loads(store.canonical(value), parse_int=float) == value  # a number is a double


@given(documents)
def test_key_order_and_sequence_type_leave_text_and_hash_alone(value):
    assert store.canonical(backwards(value)) == store.canonical(value)
    assert store.content_hash(backwards(value)) == store.content_hash(value)


@given(documents, documents)
def test_different_values_hash_differently(one, two):
    same = store.canonical(one) == store.canonical(two)
    assert (store.content_hash(one) == store.content_hash(two)) is same


@given(documents, st.sampled_from([math.nan, math.inf, -math.inf]))
def test_what_is_not_finite_is_refused_wherever_it_stands(value, bad):
    with pytest.raises(ValueError, match="no place in a record"):
        store.canonical({"good": value, "bad": [{"deep": bad}]})


@given(st.lists(documents, max_size=5), st.data())
def test_a_log_cut_anywhere_holds_exactly_the_lines_before_the_cut(values, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.touch()
        for value in values:
            store.append_line(path, value)
        body = path.read_bytes()
        cut = body[: data.draw(st.integers(0, len(body)))]
        path.write_bytes(cut)
        whole = values[: cut.count(b"\n")]
        assert list(store.read_lines(path)) == whole
        store.append_line(path, "after")
        assert list(store.read_lines(path)) == [*whole, "after"]


@given(st.lists(st.integers() | st.text(alphabet="abcxyz019-", min_size=1), max_size=4))
def test_seeds_fit_in_63_bits_and_depend_on_every_name(names):
    assert 0 <= store.seed_from(*names) < 2**63
    assert store.seed_from(*names) == store.seed_from(*names)
    assert store.seed_from(*names, "more") != store.seed_from(*names)
