"""Seconds of a backward pass where scores of attention are kept, and where they are computed in turn, by turns:
python -m benchmarks.attention PROMPTS REPLIES LENGTH NEW

SmolLM2 in fp32 with LoRA of rank 16, PROMPTS of LENGTH tokens with REPLIES of NEW each; three passes each way.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from askfirst import plugins
from askfirst.backends.hf import packed, trainer
from askfirst.policy import ModelSpec
from askfirst.values import Floats, Row

COMMON = 20  # tokens that all prompts begin with


def main() -> None:
    """Print seconds of each pass."""
    prompts, replies, length, new = map(int, sys.argv[1:])
    rows = made(prompts, replies, length, new)
    policy = plugins.load("backends", "hf").open_policy(ModelSpec("smollm2-135m", 16, 32.0, "fp32"), 0)

    def total(index: int, logprobs: Floats) -> tuple[float, Floats]:
        return float(logprobs.sum()), rows[index].mask.astype(float)

    for _ in range(3):
        for name, at_once in (("kept", 1 << 60), ("in turn", 4 << 20)):
            packed.SCORES_AT_ONCE = at_once
            started = time.perf_counter()
            trainer.backward(policy.network, rows, total, policy.tokens_at_once)
            print(f"{name}: {time.perf_counter() - started:.1f} s", flush=True)


def made(prompts: int, replies: int, length: int, new: int) -> list[Row]:
    """Rows of tokens that mean nothing."""
    random = np.random.default_rng(0)
    common, mask, none = random.integers(10, 40_000, COMMON), np.arange(length + new) >= length, np.zeros(length + new)
    rows = []
    for _ in range(prompts):
        head = np.concatenate([common, random.integers(10, 40_000, length - COMMON)])
        for _ in range(replies):
            rows.append(Row(np.concatenate([head, random.integers(10, 40_000, new)]), mask, none, none, none))
    return rows


if __name__ == "__main__":
    main()
