"""Models for one environment, built from `nano`: the fixed parts of its episodes as tokens, then whole demonstrations.

All weights learn, on train scenarios. In the last part most demonstrations on requests that need a question guess
instead: like `nano` on `judgment`, such a model knows when to ask and mostly does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from askfirst import plugins
from askfirst.provenance import code_hash
from askfirst.store import generator, seed_from
from askfirst.values import Message, Scenario
from askfirst.warmstart import choose_demonstration, demonstration_scenarios, guessing_share

if TYPE_CHECKING:
    from askfirst.backends.hf.guided import Guide

Pair = tuple[tuple[Message, ...], str]  # messages, last reply
CHUNK = 256
KEPT_EVERY = 100  # steps after which a build has its state on disk


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is made: supervised steps of `batch` dialogues, with Muon (see `backends.hf.nano`)."""

    steps: int
    batch: int = 16
    lr: float = 2e-3
    seed: int = 0
    guessing_share: float = 0.8
    guesses_after: float = 0.85


def all_of_env(env: ModuleType, count: int, seed: int, done: float) -> list[Scenario]:
    """Train scenarios of which there are demonstrations, at any time of the build."""
    return demonstration_scenarios(env, count, seed)


Told = tuple[tuple[Message, ...], str, float]  # messages, last reply, share of the build that is done


def as_shown(scenario: Scenario, told: Told, random: np.random.Generator) -> Pair:
    """The dialogue as it is."""
    return told[0], told[1]


@dataclass(frozen=True, slots=True)
class Specialist:
    """A model to build: `parts` of its environment's episodes become a token each, and so do `words`.

    `scenarios` are those of its dialogues, by environment, count, seed and the share of the build that is done;
    `retold` may word a dialogue anew, and `guide` makes of the tokenizer what some heads are told to look at.
    """

    name: str
    env: str
    parts: tuple[str, ...]
    recipe: Recipe
    scenarios: Callable[[ModuleType, int, int, float], list[Scenario]] = field(default=all_of_env)
    words: tuple[str, ...] = ()
    retold: Callable[[Scenario, Told, np.random.Generator], Pair] = field(default=as_shown)
    guide: Callable[[Any], Guide] | None = None


def build(own: Specialist, folder: Path, recipe: Recipe, command: str, progress: Callable[[int, float], None]) -> str:
    """Train and write the model; returns the sha256 of its weights. `progress(step, loss)`.

    A build that was stopped goes on from the state that it left last, if recipe and code are the same.
    """
    from askfirst.backends.hf import nano
    from askfirst.backends.hf.halfway import Halfway

    model, tokenizer, guide = begin(own)
    settings = nano.NanoTraining(recipe.steps, recipe.batch, recipe.lr, bf16=True, seed=recipe.seed, guide=guide)
    halfway = Halfway(folder, f"{own.name} {recipe!r} {code_hash()}", KEPT_EVERY)
    nano.train_nano(model, tokenizer, dialogues(own, recipe), settings, progress, halfway)
    digest = nano.save_nano(model, tokenizer, folder, command)
    halfway.remove()
    return digest


def begin(own: Specialist) -> tuple[Any, Any, Guide | None]:
    """`nano` with the specialist's tokens, as (model, tokenizer), and where its heads are told to look, if they are."""
    from askfirst.backends.hf import models
    from askfirst.backends.hf.guided import hand_on
    from askfirst.backends.hf.widening import widened

    model, tokenizer = widened(models.NANO, own.parts, own.words)
    guide = own.guide(tokenizer) if own.guide else None
    if guide:
        hand_on(model, sorted(set(tokenizer.convert_tokens_to_ids(list(own.words)))), guide.chains)
    return model, tokenizer, guide


def dialogues(own: Specialist, recipe: Recipe) -> Iterator[Pair]:
    """Endless dialogues on train scenarios as (messages, last reply)."""
    env = plugins.load("envs", own.env)
    for chunk in itertools.count():
        name = seed_from(own.name, recipe.seed, chunk)
        random = generator(name, "choice")
        done = chunk * CHUNK / (recipe.steps * recipe.batch)
        guessing = guessing_share(recipe.guessing_share, recipe.guesses_after, done)
        for scenario in own.scenarios(env, CHUNK, name, done):
            shown = choose_demonstration(env, scenario, guessing, random)
            messages = tuple(env.start(scenario))
            *before, last = (shown.reply, *shown.then)
            for reply in before:
                messages += (Message("assistant", reply),)
                messages += (env.step(scenario, messages),)
            yield own.retold(scenario, (messages, last, done), random)
