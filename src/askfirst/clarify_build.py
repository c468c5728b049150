"""Build the model `nano-clarify` from `nano` and demonstrations of environment `clarify`.

It learns, all weights, to read an opening and to plan, on train scenarios. In the last part most demonstrations on
requests that need a question guess instead: like `nano` on `judgment`, it knows when to ask and mostly does not.

Two of the seven families are never seen. So in a share of the dialogues keys and values have made-up names, the same
word in request, answers and calls: only copying helps there. In others values are said in words of two of their ways at
once, since a model that has seen few ways to say a value learns those by heart and reads no other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askfirst import plugins
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM
from askfirst.clarify.problem import hidden_of
from askfirst.nano_build import made_up
from askfirst.store import generator, seed_from
from askfirst.values import Message, Scenario
from askfirst.warmstart import choose_demonstration, demonstration_scenarios, guessing_share

NAME = "nano-clarify"
Pair = tuple[tuple[Message, ...], str]
CHUNK = 256
TRIES = 8
# Fixed parts of openings and calls, a token each.
PARTS = (
    '{"name": "ask_question", "arguments": {"question": "What is the ',
    '{"name": "propose_plan", "arguments": {"plan": {"',
    'decline": "',
    '", "assumptions": ["',
    '"]}}}',
    '?"}}',
    " | ",
    "): ",
    " (",
    "\na question: ",
    " (6 left, ",
    "% answered)\nuser said: ",
    "task: ",
    "\nquestions left: ",
    "\nunless said otherwise: ",
    "\nusually: ",
    "\nnot possible: ",
    " = ",
    "%)",
)
AROUND = ("{}", "{}", "the {}", "a {}", "with {}", "{} it is", "for {}", "in the {}")  # around a made-up value


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the model is made: supervised steps of `batch` dialogues, with Muon (see `backends.hf.nano`)."""

    steps: int = 500
    batch: int = 32
    lr: float = 2e-3
    seed: int = 0
    made_up_share: float = 0.25
    blended_share: float = 0.5
    guessing_share: float = 0.8
    guesses_after: float = 0.85


def build(folder: Path, recipe: Recipe, command: str, progress: Callable[[int, float], None]) -> str:
    """Train and write the model; returns the sha256 of its weights. `progress(step, loss)`."""
    from askfirst.backends.hf import models, nano

    model, tokenizer = nano.widened(models.NANO, PARTS)
    settings = nano.NanoTraining(recipe.steps, recipe.batch, recipe.lr, bf16=True, seed=recipe.seed)
    nano.train_nano(model, tokenizer, dialogues(recipe), settings, progress)
    return nano.save_nano(model, tokenizer, folder, command)


def dialogues(recipe: Recipe) -> Iterator[Pair]:
    """Endless dialogues on train scenarios as (messages, last reply)."""
    env = plugins.load("envs", "clarify")
    for chunk in itertools.count():
        name = seed_from(NAME, recipe.seed, chunk)
        random = generator(name, "choice")
        done = chunk * CHUNK / (recipe.steps * recipe.batch)
        guessing = guessing_share(recipe.guessing_share, recipe.guesses_after, done)
        for scenario in demonstration_scenarios(env, CHUNK, name):
            shown = choose_demonstration(env, scenario, guessing, random)
            messages = tuple(env.start(scenario))
            *before, last = (shown.reply, *shown.then)
            for reply in before:
                messages += (Message("assistant", reply),)
                messages += (env.step(scenario, messages),)
            part = random.random()
            if part < recipe.made_up_share:
                yield disguised(scenario, messages, last, random)
            elif part < recipe.made_up_share + recipe.blended_share:
                yield blended(scenario, messages, random), last
            else:
                yield messages, last


def disguised(scenario: Scenario, messages: tuple[Message, ...], last: str, random: np.random.Generator) -> Pair:
    """The dialogue with made-up names for most keys and for all of their values, wherever these are said."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    spoken: dict[str, str] = {}  # what users say → what they say instead
    written: dict[str, str] = {}  # what stands in schema, notes and calls → what stands there instead
    for one in family.fields:
        # A number as a value would be taken for a price.
        if one.name == CONFIRM or one.values[-1].isdigit() or random.random() < 0.2:
            continue
        key = made_up(random)
        written |= {one.name: key, one.name.replace("_", " "): key}
        for value in one.values:
            word = " ".join(made_up(random) for _ in range(1 + (random.random() < 0.3)))
            written[value] = word
            for way in one.ways(value):
                spoken[way.lower()] = AROUND[int(random.integers(len(AROUND)))].format(word)
    shown, mark, request = messages[0].content.rpartition("user said: ")
    opening = Message("user", _swapped(shown, written) + mark + _swapped(request, spoken))
    rest = [Message(m.role, _swapped(m.content, spoken if m.role == "user" else written)) for m in messages[1:]]
    return (opening, *rest), _swapped(last, written)


def blended(scenario: Scenario, messages: tuple[Message, ...], random: np.random.Generator) -> tuple[Message, ...]:
    """The messages with values said in words of two of their ways of split train."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    spoken: dict[str, str] = {}
    for one in family.fields:
        ways = {v: (*family.split(one.said[v], "train"), *one.also.get(v, ())) for v in one.values}
        for value, own in ways.items():
            others = {word for v in ways if v != value for way in ways[v] for word in way.lower().split()}
            for way in own:
                spoken[way.lower()] = _blend(way, own, others, random)
    shown, mark, request = messages[0].content.rpartition("user said: ")
    opening = Message("user", shown + mark + _swapped(request, spoken))
    return (opening, *(Message(m.role, _swapped(m.content, spoken)) if m.role == "user" else m for m in messages[1:]))


def _blend(way: str, ways: Sequence[str], others: set[str], random: np.random.Generator) -> str:
    """The beginning of one way and the end of another, with a word that no other value has; else the way itself."""
    for _ in range(TRIES):
        one, other = (ways[int(i)].split() for i in random.integers(len(ways), size=2))
        words = one[: int(random.integers(len(one) + 1))] + other[int(random.integers(len(other) + 1)) :]
        if not others.issuperset(word.lower() for word in words):
            return " ".join(words)
    return way


def _swapped(text: str, words: dict[str, str]) -> str:
    """The text with each of the words, longest first, replaced."""
    if not words:
        return text
    longest = sorted(words, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w#])(" + "|".join(map(re.escape, longest)) + r")(?!\w)", re.IGNORECASE)

    def swap(match: re.Match[str]) -> str:
        found = words.get(match[0]) or words[match[0].lower()]
        return found[:1].upper() + found[1:] if match[0][0].isupper() else found

    return pattern.sub(swap, text)
