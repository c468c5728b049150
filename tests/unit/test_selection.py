"""Selection: dev records only, an informative threshold, and no tie left to chance."""

from __future__ import annotations

import pytest

from askfirst.errors import NothingSelected
from askfirst.metrics import DevMetrics
from askfirst.sections import SelectionSection
from askfirst.selection import POLICY, Candidate, select

RULE = SelectionSection()


def candidate(step: int, value: float, **changes: float) -> Candidate:
    dev = DevMetrics({"ambiguous_pass": value, "false_ask": changes.get("false_ask", 0.0)})
    return Candidate("main", int(changes.get("seed", 0)), step, f"s{step}", "f", changes.get("informative", 0.5), dev)


def test_the_best_eligible_checkpoint_wins() -> None:
    chosen = select([candidate(10, 0.5), candidate(20, 0.8), candidate(30, 0.7)], RULE, ["main"])
    assert (chosen.step, chosen.value, chosen.policy) == (20, 0.8, POLICY)


def test_a_checkpoint_without_signal_is_passed_over() -> None:
    chosen = select([candidate(10, 0.5), candidate(20, 1.0, informative=0.0)], RULE, ["main"])
    assert (chosen.step, chosen.candidates, chosen.eligible) == (10, 2, 1)


def test_a_checkpoint_that_asks_about_everything_is_passed_over() -> None:
    assert select([candidate(10, 0.5), candidate(20, 1.0, false_ask=0.9)], RULE, ["main"]).step == 10


def test_ties_go_to_the_earlier_step_then_the_lower_seed() -> None:
    tied = [candidate(20, 0.8), candidate(10, 0.8, seed=2), candidate(10, 0.8, seed=1)]
    chosen = select(tied, RULE, ["main"])
    assert (chosen.step, chosen.seed) == (10, 1)


def test_no_eligible_checkpoint_is_an_honest_no() -> None:
    with pytest.raises(NothingSelected, match="asks on 90% of clear requests"):
        select([candidate(10, 1.0, false_ask=0.9)], RULE, ["main"])
    with pytest.raises(NothingSelected, match="no checkpoint"):
        select([candidate(10, 1.0)], RULE, ["other"])
