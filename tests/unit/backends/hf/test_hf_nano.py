"""The nano model: its tokenizer, its making, its training."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save
from tests.unit.backends.hf.conftest import REPLY, SHAPE, TEXTS

from askfirst.backends import hf
from askfirst.backends.hf import models, nano
from askfirst.backends.hf.halfway import Halfway
from askfirst.errors import InputError
from askfirst.policy import ModelSpec, SampleRequest, Sampling
from askfirst.replies import SLOTS, Reply
from askfirst.values import Message

ODD = {"step": torch.tensor(7), "another.weight": torch.zeros(1)}
TRAINING = nano.NanoTraining(steps=25, batch=4, lr=1e-2, warmup=3, buckets=2)


def pairs() -> Iterator[nano.Pair]:
    return itertools.cycle([([Message("user", TEXTS[0])], REPLY), ([Message("user", TEXTS[2])], TEXTS[3])])


def varied() -> Iterator[nano.Pair]:
    return (([Message("user", TEXTS[i % 3])], TEXTS[i * i % 4]) for i in itertools.count())


def test_a_question_is_short(tokenizer: Any) -> None:
    for slot in SLOTS:
        text = Reply("Which draft?", "clarify", {"question": "Which draft?", "topic": slot}).text()
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        words = tokenizer("Which draft?", add_special_tokens=False)["input_ids"]
        assert len(ids) == 3 + 2 * len(words)


@pytest.mark.parametrize(
    ("intent", "payload", "fixed"),
    [
        ("answer", {"text": "x"}, 3),
        ("out_of_scope", {"reason": "x"}, 3),
        ("confirm_destructive", {"action": "x", "target": "x"}, 4),
        ("edit", {"reference": "x", "transform": "x"}, 4),
        ("action", {"name": "x", "args": {}}, 3),
        ("action", {"name": "x", "args": {"x": "x"}}, 5),
    ],
)
def test_the_fixed_parts_of_a_reply_are_one_token_each(
    tokenizer: Any, intent: str, payload: dict[str, Any], fixed: int
) -> None:
    ids = tokenizer(Reply("x", intent, payload).text(), add_special_tokens=False)["input_ids"]
    tokens = [tokenizer.decode([i]) for i in ids]
    assert len([t for t in tokens if t != "x"]) == fixed


def test_the_tokenizer_is_a_function_of_its_texts(tokenizer: Any) -> None:
    again = nano.make_tokenizer(TEXTS, SHAPE.vocabulary)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    assert len(tokenizer) <= SHAPE.vocabulary


def test_the_default_shape_is_small(tokenizer: Any) -> None:
    model = nano.make_model(tokenizer, nano.NanoShape(), seed=0)
    assert 2e6 < sum(p.numel() for p in model.parameters()) + (2048 - 448) * 192 < 4e6


def test_making_a_model_leaves_torchs_own_generator_alone(tokenizer: Any) -> None:
    state = torch.get_rng_state()
    first = nano.make_model(tokenizer, SHAPE, seed=1).lm_head.weight
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first, nano.make_model(tokenizer, SHAPE, seed=1).lm_head.weight)
    assert not torch.equal(first, nano.make_model(tokenizer, SHAPE, seed=2).lm_head.weight)


def test_training_learns_and_is_deterministic(tokenizer: Any) -> None:
    ends, losses = [], []
    for _ in range(2):
        model = nano.make_model(tokenizer, SHAPE, seed=0)
        losses.clear()
        nano.train_nano(model, tokenizer, pairs(), TRAINING, lambda step, loss: losses.append(loss))
        ends.append(model.lm_head.weight.detach().clone())
    assert losses[-1] < 0.5 * losses[0]
    assert len(losses) == 25
    assert torch.equal(*ends)


def test_a_killed_training_ends_with_the_weights_of_one_that_was_not(tokenizer: Any, tmp_path: Path) -> None:
    def trained(halfway: Halfway | None, until: int) -> tuple[Any, list[int]]:
        model, seen = nano.make_model(tokenizer, SHAPE, seed=0), []

        def tell(step: int, loss: float) -> None:
            seen.append(step)
            if step + 1 == until:
                raise KeyboardInterrupt

        nano.train_nano(model, tokenizer, varied(), TRAINING, tell, halfway=halfway)
        return model.state_dict(), seen

    whole, _ = trained(None, 0)
    halfway = Halfway(tmp_path / "own", "recipe", every=10)
    with pytest.raises(KeyboardInterrupt):
        trained(halfway, 17)
    resumed, seen = trained(halfway, 0)
    assert seen == list(range(10, 25))
    assert all(torch.equal(resumed[name], weight) for name, weight in whole.items())
    _, anew = trained(replace(halfway, made="another recipe"), 0)
    assert anew == list(range(25))
    assert len(list(halfway.folder.iterdir())) == 2
    halfway.remove()
    assert not list(halfway.folder.iterdir())


def test_a_state_that_does_not_fit_is_not_gone_on_with(tokenizer: Any, tmp_path: Path) -> None:
    halfway = Halfway(tmp_path, "recipe", 10)
    model = nano.make_model(tokenizer, SHAPE, seed=0)
    before = model.lm_head.weight.detach().clone()
    for body, said in [
        (b"x", "not a readable"),
        (save({"x": torch.zeros(1)}), "no state"),
        (save(ODD), "do not match"),
    ]:
        halfway.path.write_bytes(body)
        with pytest.raises(InputError, match=said):
            nano.train_nano(model, tokenizer, pairs(), TRAINING, halfway=halfway)
    assert torch.equal(model.lm_head.weight, before)


def test_running_out_of_pairs_is_said(tokenizer: Any) -> None:
    model = nano.make_model(tokenizer, SHAPE, seed=0)
    with pytest.raises(InputError, match="ran out at step 2"):
        nano.train_nano(model, tokenizer, itertools.islice(pairs(), 9), TRAINING)


def test_the_learning_rate_rises_and_falls() -> None:
    factors = [nano.learning_rate_factor(step, TRAINING) for step in range(TRAINING.steps)]
    assert factors[0] == pytest.approx(1 / 3)
    assert max(factors) == 1.0 == factors[2]
    assert factors[3:] == sorted(factors[3:], reverse=True)
    assert factors[-1] == pytest.approx(0.1, abs=0.01)


def test_a_trained_nano_opens_from_its_folder_and_speaks(tokenizer: Any, tmp_path: Path) -> None:
    model = nano.make_model(tokenizer, SHAPE, seed=0)
    steps = nano.NanoTraining(steps=60, batch=4, lr=1e-2, warmup=3, buckets=2)
    nano.train_nano(model, tokenizer, pairs(), steps)
    digest = nano.save_nano(model, tokenizer, tmp_path / "m", "make nano")
    record = json.loads((tmp_path / "m" / "nano.json").read_text())
    assert (record["weights_sha256"], record["build"]) == (digest, "make nano")
    policy = hf.open_policy(ModelSpec(str(tmp_path / "m")), seed=0)
    prompt = policy.encode([Message("system", "unread"), Message("user", TEXTS[0])])
    (completion,) = policy.sample([SampleRequest(prompt, (1,))], Sampling(40, 0.0))[0]
    assert policy.decode(completion.token_ids) == REPLY
    assert completion.token_ids == policy.encode_reply(REPLY)


def test_the_shipped_folder_stands_beside_the_package() -> None:
    assert models.NANO.parts[-3:] == ("askfirst", "models", "nano")
