"""A whole GRPO step of askfirst: rollouts, advantages, one update."""

from __future__ import annotations

import time
from itertools import chain
from typing import Any

import numpy as np

from askfirst import plugins
from askfirst.backends.hf import models
from askfirst.backends.hf.models import Loaded
from askfirst.backends.hf.policy import HfPolicy
from askfirst.credit import Evidence
from askfirst.policy import ModelSpec, SampleRequest, Sampling, StepSettings
from askfirst.values import Floats, Row
from benchmarks.shapes import ALPHA, LEARNING_RATE, RANK, Shape, measured, prompt_ids, reward, said_ids

Ids = tuple[int, ...]
Segments = list[tuple[Ids, tuple[float, ...] | None]]  # tokens, and their logprobs where they were sampled


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
    episodes = play(policy, tokenizer, shape, number)
    sampled = time.perf_counter()
    update(policy, episodes)
    return {"rollout": sampled - start, "train": time.perf_counter() - sampled}


def play(policy: HfPolicy, tokenizer: Any, shape: Shape, number: int) -> list[list[Segments]]:
    """The episodes of each prompt: what was said and what was sampled, turn after turn."""
    prompts = prompt_ids(shape, tokenizer, number)
    episodes: list[list[Segments]] = [[[(prompt, None)] for _ in range(shape.group)] for prompt in prompts]
    sampling = Sampling(shape.new_tokens // shape.turns)
    for turn in range(shape.turns):
        if turn == 0:
            requests = [SampleRequest(p, tuple(range(i * 1000, i * 1000 + shape.group))) for i, p in enumerate(prompts)]
        else:
            for episode, said in zip(chain(*episodes), said_ids(shape, tokenizer, number, turn), strict=True):
                episode.append((said, None))
            histories = [tuple(chain(*(ids for ids, _ in episode))) for episode in chain(*episodes)]
            requests = [SampleRequest(ids, (turn * 100_000 + i,)) for i, ids in enumerate(histories)]
        completions = policy.sample(requests, sampling, keep=turn + 1 < shape.turns)
        for episode, completion in zip(chain(*episodes), chain(*completions), strict=True):
            episode.append((completion.token_ids, completion.logprobs))
    return episodes


def update(policy: HfPolicy, episodes: list[list[Segments]]) -> None:
    """One optimiser step on the clipped surrogate, the trainer's logprobs standing for the sampler's."""
    credit, loss = plugins.load("advantages", "grpo"), plugins.load("losses", "ppo_clip")
    rows = []
    for group in episodes:
        rewards = np.array([reward(policy.decode(episode[-1][0])) for episode in group])
        # A group of one has no baseline: a point of a curve, for its cost alone.
        advantages = credit.advantages(Evidence(rewards), credit.DEFAULTS) if len(group) > 1 else np.ones(1)
        for episode, advantage in zip(group, advantages, strict=True):
            rows.append(row(episode, advantage))
    scale = 1.0 / sum(int(r.mask.sum()) for r in rows)

    def objective(i: int, logprobs: Floats) -> tuple[float, Floats]:
        mine = rows[i]
        current = Row(mine.token_ids, mine.mask, logprobs, mine.reference_logprobs, mine.advantages)
        value, slope = loss.loss(current, logprobs, scale, loss.DEFAULTS)
        return float(value), slope

    policy.update(rows, objective, StepSettings(LEARNING_RATE))


def row(episode: Segments, advantage: float) -> Row:
    """The training row of an episode."""
    ids = np.array([i for part, _ in episode for i in part], dtype=np.int64)
    mask = np.repeat([logprobs is not None for _, logprobs in episode], [len(part) for part, _ in episode])
    sampler = np.concatenate([np.zeros(len(part)) if logprobs is None else logprobs for part, logprobs in episode])
    return Row(ids, mask, sampler, np.zeros(0), np.where(mask, advantage, 0.0))


if __name__ == "__main__":
    main()
