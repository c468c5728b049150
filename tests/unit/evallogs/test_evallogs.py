"""Logs made elsewhere: what is read of them, which samples join, and what is said of those that do not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from askfirst.errors import InputError
from askfirst.evallogs.logs import Log, Sample, read_inspect, read_lm_eval
from askfirst.evallogs.pairs import change_of, chosen_score, compare_logs, described, join
from askfirst.store import write_text


def log(values: Mapping[Any, float | None], name: str = "a", **changed: Any) -> Log:
    """A log of samples by id, or by id and epoch; None is an error."""
    samples = []
    for key, value in values.items():
        sample, epoch = key if isinstance(key, tuple) else (key, 1)
        scores = {} if value is None else {"match": value}
        samples.append(Sample(str(sample), epoch, f"asked {sample}", scores, "" if scores else "timed out"))
    return Log(**{"path": name, "task": "toy", "model": "m", "status": "success", "samples": tuple(samples), **changed})


def line(number: int, value: object, **changed: Any) -> dict[str, Any]:
    body = {"doc_id": number, "doc": {"q": number}, "target": "yes", "metrics": ["acc"], "acc": value, "filter": "none"}
    return {**body, "doc_hash": f"d{number}", "target_hash": "t", "prompt_hash": "p", **changed}


def samples(path: Path, *lines: object) -> Path:
    write_text(path, "".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_runs_and_logs_are_judged_by_the_same_rule() -> None:
    before = log({i: float(i < 10) for i in range(40)})
    after = log({i: float(i < 30) for i in range(40)}, "b")
    found = compare_logs(before, after, "match", None, 0.05)
    assert found.holds
    assert (found.change.wins, found.change.losses, found.change.n) == (20, 0, 40)
    assert found.change.p == pytest.approx(2 * 0.5**20)
    assert "match 25% → 75%, +50.0 points [" in found.reason
    assert found.reason.endswith("more pass")
    assert not compare_logs(after, before, "match", None, 0.05).holds
    same = compare_logs(before, before, "match", 0.15, 0.05)
    assert same.holds
    assert same.reason.endswith("no regression beyond 15 points")
    assert not compare_logs(before, before, "match", 0.01, 0.05).holds
    with pytest.raises(InputError, match="alpha must lie"):
        compare_logs(before, after, "match", None, 0.0)


def test_every_sample_that_is_left_out_is_named_with_its_reason() -> None:
    first = log({"both": 1.0, "old": 1.0, "error": None, "twice": 1.0, "other": 1.0})
    twice = Sample("twice", 1, "asked twice", {"match": 0.0})
    second = log({"both": 0.0, "new": 1.0, "error": 1.0, "twice": 1.0, "other": 1.0}, "b", status="cancelled")
    moved = tuple(Sample(s.id, 1, "another", s.scores) if s.id == "other" else s for s in second.samples)
    second = log({}, "b", samples=(*moved, twice), status="cancelled", task="toys", strange={"match": 2})
    found = join(first, second, "match")
    assert found.keys == (("both", 1),)
    assert found.alone == ((("old", 1),), (("new", 1),))
    assert (found.doubled, found.unlike, found.unscored) == ((("twice", 1),), (("other", 1),), (("error", 1),))
    said = "\n".join(compare_logs(first, second, "match", None, 0.05).limits)
    for words in (
        "1 left out: only in the first log, such as old (epoch 1)",
        "1 left out: only in the second log, such as new",
        "1 left out: more than once in a log, such as twice",
        "1 left out: another question or target in each log, such as other",
        "1 left out: without the score, or with an error, in a log, such as error",
        "the tasks have different names: toy and toys",
        "b ended with status cancelled",
        "b has 2 values of match that are no number from 0 to 1",
    ):
        assert words in said


def test_logs_without_a_sample_in_common_do_not_pair() -> None:
    with pytest.raises(InputError, match="of 1 and 1 samples none is in both"):
        join(log({1: 1.0}), log({2: 1.0}), "match")


def test_the_epochs_of_a_sample_are_one_unit() -> None:
    """Three epochs of one sample that all change alike are not three samples."""
    once = change_of(join(log(dict.fromkeys(range(24), 0.0)), log({i: float(i < 9) for i in range(24)}), "match"), 0.05)
    keys = [(i, epoch) for i in range(24) for epoch in (1, 2, 3)]
    many = join(log(dict.fromkeys(keys, 0.0)), log({key: float(key[0] < 9) for key in keys}), "match")
    thrice = change_of(many, 0.05)
    assert (once.n, thrice.n, thrice.wins, thrice.p) == (24, 24, 9, None)
    assert thrice.difference.estimate == pytest.approx(once.difference.estimate)
    width = [each.difference.upper - each.difference.lower for each in (once, thrice)]
    assert width[1] > 0.9 * width[0]


@pytest.mark.parametrize("after", [lambda i: 1.0, lambda i: 0.5 + (i == 0) / 4])
def test_few_samples_or_no_spread_give_wide_bounds(after: Callable[[int], float]) -> None:
    few = 30 if after(0) == 1.0 else 4
    found = change_of(join(log(dict.fromkeys(range(few), 0.5)), log({i: after(i) for i in range(few)}), "match"), 0.05)
    assert found.difference.method.startswith("paired_hoeffding")
    assert found.p is None


def test_the_score_is_named_where_there_are_several() -> None:
    several = log({}, samples=(Sample("s", 1, "q", {"match": 1.0, "f1": 0.5}),))
    one = log({"s": 1.0})
    assert chosen_score([several, one], "") == "match"
    assert chosen_score([several, several], "f1") == "f1"
    with pytest.raises(InputError, match="2 scores are in every log"):
        chosen_score([several, several], "")
    with pytest.raises(InputError, match="no score is called 'f1' in every log"):
        chosen_score([several, one], "f1")


def test_the_harness_has_hashes_filters_and_whatever_else_stands_in_a_line(tmp_path: Path) -> None:
    strict, loose = {"filter": "strict"}, {"filter": "loose"}
    path = samples(
        tmp_path / "a-model" / "samples_toy_2026-01-01.jsonl",
        *(line(i, 1.0, **strict) for i in range(3)),
        *(line(i, i / 2, **loose) for i in range(3)),
        line(3, 7.0),
        line(0, 0.0, **strict),
    )
    found = read_lm_eval(path)
    assert (found.task, found.model, found.scores) == ("toy", "a-model", ("acc,strict", "acc,loose"))
    assert found.samples[1].scores == {"acc,strict": 1.0, "acc,loose": 0.5}
    assert found.strange == {"acc": 1}
    shown = described(found)
    assert shown.doubled == (("0", 1),)
    assert [(share.samples, share.mean, share.bounds is None) for share in shown.shares] == [
        (2, 1.0, False),
        (2, 0.75, True),
    ]
    assert len(set(shown.hashes.values())) == 4
    assert "acc,strict" in "\n".join(shown.lines())


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["nothing"], r"x\.jsonl:1: expected a sample"),
        ([line(0, 1.0), {"doc_id": True, "metrics": []}], r"x\.jsonl:2: expected a sample"),
        ([], "there are no samples"),
        ([line(0, 1.0, doc_hash=None, doc="\ud800")], r"x\.jsonl:1: the document has no hash"),
    ],
)
def test_a_file_that_is_none_is_named_with_its_line(tmp_path: Path, lines: list[object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_lm_eval(samples(tmp_path / "x.jsonl", *lines))


def test_an_empty_log_says_nothing() -> None:
    with pytest.raises(InputError, match="there are no samples"):
        described(log({}))


# ---- with inspect_ai itself: it takes seconds to import


MAKE = """
import sys
import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes, match
from inspect_ai.solver import solver

