"""The mlx-lm-lora export: the file registers and grades as there, and the preflight finds what would be swallowed."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from askfirst import plugins
from askfirst.cases import play
from askfirst.errors import InputError
from askfirst.exports import mlx
from askfirst.exports.preflight import REGISTRY, Flight, preflight
from askfirst.rollout import Scorer


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Callable[..., Any]]]:
    """The trainer's own registry where it is installed; elsewhere one that registers in the same way."""
    try:
        known = importlib.import_module(REGISTRY).REWARD_REGISTRY
    except ModuleNotFoundError:
        known, parts = {}, REGISTRY.split(".")

        def register_reward_function(name: str | None = None) -> Callable[..., Any]:
            return lambda function: known.setdefault(name or function.__name__, function)

        for depth in range(1, len(parts) + 1):
            module = types.ModuleType(".".join(parts[:depth]))
            module.__path__ = []
            monkeypatch.setitem(sys.modules, module.__name__, module)
        module.register_reward_function = register_reward_function
    yield known
    for name in [name for name in known if name.startswith("askfirst_")]:
        del known[name]


def load(file: Path) -> None:
    """Import a reward file as `load_reward_functions_from_file` of mlx-lm-lora does."""
    spec = importlib.util.spec_from_file_location("custom_rewards", file)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("reward", ["utility", "slots"])
def test_the_file_registers_and_scores_as_plain_python(tmp_path: Path, registry: dict, reward: str) -> None:
    mlx.write(tmp_path, reward, 20, 3)
    load(tmp_path / "rewards.py")
    name = mlx.function_name(reward)
    function, data = registry[name], rows(tmp_path / "train.jsonl")
    assert function.__name__ == name
    assert [set(row) for row in data] == [{"prompt", "system", "answer", "type"}] * 20
    assert len(rows(tmp_path / "valid.jsonl")) == 4
    env, scorer = plugins.load("envs", "clarify" if reward == "utility" else "judgment"), Scorer.named(reward)
    packed = [mlx.packed(row["answer"]) for row in data]
    said = [env.optimal(s)[-1] if reward == "utility" else env.demonstrations(s)[0].reply for s, _ in packed]
    columns = {"prompts": [row["prompt"] for row in data], "answer": [row["answer"] for row in data]}
    found = function(completions=said, types=[row["type"] for row in data], **columns)
    wanted = [scorer.score(s, play(env, s, (*b, c))).total for (s, b), c in zip(packed, said, strict=True)]
    assert found == wanted == function(completions=said, **columns)
    assert found == pytest.approx([1.0] * 20)
    assert sum(function(completions=["no"] * 20, **columns)) < 0.3 * 20


def test_a_row_of_several_turns_holds_what_was_said_before(tmp_path: Path) -> None:
    env = plugins.load("envs", "clarify")
    (row, scenario) = next(
        (row, s)
        for row, s in zip(mlx.rows("clarify", "train", 9, 0), env.scenarios("train", 9, 0), strict=True)
        if len(env.optimal(s)) == 2
    )
    question, _ = env.optimal(scenario)
    opening, shown, answer = row["prompt"].rsplit("\n", 3)[0], *row["prompt"].split("\n")[-3:-1]
    assert opening == scenario.opening[0].content
    assert shown == question
    assert answer.startswith("user said: ")
    assert mlx.packed(row["answer"]) == (scenario, (question,))


@pytest.mark.parametrize("answer", ["", "{}", "[1]", '{"scenario": {}, "said": []}', '{"scenario": 1, "said": 2}'])
def test_a_strange_answer_is_refused(answer: str) -> None:
    with pytest.raises(InputError) as caught:
        mlx.grader("utility", "clarify")(["x"], [answer])
    assert caught.value.where.startswith("answer")
    with pytest.raises(InputError, match="at least one"):
        mlx.write(Path(), "utility", 0, 0)


GOOD = mlx.rows("judgment", "train", 4, 0)
FUNCTION = "@register_reward_function()\ndef mine(prompts, completions, answer, types=None):\n    return "
HEAD = f"from {REGISTRY} import register_reward_function\n"


@pytest.mark.parametrize(
    ("body", "change", "words", "stops"),
    [
        ("[1.0] * len(completions)", {}, "", False),
        (None, {}, "is not there: the trainer passes over it", True),
        ("[1.0] * len(completions)\nimport nowhere_at_all", {}, "does not import (ModuleNotFoundError", True),
        ("(", {}, "does not import (SyntaxError", True),
        ("[None] * len(completions)", {}, "gives no number to 4 of 4 completions", True),
        ("[float('nan')] + [1.0] * (len(completions) - 1)", {}, "gives no number to 1 of 4", True),
        ("[float('inf')] * len(completions)", {}, "infinite", True),
        ("[1.0]", {}, "returns 1 values for 4", True),
        ("[float(len(t)) for t in types]", {}, "raises TypeError when it is called without types", True),
        ("[float(a) for a in answer]", {}, "raises ValueError", True),
        ("None", {}, "returns None", True),
        ("answers", {}, "'mine' raises NameError", True),
        ("[1.0] * len(completions)", {"system": None}, "train.jsonl:1: 1 rows without system", True),
        ("[1.0] * len(completions)", {"answer": {"a": 1}}, "whose answer is no text (dict)", True),
        ("[1.0] * len(completions)", {"answer": None}, "1 rows without answer", True),
    ],
)
def test_the_preflight_finds_what_would_be_swallowed(
    tmp_path: Path, body: str | None, change: dict, words: str, stops: bool
) -> None:
    file = tmp_path / "rewards.py"
    if body is not None:
        file.write_text(HEAD + FUNCTION + body + "\n")
    first = {key: value for key, value in {**GOOD[0], **change}.items() if value is not None}
    data = "".join(json.dumps(row) + "\n" for row in (first, *GOOD[1:]))
    for name in ("train.jsonl", "valid.jsonl"):
        (tmp_path / name).write_text(data)
    before = dict(sys.modules)
    found = preflight(Flight(file, ("mine",), tmp_path))
    assert {name for name in sys.modules if name.startswith("mlx_lm_lora")} <= set(before) | {REGISTRY}
    assert bool(found) == bool(words)
    assert not words or words in "\n".join(each.what for each in found)
    assert any(each.stops for each in found) == stops


def test_names_and_batches_are_checked(tmp_path: Path) -> None:
    mlx.write(tmp_path, "strict", 7, 0)
    file = tmp_path / "rewards.py"
    assert preflight(Flight(file, ("askfirst_strict",), tmp_path)) == []
    wrong = preflight(Flight(file, ("accuracy_reward",), tmp_path, batch_size=4))
    assert [each.stops for each in wrong] == [True, False, False, False]
    words = "\n".join(each.what for each in wrong)
    assert "no reward function is called 'accuracy_reward'" in words
    assert "3 of 7 rows fill no batch of 4" in words
    assert "'askfirst_strict' is registered and not used" in words
    (none,) = preflight(Flight(file, (), tmp_path))[:1]
    assert "think-and-answer rewards would train" in none.what
    (tmp_path / "train.jsonl").write_text("[]\n")
    with pytest.raises(InputError, match="a row is a JSON object"):
        preflight(Flight(file, ("askfirst_strict",), tmp_path))
