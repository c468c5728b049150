"""What is to be decided in a scenario: keys with their chances and prices by what is shown; and the truth.

Costs are in points, as the opening shows them. Of a key with price L, at the end:

    right, and stated, answered or a stated default     0
    left out                                            0.5 L
    not known, declared as an assumption                0.6 L · P(wrong)
    not known, not declared                             L · P(wrong)
    against what was stated or answered                 L
    an act that cannot be undone, without a yes         L

P is what is known at that moment and not whether the guess happens to be right: luck is no merit. Each thing asked
about costs the price of a question, and so does an assumption about what is known, or a key that was not wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from askfirst.clarify.family import CONFIRM, YES
from askfirst.values import FrozenMap, Scenario

BUDGET = 6  # things that may be asked about
LEFT_OUT, ASSUMED = 0.5, 0.6  # of the price
REQUEST, DEFAULT = "request", "default"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the plan: its allowed values, the chance of each by what is shown, and its price.

    A chance of 1 is a known value, by what `source` says: REQUEST or DEFAULT. Of one that is not `answerable` the user
    has said to know nothing.
    """

    name: str
    values: tuple[str, ...]
    chances: tuple[float, ...]
    price: int
    answerable: bool = True
    source: str = ""

    @property
    def known(self) -> str | None:
        """The value where it needs no question."""
        return self.values[self.chances.index(1.0)] if 1.0 in self.chances else None

    def cost(self, value: str | None, declared: bool) -> float:
        """Expected cost of a plan's entry while the key has not been answered. `value` None: left out."""
        if value is None:
            return LEFT_OUT * self.price
        right = self.chances[self.values.index(value)]
        if self.name == CONFIRM and value == YES and right < 1.0:
            return float(self.price)
        return (ASSUMED if declared else 1.0) * (1.0 - right) * self.price

    @property
    def guess(self) -> tuple[str | None, float]:
        """The best entry without an answer, None to leave it out, and its expected cost."""
        options = {value: self.cost(value, True) for value in self.values}
        best = min(options, key=lambda value: options[value])
        left_out = self.cost(None, False)
        return (None, left_out) if left_out <= options[best] else (best, options[best])


@dataclass(frozen=True, slots=True)
class Problem:
    """What a policy has to decide, all of it known from the opening. `knows`: the chance of an answer."""

    family: str
    keys: tuple[Key, ...]
    question: int
    knows: float
    beyond: bool = False

    def key(self, name: str) -> Key | None:
        """The key of that name, None where the plan has none."""
        return next((key for key in self.keys if key.name == name), None)

    @property
    def nothing(self) -> float:
        """The cost of doing nothing: every key left out."""
        return sum(LEFT_OUT * key.price for key in self.keys)

    def doubt(self, key: Key, asked: bool) -> float:
        """Expected cost of not knowing a key at the end, with the best entry, where it is asked about or not."""
        missing = 1.0 - self.knows if key.answerable and asked else 1.0
        return missing * key.guess[1]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A problem and what only the user knows: value and words of each key; `forgets` has no answer.

    `persona` is how the user answers, a name of `askfirst.clarify.persona`.
    """

    problem: Problem
    state: str
    truth: Mapping[str, str]
    words: Mapping[str, str]
    forgets: tuple[str, ...]
    persona: str = "matter-of-fact"

    def hide(self) -> FrozenMap:
        """As the `hidden` part of a scenario."""
        problem = self.problem
        return FrozenMap(
            {
                "problem": FrozenMap(
                    {
                        "family": problem.family,
                        "question": problem.question,
                        "knows": problem.knows,
                        "beyond": problem.beyond,
                        "keys": tuple(FrozenMap(asdict(key)) for key in problem.keys),
                    }
                ),
                "state": self.state,
                "truth": FrozenMap(self.truth),
                "words": FrozenMap(self.words),
                "forgets": self.forgets,
                "persona": self.persona,
            }
        )


def hidden_of(scenario: Scenario) -> Hidden:
    """What a scenario of this environment hides. Raises TypeError where it hides something else."""
    held: Mapping[str, Any] = scenario.hidden
    try:
        body = dict(held["problem"])
        keys = tuple(Key(**dict(key)) for key in body.pop("keys"))
        return Hidden(Problem(keys=keys, **body), **{name: held[name] for name in held if name != "problem"})
    except KeyError as error:
        raise TypeError(f"a scenario of another environment: it hides no {error}") from error
