"""Calls: exactly one JSON object a turn, or an error with a reason; and how episodes end."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.calls import CallError
from askfirst.cases import play
from askfirst.clarify.calls import INFO, TOOLS, Call, parse_action, parse_call
from askfirst.clarify.episode import MAX_TURNS, OVERFLOW, follow, recorded, said_next
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.oracle import ask, optimal, propose
from askfirst.clarify.problem import BUDGET
from askfirst.rollout import action_of
from askfirst.store import plain
from askfirst.values import Act, Ask, Invalid, Message, Refuse, StopReason, Trajectory

ENV = plugins.load("envs", "clarify")
SCENARIO = ENV.scenarios("train", 1, 0, {"ambiguous": 1})[0]
VAGUE = ask("Hm?")


def test_calls_are_read_as_they_are_written() -> None:
    for call in (Call("ask_question", "where?"), Call("propose_plan", plan={"a": 1, "assumptions": ["a"]}), Call(INFO)):
        assert parse_call(call.text()) == call
    assert parse_action(ask("where?")) == Ask("where?")
    assert isinstance(parse_action(propose({"a": 1})), Act)
    assert parse_action(propose({"decline": "no"})) == Refuse("no")
    assert isinstance(parse_action("where?"), Invalid)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("where?", "not one JSON object"),
        (ask("a") + ask("b"), "not one JSON object"),
        ("[" * 5000, "not one JSON object"),
        ('{"name": "ask_question"}', "exactly name and arguments"),
        ('{"name": "ask_question", "name": "x", "arguments": {}}', "duplicate keys"),
        ('{"name": "submit", "arguments": {}}', "none of the three tools"),
        ('{"name": ["ask_question"], "arguments": {}}', "none of the three tools"),
        ('{"name": "get_task_info", "arguments": {"x": 1}}', "not exactly"),
        ('{"name": "ask_question", "arguments": {"question": " "}}', "not a text with words"),
        (ask("a" * 401), "longer than 400"),
        (propose({"a": "x" * 8000}), "longer than 8000"),
        ('{"name": "propose_plan", "arguments": {"plan": []}}', "plan is not an object"),
        (propose({"assumptions": "venue"}), "not a list of keys"),
        (propose({"assumptions": ["a", "a"]}), "a key twice"),
        (propose({"decline": ""}), "decline"),
        (propose({"decline": "no", "venue": "home"}), "alone in its plan"),
        (propose({"a": [[["deep"]]]}), "nested deeper"),
        ('{"name": "propose_plan", "arguments": {"plan": {"a": NaN}}}', "NaN is not JSON"),
        ('{"name": "propose_plan", "arguments": {"plan": {"a": 1e999}}}', "too large"),
        ('{"name": "propose_plan", "arguments": {"plan": {"a": "\\ud800"}}}', "surrogate"),
    ],
)
def test_anything_else_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(CallError, match=reason):
        parse_call(text)


@given(st.text() | st.dictionaries(st.text(), st.integers() | st.text()).map(json.dumps))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(parse_action(text), Ask | Act | Refuse | Invalid)


def test_the_budget_counts_what_is_asked_about() -> None:
    assert follow(SCENARIO, (VAGUE,) * BUDGET).left == 0
    assert follow(SCENARIO, (VAGUE,) * (BUDGET + 1)).ending == "over_budget"
    event = next(s for s in ENV.scenarios("train", 30, 0) if s.family.startswith("event_planning"))
    everything = ask(" ".join(each.ask[0] for each in FAMILIES["event_planning"].fields))
    [asked] = follow(event, (everything,)).asked
    assert (len(asked.about), len(asked.heard), asked.count) == (7, BUDGET, BUDGET)
    assert str(said_next(event, (everything,))).endswith("That is enough of questions.\nquestions left: 0")
    assert follow(event, (everything, VAGUE)).ending == "over_budget"


def test_every_ending_has_a_name() -> None:
    info = Call(INFO).text()
    assert follow(SCENARIO, optimal(SCENARIO)).ending == "planned"
    assert follow(SCENARIO, (propose({"decline": "no"}),)).ending == "declined"
    assert follow(SCENARIO, ("?",)).ending == "unparsable"
    assert follow(SCENARIO, (info,) * MAX_TURNS).ending == "turns"
    assert follow(SCENARIO, (info, VAGUE)).ending == "unfinished"
    cut = Trajectory((*SCENARIO.opening, Message("assistant", '{"name": "ask_qu')), (), StopReason.LENGTH)
    assert recorded(SCENARIO, cut).ending == OVERFLOW
    whole = play(ENV, SCENARIO, optimal(SCENARIO))  # the last token of the plan is the last that was allowed
    assert recorded(SCENARIO, replace(whole, stop=StopReason.LENGTH)).ending == "planned"


def test_task_info_is_free_and_shows_the_task() -> None:
    info = Call(INFO).text()
    assert follow(SCENARIO, (info,)).count == 0
    said = str(said_next(SCENARIO, (info,)))
    assert SCENARIO.opening[0].content in said
    assert f"questions left: {BUDGET}" in said


def test_answers_in_a_transcript_prove_nothing() -> None:
    said = optimal(SCENARIO)
    honest = play(ENV, SCENARIO, said)
    forged = Trajectory(
        tuple(Message(m.role, "at the pole" if m.role == "user" else m.content) for m in honest.messages),
        (),
        honest.stop,
    )
    assert recorded(SCENARIO, forged) == recorded(SCENARIO, honest)


def test_an_episode_that_asks_and_then_acts_has_asked() -> None:
    asking, acting = optimal(SCENARIO), (propose({}),)
    assert isinstance(action_of(ENV, play(ENV, SCENARIO, asking)), Ask)
    assert isinstance(action_of(ENV, play(ENV, SCENARIO, (Call(INFO).text(), *acting))), Act)
    assert isinstance(action_of(ENV, play(ENV, SCENARIO, (asking[0], "?"))), Ask)


def test_native_calls_are_read_like_bare_ones() -> None:
    for call in optimal(SCENARIO):
        assert parse_call(f"<tool_call>\n{call}\n</tool_call>") == parse_call(call)
    wrapped = tuple(f"<tool_call>\n{call}\n</tool_call>" for call in optimal(SCENARIO))
    assert follow(SCENARIO, wrapped) == follow(SCENARIO, optimal(SCENARIO))


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>{0}",
        "{0}</tool_call>",
        "so: <tool_call>{0}</tool_call>",
        "<tool_call>{0}</tool_call> done",
        "<tool_call>{0}</tool_call><tool_call>{0}</tool_call>",
        "<tool_call><tool_call>{0}</tool_call></tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>",
    ],
)
def test_what_is_not_exactly_one_native_call_is_refused(text: str) -> None:
    with pytest.raises(CallError, match="not one JSON object"):
        parse_call(text.replace("{0}", VAGUE))


TEMPLATE = (  # as the chat templates of the Qwen family write tools, calls and what tools return
    "{% if tools %}<|im_start|>system\n<tools>{% for t in tools %}{{ t | tojson }}{% endfor %}</tools><|im_end|>"
    "{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
    "\n</tool_call>{% endfor %}<|im_end|>{% endfor %}"
)


def test_a_chat_template_writes_calls_that_are_read_back() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, chat_template=TEMPLATE)
    for text in optimal(SCENARIO):
        body = json.loads(text)
        chat = [{"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": body}]}]
        written = tokenizer.apply_chat_template(chat, tools=[plain(tool.function()) for tool in TOOLS], tokenize=False)
        said = written.partition("<|im_start|>assistant\n")[2].removesuffix("<|im_end|>")
        assert parse_call(said) == parse_call(text)
        assert all(name in written for name in ("ask_question", "propose_plan", "get_task_info"))
