"""Two evaluations of the same items: what each passes, which items differ, and what that shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from askfirst.errors import InputError
from askfirst.metrics import METRICS, counted
from askfirst.stats import clopper_pearson, mcnemar, tango
from askfirst.values import EvalRecord, Interval, ItemOutcome

WHOLE = "strict_pass"  # the metric that every item counts for


@dataclass(frozen=True, slots=True)
class Paired:
    """One metric on the items of `group` (all of them where it is empty), before and after.

    `before` and `after` are shares with Clopper–Pearson bounds, `difference` is after − before with Tango's. `wins` are
    the items for which the metric holds only after, `losses` only before. `p` is McNemar's, exact and two-sided.
    """

    metric: str
    group: str
    n: int
    before: Interval
    after: Interval
    wins: int
    losses: int
    difference: Interval
    p: float

    @property
    def ties(self) -> int:
        """The items that are alike on both sides."""
        return self.n - self.wins - self.losses


def aligned(before: EvalRecord, after: EvalRecord) -> EvalRecord:
    """`before` with its items in the order of `after`.

    Raises InputError unless both are of the same items, each once, on the same split and by the same reward.
    """
    for name in ("split", "reward"):
        ours, theirs = getattr(before, name), getattr(after, name)
        if ours != theirs:
            raise InputError(f"the two evaluations do not pair: one is of {name} {ours}, the other of {theirs}")
    found = {_key(item): item for item in before.items}
    wanted = [_key(item) for item in after.items]
    if len(found) != len(before.items) or len(set(wanted)) != len(wanted):
        raise InputError("the two evaluations do not pair: an item stands in one of them twice")
    if alone := found.keys() ^ set(wanted):
        both = len(found.keys() & set(wanted))
        raise InputError(
            f"the two evaluations do not pair: {both} items are in both, {len(alone)} in one alone, such as "
            f"{min(alone)[0]}",
            hint="compare what was evaluated on the same items",
        )
    unlike = [i.scenario_id for i in after.items if _kind(i) != _kind(found[_key(i)])]
    if unlike:
        raise InputError(f"the two evaluations do not pair: item {unlike[0]} is of another family or stratum in each")
    return replace(before, items=tuple(found[key] for key in wanted))


def compare(metric: str, before: EvalRecord, after: EvalRecord, alpha: float, group: str = "") -> Paired:
    """One metric on two aligned records. Raises InputError where it has no items."""
    old, new = counted(before, metric), counted(after, metric)
    n, pairs = len(new), list(zip(old, new, strict=True))
    wins, losses = sum(b and not a for a, b in pairs), sum(a and not b for a, b in pairs)
    return Paired(
        metric=metric,
        group=group,
        n=n,
        before=clopper_pearson.interval(sum(old), n, alpha=alpha),
        after=clopper_pearson.interval(sum(new), n, alpha=alpha),
        wins=wins,
        losses=losses,
        difference=tango.interval(wins, losses, n, alpha=alpha),
        p=mcnemar.p_value(wins, losses, n),
    )


def by_metric(before: EvalRecord, after: EvalRecord, alpha: float) -> tuple[Paired, ...]:
    """Every metric that has items on these two aligned records."""
    found = []
    for metric in METRICS:
        try:
            counted(after, metric)
        except InputError:  # no such items here
            continue
        found.append(compare(metric, before, after, alpha))
    return tuple(found)


def by_family(before: EvalRecord, after: EvalRecord, alpha: float) -> tuple[Paired, ...]:
    """Passing by family of items, on two aligned records."""
    return _by(lambda item: item.family, before, after, alpha)


def by_stratum(before: EvalRecord, after: EvalRecord, alpha: float) -> tuple[Paired, ...]:
    """Passing by stratum of items, on two aligned records."""
    return _by(lambda item: item.stratum, before, after, alpha)


def _by(part: Callable[[ItemOutcome], str], before: EvalRecord, after: EvalRecord, alpha: float) -> tuple[Paired, ...]:
    names = sorted({part(item) for item in after.items})
    return tuple(
        compare(WHOLE, _only(before, part, name), _only(after, part, name), alpha, group=name) for name in names
    )


def _only(record: EvalRecord, part: Callable[[ItemOutcome], str], name: str) -> EvalRecord:
    return replace(record, items=tuple(item for item in record.items if part(item) == name))


def outcomes(before: EvalRecord, after: EvalRecord) -> Sequence[tuple[ItemOutcome, ItemOutcome, str]]:
    """The items of two aligned records with the outcome of each pair: win, loss, both pass or both fail."""
    return [(old, new, _outcome(old.passed, new.passed)) for old, new in zip(before.items, after.items, strict=True)]


def _outcome(before: bool, after: bool) -> str:
    if before == after:
        return "both pass" if after else "both fail"
    return "win" if after else "loss"


def _key(item: ItemOutcome) -> tuple[str, int]:
    return item.scenario_id, item.trial


def _kind(item: ItemOutcome) -> tuple[str, str]:
    return item.family, item.stratum
