"""Before and after, item by item: the evaluations of a run, paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askfirst.errors import InputError
from askfirst.paired import Paired, aligned, by_family, by_metric, by_stratum, compare
from askfirst.report.figures import Figure, before_and_after, same_base
from askfirst.runfolder import RunFolder, VariantFolder
from askfirst.store import read_as
from askfirst.values import EvalRecord

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What the selected checkpoint, or where none is the last one of the treatment, changed. `after` names it."""

    split: str
    after: str
    metrics: tuple[Paired, ...]
    families: tuple[Paired, ...]
    strata: tuple[Paired, ...]
    variants: tuple[tuple[str, Paired], ...]

    @property
    def figures(self) -> list[Figure]:
        """Plots of it."""
        by_part = [*before_and_after(self.strata, self.split, "stratum")]
        by_part += before_and_after(self.families, self.split, "family")
        return [*by_part, *same_base(self.variants)]


def outcomes(run: RunFolder, plan: Record, variants: Sequence[Record]) -> Outcomes | None:
    """The pairs of a run; None before there are any. Sealed where the split was opened, else dev."""
    alpha = float(plan["decision"]["alpha"])
    last = _last(run, variants)
    found = _pair(run, plan, last)
    if found is None:
        return None
    before, after = found
    before = aligned(before, after)
    return Outcomes(
        split=after.split,
        after=after.checkpoint,
        metrics=by_metric(before, after, alpha),
        families=by_family(before, after, alpha),
        strata=by_stratum(before, after, alpha),
        variants=tuple(_from_base(run, str(plan["decision"]["metric"]), last, alpha)),
    )


def _pair(run: RunFolder, plan: Record, last: Mapping[str, Path]) -> tuple[EvalRecord, EvalRecord] | None:
    sealed = run.base_evaluation("sealed"), run.selected_evaluation("sealed")
    if all(path.is_file() for path in sealed):
        return read_as(EvalRecord, sealed[0]), read_as(EvalRecord, sealed[1])
    own = [path for name, path in last.items() if name.startswith(f"{plan['decision']['treatment']}/")]
    if own and run.base_evaluation("dev").is_file():
        return read_as(EvalRecord, run.base_evaluation("dev")), read_as(EvalRecord, own[0])
    return None


def _last(run: RunFolder, variants: Sequence[Record]) -> dict[str, Path]:
    """The evaluation of the last committed checkpoint of each variant that has one."""
    found = {}
    for variant in variants:
        for entry in variant["checkpoints"][-1:]:
            path = VariantFolder(run.root / variant["name"]).evaluation("dev", int(entry["step"]))
            if path.is_file():
                found[variant["name"]] = path
    return found


def _from_base(run: RunFolder, metric: str, last: Mapping[str, Path], alpha: float) -> list[tuple[str, Paired]]:
    if not last or not run.base_evaluation("dev").is_file():
        return []
    base, found = read_as(EvalRecord, run.base_evaluation("dev")), []
    for name, path in last.items():
        after = read_as(EvalRecord, path)
        try:
            found.append((name, compare(metric, aligned(base, after), after, alpha)))
        except InputError:  # an arm with another reward has nothing to be paired with
            continue
    return found
