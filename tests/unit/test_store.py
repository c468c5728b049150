import json
import os
import re
import struct
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from askfirst import store
from askfirst.errors import InputError, StorageFault
from askfirst.values import EvalRecord, FrozenMap, GateResult, GateStatus, ItemOutcome


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Note:
    name: str
    tags: tuple[str, ...] = ()


def test_plain_turns_values_into_json_types():
    value = {
        "note": Note("a", ("x",)),
        "map": FrozenMap({"b": 1}),
        "colour": Colour.RED,
        "array": np.array([[1, 2]], dtype=np.int64),
        "scalar": np.float32(0.5),
        "flag": np.bool_(True),
        "path": Path("a") / "b",
        3: None,
    }
    assert store.plain(value) == {
        "note": {"name": "a", "tags": ["x"]},
        "map": {"b": 1},
        "colour": "red",
        "array": [[1, 2]],
        "scalar": 0.5,
        "flag": True,
        "path": "a/b",
        "3": None,
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("-inf"), np.array([1.0, np.nan])])
def test_what_is_not_finite_has_no_place_in_a_record(value):
    with pytest.raises(ValueError, match="no place in a record"):
        store.canonical({"a": [value]})


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", Note], ids=["object", "set", "bytes", "class"])
def test_unknown_types_have_no_place_in_a_record(value):
    with pytest.raises(TypeError, match="no place in a record"):
        store.canonical({"a": value})


