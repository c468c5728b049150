"""Attention that is guided while a model learns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.unit.backends.hf.conftest import REPLY, SHAPE, TEXTS

from askfirst.backends.hf import nano
from askfirst.backends.hf.guided import STRENGTH, Guide, Guiding, Look, hand_on
from askfirst.values import Message

PAIRS = [([Message("user", TEXTS[0])], REPLY), ([Message("user", TEXTS[2])], TEXTS[3])]
HEAD = (1, 0)


def back_to_second(ids: Sequence[int]) -> list[Look]:
    """Every token from the fourth on looks at the second."""
    return [("second", at, 1) for at in range(3, len(ids))]


GUIDE = Guide(back_to_second, {"second": (HEAD,)}, ())


def paid(model: Any, tokenizer: Any) -> float:
    """What HEAD pays to the second token of a dialogue, on average."""
    chat = nano.Chat(tokenizer, "nano")
    ids, _ = nano.dialogue_tokens(chat, tuple(PAIRS[0][0]), PAIRS[0][1])
    model.set_attn_implementation("eager")
    with torch.no_grad():
        attentions = model(torch.tensor([ids]), output_attentions=True).attentions
    return float(attentions[HEAD[0]][0, HEAD[1], 3:, 1].mean())


@pytest.mark.parametrize("shards", [1, 2])
def test_a_guided_head_looks_where_it_is_told_and_the_replies_are_learnt(tokenizer: Any, shards: int) -> None:
    found = []
    for guide in (None, GUIDE):
        model = nano.make_model(tokenizer, SHAPE, seed=0)
        settings = nano.NanoTraining(steps=80, batch=4, lr=1e-2, warmup=3, buckets=2, shards=shards, guide=guide)
        loss = nano.train_nano(model, tokenizer, itertools.cycle(PAIRS), settings)
        found.append((loss, paid(model, tokenizer)))
    (plain, before), (guided, after) = found
    assert before < 0.3
    assert after > 0.7
    assert guided < plain + 0.5


def test_the_loss_is_the_mean_of_log_attention_over_the_whole_batch() -> None:
    attention = torch.rand(2, 3, 5, 5, dtype=torch.float64).softmax(-1)
    guide = Guide(back_to_second, {"second": ((0, 0), (0, 2))}, (), 2.0)
    parts = guide.of_shards([torch.zeros(1, 6), torch.zeros(1, 5)], left=0.5)
    wanted = [[(0, 3), (0, 4)], [(1, 3)]]
    for row, (part, looks) in enumerate(zip(parts, wanted, strict=True)):
        logs = [attention[row, head, at, 1].log() for _, at in looks for head in (0, 2)]
        loss = part([attention[row : row + 1]])
        assert float(loss) == pytest.approx(-2.0 * 0.5 * float(sum(logs)) / 3, rel=1e-4)


def test_a_guide_that_has_ended_leaves_the_training_alone(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[str] = []

    def noted(worker: Any, shard: nano.Shard, guiding: Guiding | None) -> float:
        ways.append(worker.config._attn_implementation + (" guided" if guiding else ""))
        return backward(worker, shard, guiding)

    backward = nano._shard_backward
    monkeypatch.setattr(nano, "_shard_backward", noted)
    settings = nano.NanoTraining(
        steps=8, batch=4, lr=1e-2, warmup=3, buckets=2, shards=1, guide=replace(GUIDE, until=0.5)
    )
    model = nano.make_model(tokenizer, SHAPE, seed=0)
    nano.train_nano(model, tokenizer, itertools.cycle(PAIRS), settings)
    assert ways == ["eager guided"] * 4 + ["sdpa"] * 4
    assert [GUIDE.left(done) for done in (0.0, 0.25, 1.0)] == [1.0, 0.75, 0.0]
    assert [replace(GUIDE, until=0.5).left(done) for done in (0.0, 0.25, 0.75)] == [1.0, 0.5, 0.0]


def test_dialogues_without_looks_learn_as_they_would() -> None:
    guide = Guide(lambda ids: [], {"second": (HEAD,)}, ())
    (part,) = guide.of_shards([torch.zeros(2, 3)], left=1.0)
    assert float(part([torch.rand(2, 1, 2, 2)] * 2)) == 0.0


def test_a_chain_hands_a_word_on_and_nothing_else(tokenizer: Any) -> None:
    shape = nano.NanoShape(SHAPE.vocabulary, hidden=64, layers=3, heads=4, key_value_heads=2, mlp=64, context=64)
    model = nano.make_model(tokenizer, shape, seed=0)
    words, generator = range(40, 140), torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(64, 16, generator=generator))[0]
    with torch.no_grad():
        model.get_input_embeddings().weight[40:140] = torch.randn(100, 16, generator=generator) @ basis.T
    hand_on(model, words, [[(0, 0), (1, 0), (2, 1)], [(0, 2), (1, 3)]])
    word, other = model.get_input_embeddings().weight[50].detach(), torch.randn(64, generator=generator)
    other -= basis @ (basis.T @ other)

    def through(vector: torch.Tensor, *heads: tuple[int, int]) -> torch.Tensor:
        for layer, head in heads:
            block = model.model.layers[layer].self_attn
            values = block.v_proj.weight[head // 2 * 16 : head // 2 * 16 + 16] @ vector
            vector = block.o_proj.weight[:, head * 16 : head * 16 + 16] @ values
        return vector.detach()

    for chain in ([(0, 0), (1, 0), (2, 1)], [(0, 2), (1, 3)]):
        scale = STRENGTH ** (2 * len(chain))
        assert torch.allclose(through(word, *chain), scale * word, atol=1e-3 * scale)
        assert float(through(other, *chain).norm()) < 1e-3 * scale
        assert abs(float(through(word, *chain[:1]) @ word)) < 1e-2  # on the way it is not taken for a word
    assert float(through(word, (0, 0), (1, 3)).norm()) < 1e-2  # and not by another chain


def test_chains_that_do_not_fit_are_said(tokenizer: Any) -> None:
    model = nano.make_model(tokenizer, SHAPE, seed=0)
    with pytest.raises(ValueError, match="too many"):
        hand_on(model, range(40, 140), [[(0, 0)]] * 2)
