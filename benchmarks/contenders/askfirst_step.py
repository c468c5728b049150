"""A whole GRPO step of askfirst: rollouts, advantages, one update."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from askfirst import plugins
from askfirst.backends.hf import models
from askfirst.backends.hf.models import Loaded
from askfirst.backends.hf.policy import HfPolicy
from askfirst.policy import Completion, ModelSpec, SampleRequest, Sampling, StepSettings
from askfirst.values import Floats, Row
from benchmarks.shapes import ALPHA, LEARNING_RATE, RANK, Shape, measured, prompt_ids, reward

Ids = tuple[int, ...]


def main() -> None:
    """Measure the shape of the command line."""
    shape = Shape.from_arguments()
    policy, tokenizer = opened(shape)
    measured(lambda number: step(policy, tokenizer, shape, number), shape)


def opened(shape: Shape) -> tuple[HfPolicy, Any]:
    """The policy, without end tokens, so that every completion has its full length; and its tokenizer."""
    loaded = models.load(shape.model, shape.dtype, models.default_cache())
    spec = ModelSpec(shape.model, RANK, ALPHA, shape.dtype)
    return HfPolicy(Loaded(loaded.model, loaded.tokenizer, ()), spec, 0), loaded.tokenizer


def step(policy: HfPolicy, tokenizer: Any, shape: Shape, number: int) -> dict[str, float]:
    """Step `number`; the seconds of its parts."""
    start = time.perf_counter()
    prompts = prompt_ids(shape, tokenizer, number)
    wanted = [SampleRequest(p, tuple(range(i * 1000, i * 1000 + shape.group))) for i, p in enumerate(prompts)]
    groups = policy.sample(wanted, Sampling(shape.new_tokens))
    sampled = time.perf_counter()
    update(policy, prompts, groups)
    return {"rollout": sampled - start, "train": time.perf_counter() - sampled}


def update(policy: HfPolicy, prompts: list[Ids], groups: list[list[Completion]]) -> None:
    """One optimiser step on the clipped surrogate, the trainer's logprobs standing for the sampler's."""
    credit, loss = plugins.load("advantages", "grpo"), plugins.load("losses", "ppo_clip")
    rows = []
    for prompt, group in zip(prompts, groups, strict=True):
        rewards = np.array([reward(policy.decode(c.token_ids)) for c in group])
        for completion, advantage in zip(group, credit.advantages(rewards, credit.DEFAULTS), strict=True):
            rows.append(row(prompt, completion, advantage))
    scale = 1.0 / sum(int(r.mask.sum()) for r in rows)

    def objective(i: int, logprobs: Floats) -> tuple[float, Floats]:
        mine = rows[i]
        current = Row(mine.token_ids, mine.mask, logprobs, mine.reference_logprobs, mine.advantages)
        value, slope = loss.loss(current, logprobs, scale, loss.DEFAULTS)
        return float(value), slope

    policy.update(rows, objective, StepSettings(LEARNING_RATE))


def row(prompt: Ids, completion: Completion, advantage: float) -> Row:
    """The training row of a completion."""
    ids = np.array([*prompt, *completion.token_ids], dtype=np.int64)
    mask = np.arange(len(ids)) >= len(prompt)
    sampler = np.concatenate([np.zeros(len(prompt)), completion.logprobs])
    return Row(ids, mask, sampler, np.zeros(0), np.where(mask, advantage, 0.0))


if __name__ == "__main__":
    main()
