"""Models for one environment: what they are shown, and that what is worded anew says the same everywhere."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import pytest

from askfirst import plugins
from askfirst.clarify.calls import parse_call
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.problem import hidden_of
from askfirst.clarify.scenes import HIGH, LOW, Draws
from askfirst.retail.catalogue import LAST_NAMES
from askfirst.specialists import ALL, CLARIFY, RETAIL, _lists, _wordings, _words, core
from askfirst.specialists import clarify as recipe
from askfirst.specialists._lists import in_turn, with_few_values
from askfirst.specialists._wordings import _blend, blended, disguised, reframed
from askfirst.specialists._words import SEEN
from askfirst.specialists.clarify import PARTS, drill
from askfirst.specialists.core import Recipe, begin, dialogues
from askfirst.store import generator
from askfirst.values import Message

PRICED = re.compile(r"^(\w+) \((\d+)\): ", re.MULTILINE)
HALF = Recipe(steps=8, batch=32, guesses_after=0.99)


def calls(messages: tuple[Message, ...], last: str) -> list[str]:
    return [*(m.content for m in messages if m.role == "assistant"), last]


def test_dialogues_are_episodes_that_end_with_a_plan_by_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "LISTINGS", (0.0, 0.0))
    monkeypatch.setattr(recipe, "LISTS_UNTIL", 0.0)
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
    assert 95 <= asked <= 140  # half of the episodes, three eighths of the drills
    assert 35 <= made_up <= 110


@pytest.mark.parametrize("name", ALL)
def test_fixed_parts_are_found_in_what_is_shown_and_said(name: str) -> None:
    own, after_lists = ALL[name], islice(dialogues(ALL[name], Recipe(steps=40, batch=32)), 256, 1024)
    texts = "".join("".join(m.content for m in ms) + last for ms, last in after_lists)
    assert len(set(own.parts)) == len(own.parts)
    assert [part for part in own.parts if part not in texts] == []


def test_every_specialist_is_a_model_with_a_name_and_nothing_else_is_built() -> None:
    pytest.importorskip("torch")
    from askfirst.backends.hf import models
    from askfirst.cli.modelling import WORDS
    from askfirst.demo.space import ELSEWHERE

    assert tuple(ALL) == models.BUILT
    assert set(ALL) <= set(WORDS)
    assert set(ALL) <= set(ELSEWHERE)


def test_blended_requests_leave_the_shown_values_alone() -> None:
    env, random = plugins.load("envs", "clarify"), generator(1, "blends")
    changed = 0
    for scenario in env.scenarios("train", 60, seed=2):
        (before,) = env.start(scenario)
        (after,) = blended(scenario, (before,), random)
        assert after.content.rpartition("user said: ")[0] == before.content.rpartition("user said: ")[0]
        changed += after != before
    assert changed >= 45


def test_drills_are_scenarios_of_two_keys_or_three_of_families_that_are_trained_on() -> None:
    env, draws = plugins.load("envs", "clarify"), Draws(generator(1, "drills"))
    for scenario in (drill(draws) for _ in range(120)):
        problem = hidden_of(scenario).problem
        assert problem.family in {family.name for family in SEEN}
        assert len([key for key in problem.keys if key.name != "proceed"]) in (2, 3)
        assert scenario.split == "train"
        assert env.demonstrations(scenario, 0)


def test_what_nobody_can_read_is_left_out_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_words, "UNREAD", 1.0)
    env, random, left_out = plugins.load("envs", "clarify"), generator(1, "unread"), 0
    for scenario in env.scenarios("train", 40, 4, {"clear_twin": 1.0}):
        (opening,) = env.start(scenario)
        shown, last = disguised(scenario, (opening,), env.demonstrations(scenario)[0].reply, random)
        plan = parse_call(last).plan
        names = [line.partition(" (")[0] for line in shown[0].content.split("\n") if ") | " in line or " (" in line]
        assert set(plan) - {"assumptions"} <= {*names, "proceed"}
        left_out += len(hidden_of(scenario).problem.keys) - len(plan)
    assert left_out >= 60


def test_lists_hold_what_is_written_again() -> None:
    random, facts = generator(1, "lists"), 0
    for few in (1, 2, 4) * 30:
        messages, last = in_turn(few, 0.5, random)
        lines = messages[0].content.rpartition("\nuser said: ")[0].split("\n")
        shown = dict(line.split("): ") for line in lines if "): " in line)
        allowed = {key.partition(" (")[0]: values.split(" | ") for key, values in shown.items()}
        assert {len(values) for values in allowed.values()} == {few}
        plans = [parse_call(text).plan for text in (*(m.content for m in messages if m.role == "assistant"), last)]
        said = [next(iter(plan.items())) for plan in plans]
        assert all(len(plan) == 1 for plan in plans)
        assert all(value in allowed[key] for key, value in said)
        assert len(set(said)) == len(said) == min(_lists.FACTS, few * len(allowed))
        facts += len(said)
    assert facts >= 500


def test_easy_facts_of_lists_are_said_as_they_are_shown() -> None:
    random = generator(1, "easy")
    for _ in range(30):
        messages, last = in_turn(3, 0.0, random)
        plans = [parse_call(text).plan for text in (*(m.content for m in messages if m.role == "assistant"), last)]
        facts = [m.content.rpartition("user said: ")[2].rstrip(".") for m in messages if m.role == "user"]
        assert facts == [value for plan in plans for value in plan.values()]


def test_a_build_begins_with_easy_lists() -> None:
    for messages, last in islice(dialogues(CLARIFY, Recipe(steps=1000, batch=32)), 60):
        keys = PRICED.findall(messages[0].content)
        assert len(keys) == 3
        (name, value) = next(iter(parse_call(last).plan.items()), (keys[0][0], ""))
        assert {name, *value.split()} - {""} <= {*_words.COMMON}


def test_the_dearest_key_is_asked_about_where_nothing_else_can_be_read() -> None:
    random, answered = generator(1, "asked"), 0
    taken = {price for split in ("dev", "sealed") for price in (*HIGH[split], *LOW[split])}
    for _ in range(60):
        (opening, question, _), last = _lists.asked(3, 1.0, True, random)
        prices = {name.replace("_", " "): int(price) for name, price in PRICED.findall(opening.content)}
        assert not taken & set(prices.values())
        dearest = max(prices, key=lambda name: prices[name])
        assert parse_call(question.content).question == f"What is the {dearest}?"
        plan = parse_call(last).plan
        assert {name.replace("_", " ") for name in plan} <= {dearest}
        answered += len(plan)
    assert 45 <= answered < 60


def test_answers_are_read_where_nothing_of_the_request_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_wordings, "DULL", 1.0)
    env, random = plugins.load("envs", "clarify"), generator(1, "dull")
    found = left_out = stated = 0
    for scenario in env.scenarios("train", 40, 4, {"ambiguous": 1.0}):
        shown = env.demonstrations(scenario)[0]
        first, then = shown.reply, shown.then
        if not then or hidden_of(scenario).state == "destructive":
            continue
        messages = (*env.start(scenario), Message("assistant", first))
        messages += (env.step(scenario, messages),)
        told, last = disguised(scenario, messages, then[-1], random)
        name = parse_call(told[1].content).question.removeprefix("What is the ").rstrip("?").replace(" ", "_")
        stated += sum(key.known is not None for key in hidden_of(scenario).problem.keys)
        left_out += len(parse_call(then[-1]).plan) - len(parse_call(last).plan)
        found += name in parse_call(last).plan
    # The rest are defaults and what is not disguised, such as numbers.
    assert left_out >= stated / 2
    assert found >= 20


def test_few_values_are_left_and_the_right_one_is_among_them() -> None:
    env, random = plugins.load("envs", "clarify"), generator(1, "few")
    for scenario in env.scenarios("train", 30, 4, {"clear_twin": 1.0}):
        (opening,), last = env.start(scenario), env.demonstrations(scenario)[0].reply
        (shown,) = with_few_values((opening,), last, 2, random)
        for key, value in parse_call(last).plan.items():
            line = next(line for line in shown.content.split("\n") if line.startswith(f"{key} ("))
            values = line.partition("): ")[2].split(" | ")
            assert value in values
            assert len(values) == 2
        assert shown.content.rpartition("user said: ")[2] == opening.content.rpartition("user said: ")[2]


def test_what_stands_around_the_facts_is_of_another_family_and_the_facts_stay() -> None:
    env, random = plugins.load("envs", "clarify"), generator(1, "frames")
    changed = 0
    for scenario in env.scenarios("train", 60, seed=3):
        request = env.start(scenario)[0].content.rpartition("user said: ")[2]
        told = reframed(scenario, request, random)
        changed += told != request
        if scenario.stratum == "clear_twin" and "proceed" not in hidden_of(scenario).words:
            assert all(words.lower() in told.lower() for words in hidden_of(scenario).words.values())
    assert changed >= 30


def test_a_customer_has_one_name_throughout_and_it_is_mostly_made_up() -> None:
    known = found = 0
    for messages, last in islice(dialogues(RETAIL, RETAIL.recipe), 200):
        text = " ".join((*(m.content for m in messages), last))
        known += any(name.lower() in text.lower() for name in LAST_NAMES["train"])
        for call, answer in pairwise(messages):
            if "find_user_id_by_name_zip" in call.content:
                name = call.content.partition('"last_name": "')[2].partition('"')[0]
                assert f"_{name.lower()}_" in answer.content
                found += 1
    assert known <= 70
    assert found >= 50


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
    from askfirst.backends.hf import models, nano, widening

    before, old = nano.load_nano(models.NANO)
    model, tokenizer = widening.widened(models.NANO, PARTS, CLARIFY.words)
    ids = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in PARTS]
    assert all(len(each) == 1 for each in ids)
    weights, known = model.get_input_embeddings().weight, before.get_input_embeddings().weight
    assert (weights[: len(known)] == known).all()
    pieces = old(PARTS[0], add_special_tokens=False)["input_ids"]
    assert weights[ids[0][0]].allclose(known[pieces].mean(0))
    words = weights[tokenizer.convert_tokens_to_ids([word for word in CLARIFY.words if word not in old.vocab])]
    apart = words.detach() - known.mean(0).detach()
    assert len(apart) > 10_000
    assert int(apart[:1000].svd().S.gt(1e-3).sum()) == widening.WORD_RANK < apart.shape[1]
    assert apart.norm(dim=1).allclose(widening.WORD_LENGTH * (known - known.mean(0)).norm(dim=1).mean())
    chat = Chat(tokenizer, "x")
    shown = chat.encode((Message("user", "this island has_an anniversary"),))
    assert {"this", "island", "has", "an", "anniversary"} < {tokenizer.decode([i]) for i in shown}
    assert tokenizer("mislands", add_special_tokens=False)["input_ids"] == old("mislands")["input_ids"]
    everything = tokenizer.decode(tokenizer('A value, "said": 12 ünsæglich_words\n')["input_ids"])
    assert everything == 'A value, "said": 12 ünsæglich_words\n'
    messages, last = next(each for each in dialogues(CLARIFY, HALF) if len(calls(*each)) > 1)
    tokens, said = nano.dialogue_tokens(chat, messages, last)
    own = [i for i, mine in zip(tokens, said, strict=True) if mine]
    assert own == [i for text in calls(messages, last) for i in chat.encode_reply(text)]
    assert chat.decode(tokens).count("<|assistant|>") == len(calls(messages, last))


def test_a_build_begins_with_heads_that_hand_words_on_where_it_is_guided() -> None:
    guided, _, guide = begin(CLARIFY)
    plain, _, none = begin(replace(CLARIFY, guide=None))
    assert guide is not None
    assert none is None
    changed = [
        layer
        for layer, (one, other) in enumerate(zip(guided.model.layers, plain.model.layers, strict=True))
        if not one.self_attn.o_proj.weight.equal(other.self_attn.o_proj.weight)
    ]
    assert changed == sorted({layer for chain in guide.chains for layer, _ in chain})


def test_a_build_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "KEPT_EVERY", 2)
    short, seen = Recipe(steps=3, batch=2), []

    def stop(step: int, loss: float) -> None:
        if step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        core.build(CLARIFY, tmp_path / "stopped", short, "build", stop)
    resumed = core.build(CLARIFY, tmp_path / "stopped", short, "build", lambda step, loss: seen.append(step))
    assert seen == [2]
    assert resumed == core.build(CLARIFY, tmp_path / "whole", short, "build", lambda step, loss: None)
    assert {p.name for p in (tmp_path / "stopped").iterdir()} == {p.name for p in (tmp_path / "whole").iterdir()}
