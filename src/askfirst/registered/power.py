"""Whether a registered rule can decide: its half-width, what it needs, its power, and what would mend it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from askfirst.registered.document import UNITS, Experiment
from askfirst.stats import paired_hoeffding, tango

WANTED = 0.8
LOSS_RATE = 0.10  # of items that only the baseline passes, where nothing is known
GAINS = (0.15, 0.25, 0.35)  # true differences for which the power is told; the first one decides
MOST_TRIALS = 16  # on each item, that are still proposed


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability of a verdict `validated` when the true difference is so many points."""

    points: float
    win_rate: float
    loss_rate: float
    chance: float


@dataclass(frozen=True, slots=True)
class Decidability:
    """What the paired Hoeffding rule can do with its registered items.

    `needed` and `refuting` are net wins for validated and failed, None where no outcome is enough; `minimum_effect` is
    the least true difference with power 0.8. `mends`: what would give that power to the first of the gains.
    """

    pairs: int
    half_width: float
    needed: int | None
    refuting: int | None
    chances: tuple[Chance, ...]
    minimum_effect: float | None
    mends: tuple[str, ...]


def decidability(experiment: Experiment) -> Decidability | None:
    """Of the first criterion; None for a method, weights or bounds whose power is not known here.

    Trials on fixed items are pairs of their own; for new items they are not. For new clusters the half-width follows
    from their sizes, but the power depends on how alike their items are, so that no chances are told.
    """
    rule, criterion = experiment.decision_rule, experiment.decision_rule.criteria[0]
    plain = criterion.weights == {"treatment": 1, "baseline": -1} and criterion.bounds == (0, 1)
    target, margin, alpha = UNITS[rule.unit], criterion.margin, rule.alpha
    pairs = experiment.eval.n_examples * (rule.trials if target == "fixed_items" else 1)
    of_clusters = target == "new_clusters"
    if rule.method != "paired_hoeffding" or not plain or of_clusters != bool(rule.clusters):
        return None
    above, below = paired_hoeffding.thresholds(pairs, margin, alpha, rule.clusters)
    chances = () if of_clusters else tuple(_chance(pairs, gain, margin, alpha) for gain in GAINS)
    return Decidability(
        pairs=pairs,
        half_width=paired_hoeffding.half_width(pairs, alpha=alpha, sizes=rule.clusters),
        needed=floor(above) + 1 if above < pairs else None,
        refuting=ceil(below) - 1 if below > -pairs else None,
        chances=chances,
        minimum_effect=None if of_clusters else _minimum(pairs, margin, alpha),
        mends=_mends(experiment, pairs) if chances and chances[0].chance < WANTED else (),
    )


def _chance(pairs: int, gain: float, margin: float, alpha: float) -> Chance:
    win_rate = LOSS_RATE + gain
    chance = paired_hoeffding.power(pairs, win_rate, LOSS_RATE, margin, alpha)
    return Chance(round(100 * gain, 6), win_rate, LOSS_RATE, chance)


def _minimum(pairs: int, margin: float, alpha: float) -> float | None:
    """The least true difference (to 1e-4) with the wanted power, at the assumed loss rate; None where none has it."""
    low, high = -LOSS_RATE, 1 - 2 * LOSS_RATE
    if _chance(pairs, high, margin, alpha).chance < WANTED:
        return None
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if _chance(pairs, middle, margin, alpha).chance >= WANTED else (middle, high)
    return high


def _mends(experiment: Experiment, pairs: int) -> tuple[str, ...]:
    """What would give the first of the gains the wanted power: trials, items, another rule."""
    rule, criterion = experiment.decision_rule, experiment.decision_rule.criteria[0]
    gain, items, found = GAINS[0], experiment.eval.n_examples, []
    if UNITS[rule.unit] == "fixed_items":
        enough = (
            k
            for k in range(rule.trials + 1, MOST_TRIALS + 1)
            if _chance(items * k, gain, criterion.margin, rule.alpha).chance >= WANTED
        )
        if (k := next(enough, None)) is not None:
            found.append(f"{k} trials on each of the {items} items (it then speaks of these items)")
    wanted = paired_hoeffding.pairs_for_power(gain, gain + 2 * LOSS_RATE, criterion.margin, rule.alpha)
    if wanted is not None:
        found.append(f"about {wanted} items with one trial each")
    chance = tango.power(items, LOSS_RATE + gain, LOSS_RATE, criterion.margin, rule.alpha)
    found.append(f"tango on the {items} items, power {chance:.2f} (it then speaks of new items)")
    return tuple(found)
