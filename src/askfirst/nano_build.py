"""Build the model `nano` from the environment's demonstrations.

It learns the protocol from scratch on train scenarios: first to tell what needs a question, then, in the last
part, that most people guess all the same. So the model ends in the state in which users' models start: it knows
when to ask, and mostly does not. To count the things of a kind on a screen comes last and needs lessons of its own.

A model this small would learn the train split's names by heart. So in nine of ten pairs the open-class
words (names, topics, titles) are made up, the same word in request and reply: only copying helps there.
The tokenizer is learnt from such pairs alone, so that names of every split fall into pieces alike.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from askfirst import plugins
from askfirst.replies import PAYLOADS, SAID, SLOTS
from askfirst.store import generator, seed_from
from askfirst.values import Message, Scenario
from askfirst.warmstart import choose_demonstration, guessing_share

Pair = tuple[tuple[Message, ...], str]
CHUNK = 256  # scenarios drawn together; within a chunk none is drawn twice
PAIRED = 0.75  # share of ambiguous requests and their twins together; the rest keeps every other kind of reply alive
LOST = 0.15  # share of the words of a frame that a frayed request is without
# Words that carry the sense of a time or an amount stay what they are.
MEANT = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december today tonight tomorrow yesterday morning afternoon evening night noon "
    "midnight week weekend month year hour hours minute minutes second seconds half quarter past next last this "
    "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty ninety "
    "hundred percent times first third spring summer autumn winter dozen pages copies".split()
)
# Words that the fixed parts of a reply are made of: to replace them would break it.
SCHEMA = frozenset({*PAYLOADS, *SLOTS, *(field for fields in PAYLOADS.values() for field in fields)})
_KIND = re.compile(r"^\[\d+\] .*\|([^|\n]+)$", re.MULTILINE)
ONSETS = "b br c ch cl d dr f fl g gr h j k kl l m n p pl qu r s sh sk st t th tr v w y z".split()
VOWELS = "a e i o u ai ea ee ia io oo ou".split()
CODAS = ["", "", "", "l", "n", "r", "s", "t", "k", "m", "x", "ng", "nd", "rt"]
LETTERS = list("aaaeeeeiiiooouutttnnnsssrrrlllhhddccmmffppggwwyybbvkkxjqz")  # about as common as in English


@dataclass(frozen=True, slots=True)
class Lesson:
    """A part of the build, with its own learning-rate schedule and fresh optimiser state.

    `several`: share, among ambiguous requests and their twins, of those about one of several things. After
    `guesses_after` of the steps the recipe's share of the demonstrations on ambiguous requests guess; before that
    none does.
    """

    steps: int
    lr: float
    several: float
    guesses_after: float
    seed: int
    made_up_kinds: float = 0.0  # share of the pairs in which the kinds of things on the screen have made-up names
    frayed: float = 0.0  # share of ambiguous requests and twins from which words of the frame are missing
    twins: float = 0.33  # share of the pairs that are clear twins: they show what makes a request clear


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the shipped model is made."""

    # To read and copy; then, the hard part, to tell one thing of a kind from several; last, to guess all the same.
    lessons: tuple[Lesson, ...] = (
        Lesson(5600, 3e-3, several=0.50, guesses_after=1.0, seed=0, made_up_kinds=0.4, frayed=0.5),
        Lesson(1800, 2e-3, several=0.65, guesses_after=1.0, seed=1, made_up_kinds=0.4, frayed=0.5, twins=0.40),
        Lesson(2000, 2e-3, several=0.75, guesses_after=1.0, seed=2, made_up_kinds=0.2, frayed=0.3, twins=0.40),
        Lesson(700, 1.5e-3, several=0.75, guesses_after=1.0, seed=4, made_up_kinds=0.2, frayed=0.3, twins=0.40),
        Lesson(1500, 1.5e-3, several=0.75, guesses_after=1.0, seed=6, made_up_kinds=0.2, frayed=0.3, twins=0.40),
        Lesson(220, 3e-4, several=0.60, guesses_after=0.0, seed=5, made_up_kinds=0.2, frayed=0.3, twins=0.40),
    )
    batch: int = 32
    guessing_share: float = 0.775
    made_up_share: float = 0.9
    vocabulary_pairs: int = 10_000

    @property
    def steps(self) -> int:
        """Of all lessons."""
        return sum(lesson.steps for lesson in self.lessons)


def short(steps: int) -> Recipe:
    """The first lesson alone, in so many steps."""
    return Recipe(lessons=(replace(Recipe().lessons[0], steps=steps),))


def build(folder: Path, recipe: Recipe, command: str, progress: Callable[[int, float], None]) -> str:
    """Train and write the model; returns the sha256 of its weights. `progress(step, loss)`.

    After each lesson the weights go to disk, in bf16, and the next starts from there: a build that was stopped
    goes on with the lesson that it was in.
    """
    from askfirst.backends.hf import nano

    env = plugins.load("envs", "judgment")
    before, finished = 0, folder / "lessons"
    for number, lesson in enumerate(recipe.lessons):
        own = finished / str(number)
        made = f"{command} {recipe!r}"  # what a lesson on disk must have been made by
        if not nano.is_saved(own, made):
            model, tokenizer = nano.load_nano(finished / str(number - 1)) if number else _untrained(env, recipe)
            settings = nano.NanoTraining(
                steps=lesson.steps, batch=recipe.batch, lr=lesson.lr, bf16=True, seed=lesson.seed
            )

            def tell(step: int, loss: float, before: int = before) -> None:
                progress(before + step, loss)

            nano.train_nano(model, tokenizer, pairs(env, recipe, lesson), settings, tell)
            nano.save_nano(model, tokenizer, own, made)
        before += lesson.steps
    model, tokenizer = nano.load_nano(finished / str(len(recipe.lessons) - 1))
    digest = nano.save_nano(model, tokenizer, folder, command)
    shutil.rmtree(finished)
    return digest


