"""The work that every contender is given: prompts of whole words, forced lengths, one LoRA configuration."""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

RANK, ALPHA, LEARNING_RATE = 16, 32.0, 1e-5
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@dataclass(frozen=True, slots=True)
class Shape:
    """`prompts` of `prompt_tokens`, `group` episodes each, of exactly `new_tokens` in `turns` equal replies.

    Between two replies `said` tokens are put in, other ones in every episode.
    """

    model: str = "smollm2-135m"
    prompts: int = 8
    group: int = 8
    prompt_tokens: int = 200
    new_tokens: int = 48
    turns: int = 1
    said: int = 0
    dtype: str = "bf16"
    steps: int = 1  # measured, after one that is not

    @classmethod
    def from_arguments(cls) -> Shape:
        """The shape given as `--shape JSON`, missing fields by default."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--shape", default="{}", help="fields of Shape as JSON")
        return cls(**json.loads(parser.parse_args().shape))

    def as_json(self) -> str:
        """The shape as `--shape` takes it."""
        return json.dumps(asdict(self))


def model_folder(shape: Shape) -> str:
    """The folder of the model, converted where it is missing."""
    from askfirst.backends.hf.models import default_cache, resolve

    return resolve(shape.model, default_cache())


def library_model(shape: Shape) -> tuple[Any, Any]:
    """The model as transformers loads it, and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = model_folder(shape)
    dtype = torch.bfloat16 if shape.dtype == "bf16" else torch.float32
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype), AutoTokenizer.from_pretrained(folder)


def prompt_ids(shape: Shape, tokenizer: Any, step: int) -> list[tuple[int, ...]]:
    """Different prompts for every step, of tokens that come back as they are when the text is encoded again.

    A tokenizer that does not mark where a word begins, as that of nano, has prompts of any letters.
    """
    vocabulary = tokenizer.get_vocab()
    whole = [i for token, i in vocabulary.items() if token.startswith("Ġ") and token[1:].isalpha()]
    whole = whole or [i for token, i in vocabulary.items() if token.isalpha()]
    random = np.random.Generator(np.random.Philox(key=step))
    drawn = random.choice(sorted(whole), (shape.prompts, shape.prompt_tokens)).tolist()
    return [tuple(prompt) for prompt in drawn]


def said_ids(shape: Shape, tokenizer: Any, step: int, turn: int) -> list[tuple[int, ...]]:
    """What is put in before a turn, for every episode."""
    words = Shape(prompts=shape.prompts * shape.group, prompt_tokens=shape.said)
    return prompt_ids(words, tokenizer, 1000 * (step + 1) + turn)


def reward(text: str) -> float:
    """Any reward that differs within a group."""
    return float(sum(text.encode()) % 7)


def measured(step: Callable[[int], dict[str, float]], shape: Shape) -> None:
    """Run one unmeasured step and `steps` measured ones; print a line of JSON with seconds and peak memory."""
    step(0)
    seconds, parts = [], []
    for number in range(1, shape.steps + 1):
        start = time.perf_counter()
        parts.append(step(number))
        seconds.append(time.perf_counter() - start)
    report(seconds, parts)


def report(seconds: list[float], parts: list[dict[str, float]]) -> None:
    """The line that `compare` reads. Memory in MiB, everything else in seconds."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "parts": parts, "peak_mib": peak, "threads": os.cpu_count()}), flush=True)
