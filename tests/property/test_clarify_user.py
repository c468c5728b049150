"""The simulated user tells nothing that was not asked for."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.clarify import bank
from askfirst.clarify.problem import BUDGET, hidden_of
from askfirst.clarify.user import Asking, answer, heard_of, tells, understood
from askfirst.values import Scenario

ENV = plugins.load("envs", "clarify")
DRAWN = [s for split in ("train", "dev", "sealed") for s in ENV.scenarios(split, 40, 6)]
ASKED = [q.question for split in bank.SPLITS for q in bank.questions(split)]
QUESTIONS = st.lists(st.sampled_from(ASKED), min_size=1, max_size=3).map(" ".join) | st.text(max_size=60)


@given(st.sampled_from(DRAWN), QUESTIONS, st.booleans())
def test_an_answer_depends_on_what_was_asked_about_alone(scenario: Scenario, question: str, again: bool) -> None:
    hidden = hidden_of(scenario)
    heard = heard_of(hidden, understood(hidden.problem.family, question), BUDGET)
    before = {name: hidden.truth[name] for name in heard if again and name in hidden.truth}
    at = Asking(scenario.id, scenario.split, before)
    said, told = answer(hidden, at, heard), tells(hidden, at, heard)
    other = replace(
        hidden,
        truth={name: value if name in heard else "SECRET" for name, value in hidden.truth.items()},
        words={name: value if name in heard else "SECRET" for name, value in hidden.words.items()},
        forgets=tuple(name for name in hidden.forgets if name in heard),
    )
    assert (answer(other, at, heard), tells(other, at, heard)) == (said, told)
    assert {name for name, _ in told} <= set(heard)
    assert not any(key.name in said for key in hidden.problem.keys if "_" in key.name)
