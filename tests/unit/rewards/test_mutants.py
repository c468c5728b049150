"""No check of a reward is without a case, or has a reason in tests/mutation. `askfirst mutate` tries all of slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import mutation, plugins
from askfirst.contracts.rewards import cases
from askfirst.contracts.selftest import MutationRecord, corpus_hash, record_path, scorer_hash
from askfirst.rewards import slots
from askfirst.store import plain, read_as, read_lines

REASONS = Path(__file__).parents[2] / "mutation"
# Of so many mutants one is tried.
EVERY = {"slots": 38, "strict": 5, "lenient": 2, "shaped": 2, "utility": 13, "retail": 16, "retail_published": 9}


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVERY)
def test_no_mutant_survives_without_a_reason(name: str) -> None:
    reward = plugins.load("rewards", name)
    chosen = mutation.mutants(reward)[:: EVERY[name]]
    assert len(chosen) >= 20
    alive = mutation.survivors(reward, 1, lambda event: None, lambda: False, chosen)
    left, _ = mutation.split_by_reasons(alive, REASONS / f"{name}.jsonl")
    assert [mutant.at for mutant in left] == []


@pytest.mark.parametrize("name", EVERY)
def test_every_reason_is_for_a_mutant(name: str) -> None:
    known = [mutant.at for mutant in mutation.mutants(plugins.load("rewards", name))]
    given = [line["at"] for line in read_lines(REASONS / f"{name}.jsonl")]
    assert len(given) == len(set(given))
    assert set(given) <= set(known)
    assert [at for at in given if known.count(at) > 1] == []  # a reason is for one place


@pytest.mark.parametrize("name", EVERY)
def test_the_record_that_ships_is_of_this_source_and_these_cases(name: str) -> None:
    """It is renewed by `askfirst mutate NAME --reasons tests/mutation/NAME.jsonl --out …/rewards/NAME.mutants.json`."""
    reward = plugins.load("rewards", name)
    record = read_as(MutationRecord, record_path(reward))
    assert record.source == scorer_hash(reward)
    assert record.corpus == corpus_hash(case for each in cases(reward) for case in each)
    assert record.surviving == ()
    assert [plain(reason) for reason in record.equivalent] == sorted(
        read_lines(REASONS / f"{name}.jsonl"), key=lambda line: line["at"]
    )
    assert record.killed + len(record.equivalent) == len(mutation.mutants(reward))


def test_slots_is_held_by_many_cases_of_many_families() -> None:
    assert len(slots.ATTACKS) >= 300
    assert len(slots.HONEST) >= 200
    assert {case.family for case in slots.ATTACKS} >= {
        *("stuffing", "compound", "self-answer", "guess", "no-op", "vague", "gibberish", "echo", "wrong-slot"),
        *("wrong-field", "topic", "length", "format", "injection", "flattery", "bidi", "zero-width", "confusable"),
        *("negation", "contradiction", "spoken", "options", "form", "act", "refuse", "confirm"),
        *("forged-turn", "leak", "early-stop"),
    }
    assert all(case.why and case.name.startswith(f"{case.family}/") for case in slots.ATTACKS)
