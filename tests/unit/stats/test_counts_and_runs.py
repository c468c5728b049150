"""McNemar, pass^k and the interquartile mean over seeds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, mannwhitneyu, multinomial

from askfirst.contracts import stats as contract
from askfirst.stats import iqm, mcnemar, pass_k
from askfirst.values import Interval


def test_mcnemar_v1() -> None:
    assert mcnemar.p_value(30, 12, 115) == pytest.approx(0.007915897334896727, abs=1e-16)
    assert mcnemar.p_value(30, 12, 115, mid=True) == pytest.approx(0.0054015727, abs=5e-11)
    assert mcnemar.chi_square(30, 12, 115) == pytest.approx(0.0087119, abs=5e-8)
    assert mcnemar.chi_square(30, 12, 115, correction=False) == pytest.approx(0.0054786, abs=5e-8)


def test_six_pairs_in_one_direction_are_the_least() -> None:
    assert mcnemar.p_value(6, 0, 10) < 0.05 < mcnemar.p_value(5, 0, 10)
    assert mcnemar.p_value(0, 0, 10) == mcnemar.chi_square(0, 0, 10) == mcnemar.p_value(4, 4, 10) == 1
    assert mcnemar.p_value(4, 4, 10, mid=True) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(3, 9), (20, 1), (7, 7)])
def test_mcnemar_against_other_implementations(wins: int, losses: int) -> None:
    theirs = binomtest(wins, wins + losses)
    assert mcnemar.p_value(wins, losses, 40) == pytest.approx(theirs.pvalue, rel=1e-12)
    bounds = theirs.proportion_ci(0.95)
    found = mcnemar.interval(wins, losses, 40)
    assert (found.lower, found.upper) == pytest.approx((bounds.low, bounds.high), rel=1e-9)
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    table = [[10, wins], [losses, 30 - wins - losses]]
    assert mcnemar.p_value(wins, losses, 40) == pytest.approx(float(tables.mcnemar(table).pvalue), rel=1e-12)


def test_mcnemar_bounds_agree_with_the_test() -> None:
    for wins, losses in product(range(12), repeat=2):
        if wins + losses:
            found = mcnemar.interval(wins, losses, 30)
            assert (not found.lower <= 0.5 <= found.upper) == (mcnemar.p_value(wins, losses, 30) < 0.05)


@pytest.mark.parametrize(
    ("discordance", "difference", "pairs"),
    [(0.30, 0.10, 233.0945382), (0.25, 0.05, 782.526), (0.20, 0.10, 154.599), (0.35, 0.15, 119.708)],
)
def test_connor(discordance: float, difference: float, pairs: float) -> None:
    assert mcnemar.pairs_for_power(discordance, difference) == pytest.approx(pairs, abs=5e-4)


def test_connor_to_the_last_digit_and_against_exact_power() -> None:
    assert mcnemar.pairs_for_power(0.30, 0.10) == pytest.approx(233.0945382, abs=5e-8)
    assert mcnemar.power(233, 0.20, 0.10) == pytest.approx(0.8, abs=0.05)


def test_mcnemar_power_enumerates_the_test() -> None:
    n, win, loss = 14, 0.6, 0.1
    wanted = sum(
        multinomial.pmf([b, c, n - b - c], n, [win, loss, 1 - win - loss])
        for b, c in product(range(n + 1), repeat=2)
        if c < b <= n - c and mcnemar.p_value(b, c, n) < 0.05
    )
    assert mcnemar.power(n, win, loss) == pytest.approx(wanted, rel=1e-9)
    assert mcnemar.power(115, 0.16, 0.16) <= 0.025


def test_pass_k_vectors() -> None:
    passed, trials = [4, 3, 2, 0], [4] * 4
    assert pass_k.pass_all(passed, trials, 1) == 0.5625
    assert pass_k.pass_all(passed, trials, 2) == pytest.approx(0.4166666667, abs=5e-11)
    assert pass_k.pass_any(passed, trials, 2) == pytest.approx(0.7083333333, abs=5e-11)
    assert pass_k.pass_all([2, 3], [2, 6], 2) == pytest.approx((1 + 3 / 15) / 2)  # each task's own trials


def test_pass_k_is_unbiased_and_covered() -> None:
    rates = np.linspace(0.1, 1.0, 30)

    def draw(source: np.random.Generator) -> Interval:
        return pass_k.interval(source.binomial(5, rates).tolist(), [5] * 30, 3)

    assert contract.covers(draw, float((rates**3).mean()), 200, seed=1) >= 0.95
    source = np.random.default_rng(0)
    means = [pass_k.pass_all(source.binomial(5, rates).tolist(), [5] * 30, 3) for _ in range(400)]
    assert np.mean(means) == pytest.approx(float((rates**3).mean()), abs=0.01)


def test_iqm_vectors() -> None:
    assert iqm.iqm([0, 1, 2, 3, 4, 5, 6, 7, 8, 100]) == 4.5
    a, b = [0.3, 0.5, 0.7], [0.4, 0.5, 0.2]
    assert iqm.probability_of_improvement(a, b) == pytest.approx(0.7222222, abs=5e-8)
    assert iqm.probability_of_improvement(a, b) == pytest.approx(mannwhitneyu(a, b).statistic / 9)


def test_iqm_bounds_come_from_the_runs() -> None:
    scores = np.random.default_rng(1).normal(size=(8, 3))
    found = iqm.interval(scores, seed=0, resamples=2000)
    assert found == iqm.interval(scores, seed=0, resamples=2000) != iqm.interval(scores, seed=1, resamples=2000)
    contract.ordered(found)
    # A task is a stratum: what differs between tasks alone does not widen the bounds.
    apart = iqm.interval(np.tile([[0.0, 10.0]], (6, 1)) + np.arange(6)[:, None] * 1e-3, seed=0, resamples=2000)
    assert apart.upper - apart.lower < 0.01


def test_iqm_coverage() -> None:
    def draw(source: np.random.Generator) -> Interval:
        return iqm.interval(source.normal(0.4, 0.1, size=(10, 4)), seed=3, resamples=1000)

    assert contract.covers(draw, 0.4, 60, seed=2) >= 0.85


def test_impossible_input_is_refused() -> None:
    contract.refuses(mcnemar, [{"wins": 0, "losses": 0, "n": 5}, {"wins": 4, "losses": 4, "n": 5}])
    contract.refuses(mcnemar, [{"wins": 0, "losses": 0, "n": 0}, {"wins": 1, "losses": 0, "n": 5, "alpha": 1.0}])
    whole = {"passed": [1], "trials": [3], "k": 2}
    cases = [{"trials": [1]}, {"passed": [4]}, {"k": 0}, {"passed": [], "trials": []}, {"passed": [1, 1]}]
    contract.refuses(pass_k, [whole | case for case in cases])
    one, same, missing = [[0.1, 0.2]], [[0.1], [0.1]], [[0.1], [float("nan")]]
    contract.refuses(iqm, [{"scores": s, "seed": 0} for s in ([], one, same, missing)])
    contract.refuses(iqm, [{"scores": [[0.1], [0.2]], "seed": 0, "alpha": 0.0}])
    for call in (
        lambda: mcnemar.p_value(0, 0, 0),
        lambda: mcnemar.power(10, 0.9, 0.2),
        lambda: mcnemar.pairs_for_power(0.1, 0.2),
        lambda: iqm.probability_of_improvement([[1.0, 2.0]], [[1.0]]),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call()
