"""Where a reader of `clarify` looks."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from askfirst.backends._chat import Chat
from askfirst.backends.hf import models, nano, widening
from askfirst.specialists import CLARIFY
from askfirst.specialists._looks import HEADS, Reader
from askfirst.specialists.core import Recipe, dialogues
from askfirst.store import generator
from askfirst.values import Message

OPENING = """task: pet sitting
animal (50): dog | black cat | rabbit
stay (14): one day | one week
usually: stay = one day (60%)
a question: 5 (6 left, 70% answered)
user said: Find somebody, over a week, for my rabbit. The day is near."""


@pytest.fixture(scope="module")
def chat() -> Chat:
    _, tokenizer = widening.widened(models.NANO, CLARIFY.parts, CLARIFY.words)
    return Chat(tokenizer, "nano")


def looked(chat: Chat, messages: tuple[Message, ...], reply: str) -> list[tuple[str, str, int, str, int]]:
    """Looks as (what for, word that looks, its place, word looked at, its place)."""
    ids, _ = nano.dialogue_tokens(chat, messages, reply)
    words = [chat.decode([token]) for token in ids]
    return [(name, words[at], at, words[to], to) for name, at, to in Reader(chat.tokenizer).looks(ids)]


def test_what_is_looked_at_in_a_dialogue(chat: Chat) -> None:
    asked = '{"name": "ask_question", "arguments": {"question": "What is the animal?"}}'
    plan = '{"name": "propose_plan", "arguments": {"plan": {"stay": "one week", "animal": "black cat"}}}'
    messages = (Message("user", OPENING), Message("assistant", asked), Message("user", "A cat.\nquestions left: 5"))
    found = [(name, word, to) for name, word, _, to, _ in looked(chat, messages, plan)]
    rows = [("dog", "animal"), ("black", "animal"), ("cat", "animal"), ("rabbit", "animal")]
    rows += [("one", "stay"), ("day", "stay"), ("one", "stay"), ("week", "stay")]
    assert [look[1:] for look in found if look[0] == "row"] == rows
    starts = [("dog", "dog"), ("black", "black"), ("cat", "black"), ("rabbit", "rabbit")]
    starts += [("one", "one"), ("day", "one"), ("one", "one"), ("week", "one")]
    assert [look[1:] for look in found if look[0] == "start"] == starts
    # "one" is of two values.
    said = [("week", "week"), ("rabbit", "rabbit"), ("day", "day"), ("cat", "cat")]
    assert [look[1:] for look in found if look[0] == "match"] == said
    for name in ("key", "value"):
        assert [look[2] for look in found if look[0] == name] == ["week", "cat"]
        assert [look[2] for look in found if look[0] == f"no {name}"] == ["<|user|>"] * 2


def test_looks_of_built_dialogues_go_back_to_the_same_word(chat: Chat) -> None:
    kinds: dict[str, int] = dict.fromkeys(HEADS, 0)
    for messages, last in islice(dialogues(CLARIFY, Recipe(steps=40, batch=32)), 256, 512):
        for name, word, at, other, to in looked(chat, messages, last):
            kinds[name] += 1
            assert to <= at
            if name == "match":
                assert word.lower() == other.lower()
    assert min(kinds.values()) > 256


def test_there_is_nothing_to_look_at_in_other_dialogues(chat: Chat) -> None:
    assert looked(chat, (Message("user", "user said: make it red"),), "done") == []


def test_no_tokens_whatever_are_too_much(chat: Chat) -> None:
    reader, random = Reader(chat.tokenizer), generator("looks")
    ids, _ = nano.dialogue_tokens(
        chat, (Message("user", OPENING),), '{"name": "propose_plan", "arguments": {"plan": {"'
    )
    for _ in range(300):
        mixed = list(np.array(ids)[random.integers(len(ids), size=int(random.integers(1, 60)))])
        for look in reader.looks([int(token) for token in mixed]):
            assert 0 <= look[2] <= look[1] < len(mixed)
