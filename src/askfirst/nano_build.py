"""Build the model `nano` from the environment's demonstrations.

It learns the protocol from scratch on train scenarios. On ambiguous requests most of the demonstrations
guess, so the model ends in the state in which users' models start: it knows how to ask, and mostly does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from askfirst import plugins
from askfirst.store import generator, seed_from
from askfirst.values import Message, Scenario
from askfirst.warmstart import choose_demonstration, demonstration_scenarios

CHUNK = 256  # scenarios drawn together; within a chunk none is drawn twice


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the shipped model is made."""

    steps: int = 2600
    batch: int = 32
    lr: float = 2.5e-3
    guessing_share: float = 0.8
    vocabulary_texts: int = 15_000
    seed: int = 0


def build(folder: Path, recipe: Recipe, command: str, progress: Callable[[int, float], None]) -> str:
    """Train and write the model; returns the sha256 of its weights. `progress(step, loss)`."""
    from askfirst.backends.hf import nano

    env = plugins.load("envs", "judgment")
    texts = [
        text for pair in _take(pairs(env, recipe), recipe.vocabulary_texts) for text in (pair[0][-1].content, pair[1])
    ]
    model, tokenizer = nano.create_nano(texts, recipe.seed)
    settings = nano.NanoTraining(steps=recipe.steps, batch=recipe.batch, lr=recipe.lr, bf16=True, seed=recipe.seed)
    nano.train_nano(model, tokenizer, pairs(env, recipe), settings, progress)
    return nano.save_nano(model, tokenizer, folder, command)


def pairs(env: ModuleType, recipe: Recipe) -> Iterator[tuple[tuple[Message, ...], str]]:
    """Endless (chat, reply) pairs of train scenarios, a share of the ambiguous ones answered with a guess."""
    chunk = 0
    while True:
        name = seed_from("nano", recipe.seed, chunk)
        random = generator(name, "choice")
        scenarios: list[Scenario] = demonstration_scenarios(env, CHUNK, name)
        order = random.permutation(len(scenarios))
        for index in order:
            scenario = scenarios[int(index)]
            reply = choose_demonstration(env, scenario, recipe.guessing_share, random)
            yield tuple(env.start(scenario)), reply
        chunk += 1


def _take(stream: Iterator[tuple[tuple[Message, ...], str]], count: int) -> Iterator[tuple[tuple[Message, ...], str]]:
    for _, pair in zip(range(count), stream, strict=False):
        yield pair
