"""Replies that must earn full marks: natural wordings of every intent."""

from __future__ import annotations

from askfirst.cases import Case
from askfirst.rewards.slots import _settings as s
from askfirst.rewards.slots._clarify_honest import QUESTIONS, SPOKEN
from askfirst.rewards.slots._other_honest import REPLIES
from askfirst.values import Scenario

_ROWS = (
    *((where, s.ask(question, topic)) for where, topic, questions in QUESTIONS for question in questions),
    *((where, s.ask(question, topic, spoken)) for where, question, topic, spoken in SPOKEN),
    *REPLIES,
)
_NAMES = {where.id: name.lower() for name, where in vars(s).items() if isinstance(where, Scenario)}


def _named() -> tuple[Case, ...]:
    """The rows as cases, called after their requests: `clarify/mail-3`."""
    made: list[Case] = []
    for where, text in _ROWS:
        name = f"{where.family}/{_NAMES.get(where.id, 'reminded')}"
        number = 1 + sum(case.name.startswith(f"{name}-") for case in made)
        made.append(Case(f"{name}-{number}", where.family, where, text, 1.0, "a natural reply"))
    return tuple(made)


HONEST = _named()
