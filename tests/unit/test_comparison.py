"""Runs held against the first of them."""

import pytest

from askfirst.comparison import compare_runs, record
from askfirst.errors import GateFailed, InputError
from askfirst.stats import tango


def test_a_run_that_passes_more_holds_by_the_rules_of_the_plan(recorded):
    worse = recorded("worse", after=lambda i: i % 4 > 1)
    better = recorded("better", after=lambda i: i % 4 > 1 or i < 36)
    found = compare_runs([worse, better])
    ambiguous, *others = found.found
    assert (ambiguous.metric, ambiguous.margin, ambiguous.holds) == ("ambiguous_pass", None, True)
    assert (ambiguous.pairs.wins, ambiguous.pairs.losses, ambiguous.pairs.n) == (18, 0, 20)
    assert "18 better, 0 worse, 2 same" in ambiguous.reason
    # Ten items that are all alike exclude no regression of 10 points.
    assert [(each.margin, each.holds, each.pairs.ties) for each in others] == [(0.1, False, 10), (0.1, False, 10)]
    assert not found.holds
    assert "opened them 2 times" in found.limits[0]


def test_the_other_way_round_it_does_not(recorded):
    worse, better = recorded("worse", after=lambda i: i % 4 > 1), recorded("better")
    found = compare_runs([better, worse])
    assert not found.found[0].holds
    assert found.found[0].pairs.losses == 20
    assert "not shown to pass more" in found.found[0].reason


def test_several_runs_share_the_error(recorded):
    runs = [recorded(name) for name in "abc"]
    found = compare_runs(runs)
    assert found.alpha == 0.025
    assert {each.run for each in found.found} == {str(run.root) for run in runs[1:]}
    assert found.found[0].pairs.difference == tango.interval(0, 0, 20, 0.025)
    assert any("α is 0.025 each" in limit for limit in found.limits)
    assert record(found)["holds"] is False


def test_dev_is_compared_when_asked_for_and_said_to_be_too_kind(recorded):
    found = compare_runs([recorded("a"), recorded("b")], "dev")
    assert found.split == "dev"
    assert found.limits[0].startswith("dev: checkpoints were selected on these items")


@pytest.mark.parametrize(
    ("sets", "split", "words"),
    [
        (("decision.alpha=0.1",), "sealed", "decision.alpha"),
        (("ship.ambiguous_pass.above=0.3",), "sealed", "ship"),
        (("evaluation.sealed_items=300",), "sealed", "evaluation.sealed_items"),
        (("evaluation.dev_items=100",), "dev", "evaluation.dev_items"),
        (('env.families=["paid"]',), "sealed", "env.families"),
    ],
)
def test_runs_that_are_judged_otherwise_are_refused(recorded, sets, split, words):
    with pytest.raises(InputError, match=f"their plans differ in {words}"):
        compare_runs([recorded("a"), recorded("b", sets=sets)], split)


def test_how_a_run_was_trained_may_differ(recorded):
    assert compare_runs([recorded("a"), recorded("b", sets=("train.lr=0.5",))]).found


def test_a_run_that_was_changed_or_is_not_there_or_is_named_twice_is_refused(recorded, tmp_path):
    run, other = recorded("a"), recorded("b")
    with pytest.raises(InputError, match="two runs or more"):
        compare_runs([run, run])
    with pytest.raises(InputError, match="no split is called"):
        compare_runs([run, other], "train")
    other.selected_evaluation("sealed").write_text("{}")
    with pytest.raises(GateFailed, match="changed after it was finished"):
        compare_runs([run, other])
    with pytest.raises(InputError, match=r"no plan\.lock\.json"):
        compare_runs([run, type(run)(tmp_path / "nothing")])
