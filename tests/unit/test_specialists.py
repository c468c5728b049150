"""The model for `clarify`: what it is shown, and that names are made up everywhere alike."""

from __future__ import annotations

from itertools import islice

import pytest

from askfirst import plugins
from askfirst.clarify.calls import parse_call
from askfirst.clarify.families import FAMILIES
from askfirst.specialists import ALL, CLARIFY
from askfirst.specialists.clarify import PARTS, _blend, blended
from askfirst.specialists.core import Recipe, dialogues
from askfirst.store import generator
from askfirst.values import Message

HALF = Recipe(steps=8, batch=32, guesses_after=0.99)


def calls(messages: tuple[Message, ...], last: str) -> list[str]:
    return [*(m.content for m in messages if m.role == "assistant"), last]


def test_dialogues_are_episodes_that_end_with_a_plan_by_what_is_shown() -> None:
    asked = made_up = 0
    titles = {family.title: {f.name for f in family.fields} for family in FAMILIES.values()}
    for messages, last in islice(dialogues(CLARIFY, HALF), 256):
        assert [m.role for m in messages[::2]] == ["user"] * (len(messages) // 2 + 1)
        said = [parse_call(text) for text in calls(messages, last)]
        assert [c.name for c in said] == ["ask_question"] * (len(said) - 1) + ["propose_plan"]
        asked += len(said) > 1
        shown = messages[0].content
        for key, value in said[-1].plan.items():
            if key not in ("decline", "assumptions"):
                line = next(line for line in shown.split("\n") if line.startswith(f"{key} ("))
                assert value in line.partition("): ")[2].split(" | ")
        own = titles[shown.partition("task: ")[2].partition("\n")[0]]
        made_up += any(key not in {*own, "decline", "assumptions", "proceed"} for key in said[-1].plan)
    assert asked == 128  # every one of the ambiguous half
    assert 35 <= made_up <= 95


@pytest.mark.parametrize("name", ALL)
def test_fixed_parts_are_found_in_what_is_shown_and_said(name: str) -> None:
    own = ALL[name]
    texts = "".join("".join(m.content for m in ms) + last for ms, last in islice(dialogues(own, own.recipe), 600))
    assert len(set(own.parts)) == len(own.parts)
    assert [part for part in own.parts if part not in texts] == []


def test_blended_requests_leave_the_shown_values_alone() -> None:
    env, random = plugins.load("envs", "clarify"), generator(1, "blends")
    changed = 0
    for scenario in env.scenarios("train", 60, seed=2):
        (before,) = env.start(scenario)
        (after,) = blended(scenario, (before,), random)
        assert after.content.rpartition("user said: ")[0] == before.content.rpartition("user said: ")[0]
        changed += after != before
    assert changed >= 45


def test_blends_hold_words_of_their_own_value_alone() -> None:
    random = generator(1, "blends")
    own, others = ("at home", "in my living room"), {"at", "the", "office", "in", "our"}
    found = {_blend("at home", own, others, random) for _ in range(200)}
    assert {"at living room", "in my home"} <= found
    assert all({"home", "my", "living", "room"} & set(words.split()) for words in found)
    assert _blend("at", ("at", "in"), others, random) == "at"


def test_the_last_part_guesses() -> None:
    late = Recipe(steps=8, batch=32, guesses_after=0.0, guessing_share=1.0)
    assert not any(len(calls(*each)) > 1 for each in islice(dialogues(CLARIFY, late), 60))


def test_further_tokens_leave_the_others_as_they_were() -> None:
    pytest.importorskip("torch")
    from askfirst.backends._chat import Chat
    from askfirst.backends.hf import models, nano

    before, old = nano.load_nano(models.NANO)
    model, tokenizer = nano.widened(models.NANO, PARTS)
    ids = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in PARTS]
    assert all(len(each) == 1 for each in ids)
    weights, known = model.get_input_embeddings().weight, before.get_input_embeddings().weight
    assert (weights[: len(known)] == known).all()
    pieces = old(PARTS[0], add_special_tokens=False)["input_ids"]
    assert weights[ids[0][0]].allclose(known[pieces].mean(0))
    chat = Chat(tokenizer, "x")
    messages, last = next(each for each in dialogues(CLARIFY, HALF) if len(calls(*each)) > 1)
    tokens, said = nano.dialogue_tokens(chat, messages, last)
    own = [i for i, mine in zip(tokens, said, strict=True) if mine]
    assert own == [i for text in calls(messages, last) for i in chat.encode_reply(text)]
    assert chat.decode(tokens).count("<|assistant|>") == len(calls(messages, last))