def test_the_canonical_text_is_fixed():
    assert store.canonical({"b": (1, 0.1, True), "a": "é", "c": {}}) == '{"a":"é","b":[1,0.1,true],"c":{}}'
    assert store.content_hash({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


# From RFC 8785, appendix B: the bits of a double and its text.
DOUBLES = """
0000000000000000 0
8000000000000000 0
0000000000000001 5e-324
8000000000000001 -5e-324
7fefffffffffffff 1.7976931348623157e+308
4340000000000000 9007199254740992
c340000000000000 -9007199254740992
4430000000000000 295147905179352830000
44b52d02c7e14af5 9.999999999999997e+22
44b52d02c7e14af6 1e+23
44b52d02c7e14af7 1.0000000000000001e+23
444b1ae4d6e2ef4e 999999999999999700000
444b1ae4d6e2ef4f 999999999999999900000
444b1ae4d6e2ef50 1e+21
3eb0c6f7a0b5ed8c 9.999999999999997e-7
3eb0c6f7a0b5ed8d 0.000001
41b3de4355555553 333333333.3333332
41b3de4355555554 333333333.33333325
41b3de4355555555 333333333.3333333
becbf647612f3696 -0.0000033333333333333333
43143ff3c1cb0959 1424953923781206.2
"""


@pytest.mark.parametrize("line", DOUBLES.split("\n")[1:-1])
def test_numbers_are_written_as_rfc_8785_says(line):
    bits, text = line.split()
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert store.canonical(value) == text
    assert store.canonical(json.loads(text)) == text  # what was read back is written the same


def test_numbers_of_either_type_have_one_text():
    assert store.canonical([1, 1.0, -0.0, 1e-5, 4e-05]) == "[1,1,0,0.00001,0.00004]"
    for value in (2**53 + 1, -(2**64) - 1, 10**400):
        with pytest.raises(ValueError, match="write it as text"):
            store.canonical({"a": value})


def test_keys_and_strings_are_written_as_rfc_8785_says():
    keys = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    assert store.canonical(keys) == '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'
    assert store.canonical("\u20ac$\x0f\nA'B\"\\/\x7f\b\t") == '"\u20ac$\\u000f\\nA\'B\\"\\\\/\x7f\\b\\t"'
    with pytest.raises(ValueError, match="surrogates"):
        store.canonical({"a": "\ud800"})


def test_seeds_are_the_same_everywhere():
    assert store.seed_from("run", 0, "scenario", 3) == 5563907626805586626
    assert store.seed_from() == 8203414616412130826
    assert store.seed_from("ab", "c") != store.seed_from("a", "bc")
    assert store.generator("x", 1).integers(0, 2**32, 3).tolist() == [1394600609, 2416736369, 1438948643]


def test_write_text_makes_folders_and_replaces_the_whole_file(tmp_path):
    path = tmp_path / "a" / "b.txt"
    store.write_text(path, "a longer first text\n")
    store.write_text(path, "zweites ü\n")
    assert path.read_bytes() == "zweites ü\n".encode()
    assert os.listdir(path.parent) == ["b.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_write_under_a_file_is_a_storage_fault(tmp_path):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(StorageFault, match="cannot write") as caught:
        store.write_text(tmp_path / "file" / "run.json", "x")
    assert caught.value.where == str(tmp_path / "file" / "run.json")
    assert "intact" in caught.value.hint
    assert (tmp_path / "file").read_text() == "kept"


def test_a_write_that_fails_at_the_end_leaves_nothing_behind(tmp_path):
    # The temporary file is complete here; only the rename onto a folder fails.
    target = tmp_path / "run.json"
    target.mkdir()
    (target / "inside").write_text("kept")
    with pytest.raises(StorageFault):
        store.write_text(target, "x")
    assert os.listdir(tmp_path) == ["run.json"]
    assert (target / "inside").read_text() == "kept"


def test_a_write_that_fails_in_the_middle_keeps_the_old_text(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    store.write_text(path, "old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(StorageFault, match="No space left on device"):
        store.write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["run.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_a_storage_fault_for_a_log():
    with pytest.raises(StorageFault):
        store.append_line(Path("/dev/full"), {"a": 1})


def test_records_are_appended_and_read_back(tmp_path):
    path = tmp_path / "logs" / "metrics.jsonl"
    for step in range(3):
        store.append_line(path, {"step": step, "loss": 0.5})
    assert path.read_text() == "".join(f'{{"loss":0.5,"step":{step}}}\n' for step in range(3))
    assert [record["step"] for record in store.read_lines(path)] == [0, 1, 2]


@pytest.mark.parametrize("kept", ["", '{"step":0}\n', '{"step":0}\n{"step":1}\n'])
def test_a_torn_last_line_is_not_read_and_dropped_by_the_next_append(tmp_path, kept):
    path = tmp_path / "metrics.jsonl"
    path.write_text(kept + '{"step":1,"lo')
    before = list(store.read_lines(path))
    assert len(before) == kept.count("\n")
    store.append_line(path, {"step": 9})
    assert path.read_text() == kept + '{"step":9}\n'
    assert list(store.read_lines(path)) == [*before, {"step": 9}]


def test_a_line_that_would_parse_but_was_not_committed_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step":0}\n{"step":1}')
    assert list(store.read_lines(path)) == [{"step": 0}]


def test_a_malformed_line_is_named(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step":0}\n{"step":\n{"step":2}\n')
    lines = store.read_lines(path)
    assert next(lines) == {"step": 0}
    with pytest.raises(InputError, match="not JSON") as caught:
        next(lines)
    assert caught.value.where == f"{path}:2"


@pytest.mark.parametrize("read", [store.read_json, lambda path: list(store.read_lines(path))], ids=["json", "lines"])
def test_a_missing_file_is_the_users_matter(tmp_path, read):
    with pytest.raises(InputError, match="cannot read: No such file") as caught:
        read(tmp_path / "absent")
    assert caught.value.where == str(tmp_path / "absent")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, b"\xff\xfe"], ids=["empty", "cut", "deep", "bytes"])
def test_a_malformed_file_is_named(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match="not JSON") as caught:
        store.read_json(path)
    assert caught.value.where == str(path)


def test_a_record_is_read_back_as_what_it_was(tmp_path):
    path = tmp_path / "gate.json"
    gate = GateResult("activation", GateStatus.UNVERIFIED, "nothing ran", 0.25, "no pilot")
    store.write_json(path, gate)
    assert store.read_as(GateResult, path) == gate


def test_an_unknown_field_is_refused_at_any_depth():
    item = ItemOutcome("s", "desktop", "clear", True, False, True, 1.0, (), "ok")
    record = EvalRecord(1, "nano", "", "dev", 3, "strict@1#0", (item,))
    body = store.plain(record)
    assert store.as_record(EvalRecord, body, "here") == record
    body["items"][0]["grade"] = "good"
    with pytest.raises(InputError, match=r"^here: not a EvalRecord: .* at items\.0\.grade$"):
        store.as_record(EvalRecord, body, "here")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"name": "a", "colour": "red"}, "Unexpected keyword argument at colour"),
        ({"tags": []}, "Field required at name"),
        ({"name": 3}, "at name"),
        ([], "not a Note: Input should be a dictionary or an instance of Note at the top"),
    ],
)
def test_a_record_of_another_shape_is_refused(tmp_path, body, complaint):
    path = tmp_path / "note.json"
    store.write_json(path, body)
    with pytest.raises(InputError, match=re.escape(complaint)) as caught:
        store.read_as(Note, path)
    assert caught.value.where == str(path)


def test_a_log_is_written_whole(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    store.write_lines(path, [{"step": 0}, {"step": 1}])
    store.write_lines(path, ({"step": step} for step in (7,)))
    assert path.read_text() == '{"step":7}\n'


def test_a_folder_is_committed_whole_and_replaced_whole(tmp_path):
    path = tmp_path / "checkpoints" / "step-00020"
    store.commit_folder(path, lambda folder: folder.joinpath("weights").write_text("one"))
    store.commit_folder(path, lambda folder: folder.joinpath("state").write_text("two"))
    assert os.listdir(path.parent) == ["step-00020"]
    assert os.listdir(path) == ["state"]


@pytest.mark.parametrize(("error", "seen"), [(OSError(28, "No space left"), StorageFault), (KeyError("w"), KeyError)])
def test_a_folder_that_is_cut_short_is_not_there(tmp_path, error, seen):
    path = tmp_path / "step-00020"
    store.commit_folder(path, lambda folder: folder.joinpath("weights").write_text("old"))

    def fill(folder: Path) -> None:
        folder.joinpath("weights").write_text("half")
        raise error

    with pytest.raises(seen):
        store.commit_folder(path, fill)
    assert os.listdir(tmp_path) == ["step-00020"]
    assert (path / "weights").read_text() == "old"
