"""The paired Hoeffding interval and its rule, against hand-computed vectors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import multinomial

from askfirst.contracts import stats as contract
from askfirst.stats import paired_hoeffding as method
from askfirst.stats._bounded import net_chances, support
from askfirst.values import Interval

V1 = np.repeat([1.0, -1.0, 0.0], [30, 12, 73])
USERS = [1] * 23 + [2] * 12 + [3] * 9 + [4] * 4 + [5] * 5


def test_v1() -> None:
    found = method.interval(V1)
    assert method.half_width(115) == 0.2532872387013172
    assert found.estimate == pytest.approx(0.1565217391, abs=5e-11)
    assert (found.lower, found.upper) == pytest.approx((-0.0967655, 0.4098090), abs=5e-8)
    assert method.half_width(115, sided="lower") == pytest.approx(0.22825356889648507, abs=1e-17)


@pytest.mark.parametrize(
    ("n", "half"),
    [
        (40, 0.429469), (50, 0.384129), (100, 0.271620), (115, 0.253287), (130, 0.238227),
        (160, 0.214735), (200, 0.192065), (500, 0.121472), (1000, 0.085894),
    ],
)  # fmt: skip
def test_half_widths(n: int, half: float) -> None:
    assert method.half_width(n) == pytest.approx(half, abs=5e-7)


def test_other_supports_and_levels() -> None:
    assert method.half_width(115, (0, 1)) == pytest.approx(0.12664361935, abs=5e-12)
    shaped = support({"treatment": 1, "baseline": -1}, (-0.5, 1.0))
    assert shaped == (-1.5, 1.5)
    assert method.half_width(40, shaped) == pytest.approx(0.6442041125, abs=5e-11)
    assert method.half_width(115, alpha=0.05 / 2) == pytest.approx(0.2760600639, abs=5e-11)
    assert method.half_width(115, alpha=0.05 / 3) == pytest.approx(0.2885493475, abs=5e-11)
    assert support({"a": 2.0, "b": -1.0}) == (-1.0, 2.0)


@pytest.mark.parametrize(("half", "n"), [(0.20, 185), (0.15, 328), (0.10, 738), (0.05, 2952), (0.03, 8198)])
def test_pairs_for_width(half: float, n: int) -> None:
    assert method.pairs_for_width(half) == n
    assert method.half_width(n) <= half < method.half_width(n - 1)


@pytest.mark.parametrize(("k", "half"), [(2, 0.1791011241), (4, 0.1266436194), (8, 0.0895505620), (16, 0.0633218097)])
def test_trials_count_for_fixed_items_alone(k: int, half: float) -> None:
    trials = np.repeat(V1[:, None], k, axis=1)
    fixed, new = (method.interval(trials, target=t) for t in ("fixed_items", "new_items"))
    assert fixed.upper - fixed.estimate == pytest.approx(half, abs=5e-11)
    assert new.upper - new.estimate == pytest.approx(method.half_width(115), abs=1e-15)


def test_clusters_are_the_units() -> None:
    names = [user for user, size in enumerate(USERS) for _ in range(size)]
    assert len(names) == 115
    assert sum(m * m for m in USERS) == 341
    found = method.interval(V1, target="new_clusters", clusters=names)
    assert found.upper - found.estimate == pytest.approx(0.4361557263, abs=5e-11)
    effective = 115 * (method.half_width(115) / method.half_width(115, sizes=USERS)) ** 2
    assert effective == pytest.approx(38.78, abs=5e-3)
    assert "53 units" in found.method


@pytest.mark.parametrize(("difference", "pairs"), [(0.10, 2099), (0.15, 711), (0.20, 351)])
def test_pairs_for_power(difference: float, pairs: int) -> None:
    assert method.pairs_for_power(difference, 0.35, 0.03) == pairs


def test_the_rule_at_115() -> None:
    assert method.thresholds(115, 0.03) == pytest.approx((32.578, -25.678), abs=5e-4)
    assert method.needed(115, 0.03) == 33
    assert method.refuting(115, 0.03) == -26
    for net, above, below in ((33, True, False), (32, False, False), (-26, False, True), (-25, False, False)):
        values = np.zeros(115)
        values[: abs(net)] = np.sign(net)
        found = method.interval(values)
        assert (found.lower > 0.03, found.upper < 0.03) == (above, below)
    assert method.needed(4, 0.03) is None
    assert method.refuting(4, -0.5) is None


@pytest.mark.parametrize(
    ("win", "loss", "chance"), [(0.25, 0.10, 0.0064145), (0.35, 0.10, 0.2879394), (0.45, 0.10, 0.8651706)]
)
def test_power_is_exact(win: float, loss: float, chance: float) -> None:
    assert method.power(115, win, loss, 0.03) == pytest.approx(chance, abs=5e-8)


def test_power_enumerates_the_intervals() -> None:
    n, win, loss = 12, 0.5, 0.1
    wanted = sum(
        multinomial.pmf([b, c, n - b - c], n, [win, loss, 1 - win - loss])
        for b, c in product(range(n + 1), repeat=2)
        if b + c <= n and method.interval(np.repeat([1.0, -1.0, 0.0], [b, c, n - b - c])).lower > -0.4
    )
    assert method.power(n, win, loss, -0.4) == pytest.approx(wanted, rel=1e-12)
    assert net_chances(n, win, loss).sum() == pytest.approx(1, abs=1e-12)


def test_power_with_four_trials() -> None:
    assert method.power(460, 0.25, 0.10, 0.03) == pytest.approx(0.39, abs=0.01)


def test_minimum_effect_is_where_power_crosses() -> None:
    effect = method.minimum_effect(115, 0.45, 0.03)
    assert effect is not None
    powers = [method.power(115, (0.45 + d) / 2, (0.45 - d) / 2, 0.03) for d in (effect, effect - 2e-6)]
    assert powers[0] >= 0.8 > powers[1]
    assert method.minimum_effect(115, 0.28, 0.03) is None  # even all wins are hardly more than the half-width


def test_coverage_over_unlike_fixed_items() -> None:
    rates = np.linspace(0.0, 1.0, 40)

    def draw(source: np.random.Generator) -> Interval:
        return method.interval((source.random(40) < rates).astype(float), (0.0, 1.0), target="fixed_items")

    assert contract.covers(draw, 0.5, 300, seed=2) >= 0.95


def test_impossible_input_is_refused() -> None:
    bad = [
        {"values": []},
        {"values": [0.0, float("nan")]},
        {"values": [0.0, 1.5]},
        {"values": [0.0], "within": (1.0, 1.0)},
        {"values": [0.0], "alpha": 0.0},
        {"values": [0.0], "target": "new_seeds"},
        {"values": [0.0], "target": "new_clusters"},
        {"values": [0.0], "clusters": ["a"]},
        {"values": [0.0, 1.0], "target": "new_clusters", "clusters": ["a"]},
    ]
    contract.refuses(method, bad)
    for call in (
        lambda: method.half_width(0),
        lambda: method.half_width(5, sizes=[2, 2]),
        lambda: method.power(10, 0.8, 0.3),
        lambda: method.pairs_for_width(0.0),
        lambda: method.pairs_for_power(0.4, 0.3),
        lambda: method.minimum_effect(10, 1.2),
        lambda: support({}),
        lambda: support({"a": 0.0}),
        lambda: support({"a": 1.0}, (1.0, 0.0)),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call()
    assert method.pairs_for_power(0.03, 0.35, 0.03) is None