folder, epochs, wrong, *ids = sys.argv[1:]


@solver
def says():
    async def solve(state, generate):
        said = "no" if state.sample_id in wrong.split() else "yes"
        state.output = ModelOutput.from_content("mockllm/model", said)
        return state

    return solve


asked = [Sample(id=each, input=f"question {each}", target="yes") for each in ids]
task = inspect_ai.Task(dataset=asked, solver=says(), scorer=[match(), includes()], epochs=int(epochs), name="toy")
inspect_ai.eval(task, model="mockllm/model", log_dir=folder, log_format="eval", display="none")
"""


def inspect_log(folder: Path, wrong: list[str], ids: list[str], epochs: int = 1) -> Path:
    """A log that inspect_ai wrote, in a process of its own: it leaves streams open."""
    pytest.importorskip("inspect_ai")
    subprocess.run([sys.executable, "-c", MAKE, str(folder), str(epochs), " ".join(wrong), *ids], check=True)
    [made] = folder.glob("*.eval")
    return made


@pytest.mark.thorough
def test_logs_of_inspect_are_read_joined_and_judged(tmp_path: Path) -> None:
    ids = [f"s{i:02d}" for i in range(30)]
    first = read_inspect(inspect_log(tmp_path / "a", ids[:20], ids))
    second = read_inspect(inspect_log(tmp_path / "b", ids[:4], [*ids[1:], "t1"]))
    assert (first.task, first.model, first.status) == ("toy", "mockllm/model", "success")
    found = compare_logs(first, second, chosen_score([first, second], "match"), None, 0.05)
    assert (found.change.n, found.change.wins, found.change.losses) == (29, 16, 0)
    assert found.joined.alone == ((("s00", 1),), (("t1", 1),))
    assert found.holds


@pytest.mark.thorough
def test_epochs_of_inspect_join_by_id_and_epoch(tmp_path: Path) -> None:
    one = read_inspect(inspect_log(tmp_path / "a", [], ["s0", "s1"], epochs=2))
    assert [sample.key for sample in one.samples] == [("s0", 1), ("s1", 1), ("s0", 2), ("s1", 2)]
    assert join(one, one, "includes").epochs == 2


@pytest.mark.thorough
def test_a_file_that_is_no_log_of_inspect(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    for name, body in (("a.eval", "no zip"), ("b.json", "{}"), ("c.json", "[")):
        write_text(tmp_path / name, body)
        with pytest.raises(InputError, match="not a log of Inspect"):
            read_inspect(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        read_inspect(tmp_path / "missing.eval")
