"""The tabular policy reads requests, words valid replies, and learns by exact gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from askfirst.backends import tabular
from askfirst.backends._text import FIRST_FREE
from askfirst.backends.tabular._features import facts_of
from askfirst.backends.tabular._learner import AdamW
from askfirst.backends.tabular._request import read
from askfirst.backends.tabular._strategies import NAMES, PRIOR, nearest, render
from askfirst.contracts.backends import row
from askfirst.errors import BackendFault, ModelError
from askfirst.policy import ModelSpec, SampleRequest, Sampling, StepSettings
from askfirst.replies import Reply, parse_reply
from askfirst.values import Message, StopReason

SCREEN = """on-screen elements:
[0] row|200,150|Draft to Priya|draft
[1] row|200,200|Draft to Alex|draft
[2] button|10,10|Back|button

user said: """


def ask(text: str, screen: bool = False) -> list[Message]:
    return [Message("user", (SCREEN if screen else "user said: ") + text)]


def opened() -> tabular.Tabular:
    return tabular.open_policy(ModelSpec("tabular"), 0)


def choice_row(policy: tabular.Tabular, prompt: list[Message], strategy: str, advantage: float):
    """A row in which the policy chose that strategy."""
    ids = policy.encode(prompt)
    found = row(ids, policy.sample([SampleRequest(ids, (1,))], Sampling(64))[0][0], advantage)
    tokens = found.token_ids.copy()
    tokens[len(ids)] = FIRST_FREE + NAMES.index(strategy)
    return replace(found, token_ids=tokens)


def test_reads_the_screen() -> None:
    request = read(ask("send the draft to priya please", screen=True))
    assert [e.label for e in request.elements] == ["Draft to Priya", "Draft to Alex", "Back"]
    assert [e.label for e in request.matches] == ["Draft to Priya"]
    assert (request.verb, request.noun, request.given) == ("send", "draft", "priya")
    assert [e.label for e in read(ask("send the drafts", screen=True)).matches] == ["Draft to Priya", "Draft to Alex"]


@pytest.mark.parametrize(
    ("text", "cue", "value"),
    [
        ("remind me to call home tomorrow", "time", "1"),
        ("remind me to call home", "time", "0"),
        ("invite him to the party", "person", "1"),
        ("set the volume to 40", "number", "1"),
        ("what is the score", "asks", "1"),
        ("open slack", "app", "1"),
        ("open the other app", "app", "0"),
        ("close the window", "bare", "1"),
        ("close the kitchen window", "bare", "0"),
        ("note that the code is: 12", "content", "1"),
        ("text olga that dinner is ready", "given", "1"),
        ("text them that dinner is ready", "given", "0"),
    ],
)
def test_cues(text: str, cue: str, value: str) -> None:
    assert read(ask(text)).cues[cue] == value


@pytest.mark.parametrize(
    ("text", "screen", "matches", "meant"),
    [
        ("send the draft", True, 2, None),
        ("send the draft to priya", True, 1, "Draft to Priya"),
        ("send the invoice", True, 0, None),
        ("send it", False, 0, None),
    ],
)
def test_what_on_the_screen_is_meant(text: str, screen: bool, matches: int, meant: str | None) -> None:
    request = read(ask(text, screen))
    assert len(request.matches) == matches
    assert (request.meant and request.meant.label) == meant


def test_a_pronoun_means_the_only_thing_there_is() -> None:
    screen = "on-screen elements:\n[0] row|1,2|tax-return.zip|file\n\nuser said: open "
    request = read([Message("user", f"{screen}it")])
    assert request.meant == request.elements[0]
    assert read([Message("user", f"{screen}mail")]).meant is None


def test_words_outside_the_lexicon_have_no_say_beyond_their_place() -> None:
    one, other = (facts_of(read(ask(f"email {name} the notes"))) for name in ("olga", "zebedee"))
    assert one == other != facts_of(read(ask("email them the notes")))


@pytest.mark.parametrize(
    "text", ["send the draft", "", "please", "???", "the the the", 'say "naïve" | ok {}', "x " * 300]
)
@pytest.mark.parametrize("screen", [True, False])
def test_every_strategy_words_a_valid_reply(text: str, screen: bool) -> None:
    for name in NAMES:
        reply = parse_reply(render(name, read(ask(text, screen))))
        assert nearest(reply.text()).split()[0] == name.split()[0]


def test_a_question_about_options_names_those_that_match() -> None:
    reply = parse_reply(render("ask target options", read(ask("send the draft", screen=True))))
    assert reply.payload["question"] == "which draft do you mean, Draft to Priya or Draft to Alex?"
    assert reply.spoken == reply.payload["question"]


def test_a_reply_is_projected_on_its_intent_and_topic() -> None:
    question = "whose inbox is meant?"
    reply = Reply(question, "clarify", {"question": question, "topic": "recipient"}).text()
    ids = opened().encode_reply(reply)
    assert NAMES[ids[0] - FIRST_FREE] == "ask recipient"
    assert opened().decode(ids) == reply
    with pytest.raises(BackendFault, match="only replies of the protocol"):
        opened().encode_reply("sure, who?")


def test_it_starts_by_acting_and_seldom_asks() -> None:
    assert sum(PRIOR.values()) == pytest.approx(1, abs=0.1)
    policy = opened()
    for prompt in (ask("send the draft", screen=True), ask("remind me to water the ferns"), ask("text them")):
        replies = policy.sample([SampleRequest(policy.encode(prompt), tuple(range(400)))], Sampling(99))[0]
        intents = [parse_reply(policy.decode(c.token_ids)).intent for c in replies]
        assert 0.1 <= intents.count("clarify") / 400 <= 0.3
        assert intents.count("action") / 400 > 0.5


def test_sampling_follows_the_probabilities() -> None:
    policy = opened()
    [found] = policy.sample([SampleRequest(policy.encode(ask("open mail")), tuple(range(2000)))], Sampling(99))
    for strategy in ("act best", "act request", "ask app"):
        drawn = [c for c in found if c.token_ids[0] == FIRST_FREE + NAMES.index(strategy)]
        chance = math.exp(drawn[0].logprobs[0])
        assert len(drawn) / 2000 == pytest.approx(chance, abs=4 * math.sqrt(chance / 2000))
    assert all(set(c.logprobs[1:]) == {0.0} for c in found)


def test_temperature_zero_takes_the_likeliest_and_a_short_budget_cuts() -> None:
    policy = opened()
    [found] = policy.sample([SampleRequest(policy.encode(ask("open mail")), (1, 2, 3))], Sampling(9, temperature=0.0))
    assert {NAMES[c.token_ids[0] - FIRST_FREE] for c in found} == {"act best"}
    assert {(c.stop, len(c.token_ids)) for c in found} == {(StopReason.LENGTH, 9)}


def test_the_gradient_is_exact() -> None:
    # One step of AdamW from zero moments moves each weight by lr · sign(gradient), so compare the norm instead:
    # d(−A·logprob)/d logits = −A (one-hot − chance), repeated for each active column.
    policy = opened()
    single = choice_row(policy, ask("open mail"), "ask time", 1.0)
    place = int(np.flatnonzero(single.mask)[0])
    chances = [math.exp(policy.logprobs([choice_row(policy, ask("open mail"), name, 1.0)])[0][place]) for name in NAMES]
    assert sum(chances) == pytest.approx(1.0, abs=1e-12)
    by_logit = np.array(chances) - (np.array(NAMES) == "ask time")
    active = len(policy._prompt(single.token_ids[:place]).columns)
    result = policy.update([single], lambda i, lp: (0.0, np.where(single.mask, -1.0, 0.0)), StepSettings(lr=0.0))
    assert result.grad_norm == pytest.approx(math.sqrt(active * float((by_logit**2).sum())), rel=1e-12)


def adam_steps(scales: tuple[float, ...], settings: StepSettings) -> tuple[np.ndarray, list[float]]:
    optimiser, weights = AdamW((1, 2)), np.array([[1.0, -2.0]])
    norms = [optimiser.step(weights, scale * np.array([[3.0, 4.0]]), settings) for scale in scales]
    return weights, norms


def test_clipping_bounds_the_step_and_not_the_reported_norm() -> None:
    clipped, norms = adam_steps((1.0, 1e6), StepSettings(lr=0.1, grad_clip=5.0))
    assert norms == [5.0, 5e6]
    assert clipped == pytest.approx(adam_steps((1.0, 1.0), StepSettings(lr=0.1, grad_clip=5.0))[0])


def test_the_first_step_of_adamw() -> None:
    # Bias-corrected moments of a first gradient are the gradient and its square: a step of lr · sign, plus the decay.
    moved = adam_steps((1.0,), StepSettings(lr=0.1, grad_clip=99.0, weight_decay=0.5))[0]
    assert moved == pytest.approx(np.array([[1.0 - 0.1 - 0.05, -2.0 - 0.1 + 0.1]]), abs=1e-8)


def test_learning_is_bitwise_reproducible_and_anchoring_moves_the_reference() -> None:
    one, two = opened(), opened()
    rows = [choice_row(one, ask("open mail"), "ask app", 1.0)]
    for policy in (one, two):
        policy.update(rows, lambda i, lp: (0.0, np.where(rows[i].mask, -1.0, 0.0)), StepSettings(0.05))
    assert one.fingerprint() == two.fingerprint() != opened().fingerprint()
    before = one.logprobs(rows, reference=True)[0].sum()
    one.anchor()
    assert one.logprobs(rows, reference=True)[0].sum() == one.logprobs(rows)[0].sum() > before


def test_an_objective_that_is_not_finite_is_a_fault() -> None:
    policy = opened()
    rows = [choice_row(policy, ask("open mail"), "ask app", 1.0)]
    with pytest.raises(BackendFault, match="finite"):
        policy.update(rows, lambda i, lp: (0.0, np.full(lp.shape, np.nan)), StepSettings(0.05))


def test_only_its_own_name_opens() -> None:
    with pytest.raises(ModelError, match="no model 'nano'"):
        tabular.open_policy(ModelSpec("nano"), 0)


def test_a_checkpoint_of_another_shape_is_refused(tmp_path: Path) -> None:
    policy = opened()
    with pytest.raises(ModelError, match="not a tabular checkpoint"):
        policy.load(tmp_path)
    policy.save(tmp_path)
    body = (tmp_path / "tabular.f64").read_bytes()
    (tmp_path / "tabular.f64").write_bytes(body[:-8])
    with pytest.raises(ModelError, match="bytes"):
        policy.load(tmp_path)
    (tmp_path / "tabular.f64").write_bytes(body)
    header = (tmp_path / "tabular.json").read_text()
    (tmp_path / "tabular.json").write_text(header.replace("ask recipient", "ask whom"))
    with pytest.raises(ModelError, match="another version"):
        policy.load(tmp_path)


def test_the_second_turn_reads_both() -> None:
    chat = [*ask("remind me to call home"), Message("assistant", "when?"), Message("user", "tomorrow at noon")]
    request = read(chat)
    assert (request.turns, request.cues["time"]) == (1, "1")


def test_it_learns_to_ask_only_where_something_is_missing() -> None:
    policy = opened()
    prompts = {"send the report": "clarify", "send the report to olga": "action", "remind me to call home": "clarify"}
    ids = [policy.encode(ask(text)) for text in prompts]

    def rewards(step: int, size: int):
        requests = [SampleRequest(i, tuple(range(step * size, (step + 1) * size))) for i in ids]
        groups = policy.sample(requests, Sampling(99))
        intents = [[parse_reply(policy.decode(c.token_ids)).intent for c in group] for group in groups]
        return groups, [
            np.array([i == w for i in group], float) for group, w in zip(intents, prompts.values(), strict=True)
        ]

    before = [r.mean() for r in rewards(1000, 100)[1]]
    for step in range(40):
        groups, scores = rewards(step, 8)
        rows = [
            row(i, c, float(s - r.mean()))
            for i, g, r in zip(ids, groups, scores, strict=True)
            for c, s in zip(g, r, strict=True)
        ]
        policy.update(rows, lambda k, lp, rows=rows: (0.0, -rows[k].advantages), StepSettings(lr=0.02))
    after = [r.mean() for r in rewards(1000, 100)[1]]
    assert max(before[0], before[2]) < 0.5 < before[1]
    assert min(after) > 0.9
