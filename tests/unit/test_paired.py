"""Two evaluations of the same items."""

from dataclasses import replace

import pytest

from askfirst.errors import InputError
from askfirst.paired import aligned, by_family, by_metric, by_stratum, compare, outcomes
from askfirst.stats import clopper_pearson, mcnemar, tango
from askfirst.values import EvalRecord, ItemOutcome


def record(passes: str, order: list[int] | None = None) -> EvalRecord:
    """A record of items that pass where the text has an x."""
    items = [
        ItemOutcome(f"i{n}", "ab"[n % 2], "ambiguous", sign == "x", False, True, 0.0, (), "")
        for n, sign in enumerate(passes)
    ]
    return EvalRecord(1, "m", "c", "dev", 0, "r@1", tuple(items[n] for n in order or range(len(items))))


def test_wins_losses_and_ties_are_counted_on_the_same_items_whatever_their_order():
    before, after = record("xx....", order=[5, 3, 1, 0, 2, 4]), record("x.xxx.")
    found = compare("strict_pass", aligned(before, after), after, alpha=0.05)
    assert (found.n, found.wins, found.losses, found.ties) == (6, 3, 1, 2)
    assert found.before == clopper_pearson.interval(2, 6)
    assert found.after == clopper_pearson.interval(4, 6)
    assert found.difference == tango.interval(3, 1, 6)
    assert found.p == mcnemar.p_value(3, 1, 6) == 0.625


def test_parts_are_of_their_own_items_and_metrics_without_items_are_left_out():
    before, after = record("xx...."), record("x.xxx.")
    families = {p.group: (p.n, p.wins, p.losses) for p in by_family(before, after, 0.05)}
    assert families == {"a": (3, 2, 0), "b": (3, 1, 1)}
    assert [(p.group, p.n) for p in by_stratum(before, after, 0.05)] == [("ambiguous", 6)]
    named = {p.metric for p in by_metric(before, after, 0.05)}
    assert "ambiguous_pass" in named
    assert "clear_pass" not in named


def test_every_pair_has_one_of_four_outcomes():
    before, after = record("xx.."), record("x.x.")
    assert [kind for _, _, kind in outcomes(before, after)] == ["both pass", "loss", "win", "both fail"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: replace(r, split="sealed"), "split dev, the other of sealed"),
        (lambda r: replace(r, reward="r@2"), "reward r@1, the other of r@2"),
        (lambda r: replace(r, items=r.items[1:]), "3 items are in both, 1 in one alone, such as i0"),
        (lambda r: replace(r, items=(*r.items, r.items[0])), "twice"),
        (lambda r: replace(r, items=(replace(r.items[0], family="z"), *r.items[1:])), "i0 is of another family"),
    ],
)
def test_what_does_not_pair_is_refused_with_the_reason(change, words):
    with pytest.raises(InputError, match="do not pair") as caught:
        aligned(record("x.x."), change(record("x.x.")))
    assert words in caught.value.message


def test_trials_of_an_item_pair_with_their_own_number_and_the_first_counts():
    one = record("x.")
    both = replace(one, items=(*one.items, *(replace(i, trial=1, passed=True) for i in one.items)))
    assert aligned(both, both) == both
    assert compare("strict_pass", both, both, 0.05).n == 2