def _untrained(env: ModuleType, recipe: Recipe) -> tuple[Any, Any]:
    """A model with random weights, and a tokenizer learnt from pairs with made-up names alone."""
    from askfirst.backends.hf import nano

    first = pairs(env, replace(recipe, made_up_share=1.0), recipe.lessons[0])
    texts = (text for chat, reply in islice(first, recipe.vocabulary_pairs) for text in (chat[-1].content, reply))
    return nano.create_nano(texts, recipe.lessons[0].seed)


def pairs(env: ModuleType, recipe: Recipe, lesson: Lesson) -> Iterator[Pair]:
    """Endless (chat, reply) pairs of train scenarios, a share of the ambiguous ones answered with a guess."""
    fixed = closed_words(env)
    others = {name: weight for name, weight in env.PAIR_MIX.items() if name != "several"}
    scale = (1 - lesson.several) / sum(others.values())
    of_pairs = {n: lesson.several if n == "several" else w * scale for n, w in env.PAIR_MIX.items()}
    mix = {k: (1 - PAIRED) * v for k, v in env.CLEAR_MIX.items()}
    mix |= {"ambiguous": PAIRED - lesson.twins, "clear_twin": lesson.twins}
    chunk = 0
    while True:
        name = seed_from("nano", lesson.seed, chunk)
        random = generator(name, "choice")
        done = chunk * CHUNK / (lesson.steps * recipe.batch)
        guessing = guessing_share(recipe.guessing_share, lesson.guesses_after, done)
        for scenario in env.scenarios("train", CHUNK, name, mix, of_pairs):
            reply = choose_demonstration(env, scenario, guessing, random).reply
            chat = tuple(env.start(scenario))
            if scenario.twin and random.random() < lesson.frayed:
                chat = fray(chat, reply, scenario.values, random)
            words = open_words(scenario, fixed) if random.random() < recipe.made_up_share else ()
            if lesson.made_up_kinds and random.random() < lesson.made_up_kinds:
                words = (*words, *kind_words(chat[-1].content))
            yield disguise(chat, reply, {word: made_up(random) for word in dict.fromkeys(words)})
        chunk += 1


@cache
def closed_words(env: ModuleType, sample: int = 4000) -> frozenset[str]:
    """Words that requests are built with, as against the open-class values they are filled with."""
    found: set[str] = set()
    for scenario in env.scenarios("train", sample, seed_from("nano", "closed words")):
        values = {word for value in scenario.values for word in _words(value)}
        found |= set(_words(scenario.opening[-1].content)) - values
    return frozenset(found)


def open_words(scenario: Scenario, fixed: frozenset[str]) -> tuple[str, ...]:
    """The open-class words of a scenario's values, in order."""
    found = (word for value in scenario.values for word in _words(value))
    return tuple(dict.fromkeys(w for w in found if len(w) > 2 and w not in fixed and w not in MEANT))


def kind_words(shown: str) -> tuple[str, ...]:
    """What the things on a screen are called: the words in the last column of their lines."""
    found = (word for kind in _KIND.findall(shown) for word in _words(kind))
    return tuple(dict.fromkeys(w for w in found if w not in SCHEMA))


def fray(
    chat: tuple[Message, ...], reply: str, values: tuple[str, ...], random: np.random.Generator
) -> tuple[Message, ...]:
    """The chat with about LOST of the words of the request gone: none that is a value, means a time or is replied with.

    What is left says the same: a request misses a slot whether it is worded fully or not. Frames are few, and a
    model that saw each of them in one wording alone knows them by heart (random deletion: Wei and Zou 2019).
    """
    shown, mark, request = chat[-1].content.rpartition(SAID)
    kept = {*_words(reply), *_words(shown), *(word for value in values for word in _words(value)), *MEANT}
    words = [w for w in request.split(" ") if not kept.isdisjoint(_words(w)) or random.random() >= LOST]
    return (*chat[:-1], Message(chat[-1].role, shown + mark + " ".join(words))) if words else chat


def disguise(chat: tuple[Message, ...], reply: str, names: Mapping[str, str]) -> Pair:
    """The pair with each of the words `names`, wherever it stands, replaced by what it is called there."""
    if not names:
        return chat, reply
    pattern = re.compile(r"(?<![a-z])(" + "|".join(map(re.escape, names)) + r")(?![a-z])", re.IGNORECASE)

    def swap(match: re.Match[str]) -> str:
        word = names[match[0].lower()]
        return word.capitalize() if match[0][0].isupper() else word

    shown = tuple(Message(m.role, pattern.sub(swap, m.content)) for m in chat)
    return shown, pattern.sub(swap, reply)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def made_up(random: np.random.Generator) -> str:
    """A word of two or three made-up syllables."""
    syllables = int(random.integers(2, 4))
    parts = [str(random.choice(kind)) for _ in range(syllables) for kind in (ONSETS, VOWELS)]
    return "".join(parts) + str(random.choice(CODAS))


def odd(random: np.random.Generator) -> str:
    """A word of three to eight letters in any order: nothing helps to write it again but to look at it."""
    return "".join(str(random.choice(LETTERS)) for _ in range(int(random.integers(3, 9))))
