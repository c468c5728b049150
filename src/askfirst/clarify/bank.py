"""The labelled questions, and how well the simulated user understands them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from askfirst.clarify.user import understood

SPLITS = ("dev", "test")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question to the user of a family and the keys that it is about; none where it is about nothing of the task."""

    family: str
    question: str
    about: frozenset[str]


@dataclass(frozen=True, slots=True)
class Understanding:
    """Keys understood of questions: precision and recall over (question, key) pairs, and the questions that went wrong.

    A question about nothing of which a key is understood counts against precision.
    """

    precision: float
    recall: float
    questions: int
    wrong: tuple[tuple[str, tuple[str, ...]], ...]


@cache
def questions(split: str) -> tuple[Labelled, ...]:
    """The labelled questions of `dev` or `test`. Raises ValueError for another split."""
    return tuple(each for number, each in _numbered() if number % 2 == SPLITS.index(split))


def measure(labelled: Sequence[Labelled]) -> Understanding:
    """How well questions are understood. Raises ValueError where nothing can be measured."""
    found = [(each, understood(each.family, each.question)) for each in labelled]
    hits = sum(len(each.about & set(names)) for each, names in found)
    said, wanted = sum(len(names) for _, names in found), sum(len(each.about) for each in labelled)
    if not said or not wanted:
        raise ValueError("no question to measure the understanding of")
    wrong = tuple((each.question, names) for each, names in found if each.about != set(names))
    return Understanding(hits / said, hits / wanted, len(labelled), wrong)


def _numbered() -> Iterator[tuple[int, Labelled]]:
    text = resources.files(__package__).joinpath("questions.txt").read_text("utf-8")
    family, number = "", 0
    for line in text.split("\n"):
        if line.startswith("["):
            family, number = line.strip("[]"), 0
        elif line and not line.startswith("#"):
            names, _, question = line.partition(": ")
            yield number, Labelled(family, question, frozenset(names.split()) - {"-"})
            number += 1
