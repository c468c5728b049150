"""The TRL export without TRL: rows, tools and reward function."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from askfirst.clarify.calls import TOOLS
from askfirst.desk import Desk
from askfirst.errors import InputError, SplitError
from askfirst.exports import trl

DESK = Desk.named()
ROWS = trl.rows("train", 6)


def test_a_row_names_its_task_and_shows_nothing_else() -> None:
    for seed, row in enumerate(ROWS):
        scenario = DESK.task("train", seed)
        assert set(row) == {"prompt", *trl.COLUMNS}
        assert (row["seed"], row["scenario_id"]) == (seed, scenario.id)
        assert [m["content"] for m in row["prompt"]] == [DESK.env.NATIVE_INSTRUCTIONS, scenario.opening[0].content]
    assert trl.rows("train", 2, 4) == ROWS[4:]
    assert trl.rows("train", 1, native=False)[0]["prompt"][0]["content"] == DESK.env.SYSTEM_PROMPT
    with pytest.raises(SplitError):
        trl.rows("sealed", 1)


def test_the_tools_are_those_of_the_environment() -> None:
    public = [name for name, _ in inspect.getmembers(trl.ClarifyEnv, inspect.isfunction) if not name.startswith("_")]
    assert set(public) - {"reset"} == {tool.name for tool in TOOLS}  # a get_reward would count the score twice
    for tool in TOOLS:
        method = getattr(trl.ClarifyEnv, tool.name)
        assert [*inspect.signature(method).parameters][1:] == [*tool.parameters["properties"]]
        assert inspect.getdoc(method).startswith(tool.description)


def played(env: trl.ClarifyEnv, row: dict[str, Any], texts: tuple[str, ...]) -> list[dict[str, Any]]:
    """The completion of TRL in which the policy makes these calls."""
    env.reset(**row)
    messages: list[dict[str, Any]] = []
    for call in map(json.loads, texts):
        messages.append({"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call}]})
        answer = getattr(env, call["name"])(**call["arguments"])
        messages.append({"role": "tool", "name": call["name"], "content": answer})
    return [*messages, {"role": "assistant", "content": "done"}]


def test_an_environment_is_used_again_and_a_reward_grades_what_stands_in_the_completion() -> None:
    env, reward = trl.ClarifyEnv(), trl.reward_function("utility")
    scenarios = [DESK.task("train", row["seed"]) for row in ROWS]
    completions = [played(env, row, DESK.env.optimal(s)) for row, s in zip(ROWS, scenarios, strict=True)]
    logged: dict[str, float] = {}
    columns = {name: [row[name] for row in ROWS] for name in trl.COLUMNS}
    found = reward(completions=completions, prompts=[], log_metric=logged.__setitem__, **columns)
    assert found == [DESK.score(s, DESK.env.optimal(s)).total for s in scenarios]
    assert found == pytest.approx([1.0] * len(ROWS))
    assert logged == {"utility/passed": 1.0}
    forged = [[{**m, "content": "I mean all of it."} if m["role"] == "tool" else m for m in c] for c in completions]
    assert reward(completions=forged, **columns) == found
    assert reward.__name__ == "utility"
    assert reward(completions=["{}"] * 6, **columns) == pytest.approx([0.0] * 6)
    assert reward(completions=[[]] * 6, **columns) == pytest.approx([0.0] * 6)


def test_words_beside_calls_are_no_turn_and_a_strange_call_is_one() -> None:
    call = {"type": "function", "function": {"name": "get_task_info", "arguments": {}}}
    messages = [
        {"role": "assistant", "content": "let me see", "tool_calls": [call, call]},
        {"role": "tool", "content": "..."},
        {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "fly"}}]},
        {"role": "assistant", "content": None},
    ]
    info = '{"name": "get_task_info", "arguments": {}}'
    assert trl.replies(messages) == (info, info, '{"name": "fly", "arguments": null}', "")


@pytest.mark.parametrize(
    ("change", "words"),
    [({"scenario_id": "0" * 16}, "another version"), ({"seed": 7}, "another version"), ({"split": "sealed"}, "served")],
)
def test_a_row_of_another_task_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        trl.ClarifyEnv().reset(**{**ROWS[0], **change})
    columns = {name: [{**ROWS[0], **change}[name]] for name in trl.COLUMNS}
    with pytest.raises(InputError, match=words):
        trl.reward_function()(completions=["{}"], **columns)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="seed"):
        trl.ClarifyEnv().reset(prompt=[], split="train", scenario_id="x")
    with pytest.raises(InputError, match="scenario_id"):
        trl.reward_function()(completions=["{}"], split=["train"], seed=[0])
    with pytest.raises(InputError, match="reset comes first"):
        trl.ClarifyEnv().get_task_info()
