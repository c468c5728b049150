"""The measures of an environment's own, as tables: evaluations side by side, and each of them by its parts; and what
judges say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from askfirst.runfolder import RunFolder, VariantFolder
from askfirst.store import read_as
from askfirst.values import EvalRecord, Measure

ABSENT = "–"


def tables(run: RunFolder, variants: Sequence[str]) -> list[dict[str, Any]]:
    """Tables with `title`, `columns` and `rows`; none where no evaluation of the run has measures."""
    found = _read(run, variants)
    measured = {title: record.measures for title, record in found.items() if record.measures}
    if not measured:
        return []
    whole = {title: _of(measures, "") for title, measures in measured.items()}
    parts = [
        _table(f"{title}, by part", {group: _of(measures, group) for group in _groups(measures)})
        for title, measures in measured.items()
    ]
    return [_table("all evaluations", whole), *parts]


def judges(run: RunFolder, variants: Sequence[str]) -> list[dict[str, Any]]:
    """Such a table a judge: what it says of each evaluation, beside what the oracle passes of the same episodes."""
    found = _read(run, variants)
    names = dict.fromkeys(each.judge for record in found.values() for each in record.judged)
    return [_judge(name, found) for name in names]


def _judge(name: str, found: Mapping[str, EvalRecord]) -> dict[str, Any]:
    own = {title: each for title, record in found.items() for each in record.judged if each.judge == name}
    dimensions = dict.fromkeys(dimension for each in own.values() for dimension in each.scores)
    rows: dict[str, list[str]] = {
        "mean": [_share(each.mean) for each in own.values()],
        "oracle passes": [_share(each.oracle) for each in own.values()],
        "gap to the oracle": [_share(each.gap, "+.2f") for each in own.values()],
        **{each: [_share(judged.scores.get(each)) for judged in own.values()] for each in dimensions},
        "unparsable": [f"{each.unparsable} of {each.episodes}" for each in own.values()],
    }
    listed = [{"name": row.replace("_", " "), "cells": cells} for row, cells in rows.items()]
    return {"title": name, "columns": [*own], "rows": listed}


def _share(value: float | None, form: str = ".2f") -> str:
    return ABSENT if value is None else format(value, form)


def _read(run: RunFolder, variants: Sequence[str]) -> dict[str, EvalRecord]:
    return {title: read_as(EvalRecord, path) for title, path in _records(run, variants) if path.is_file()}


def _records(run: RunFolder, variants: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The model before training, the last evaluation of each variant, and the sealed split."""
    yield "before training, dev", run.base_evaluation("dev")
    for name in variants:
        evaluations = sorted(VariantFolder(run.root / name).root.glob("evals/dev-*.json"))
        if evaluations:
            yield f"{name} step {int(evaluations[-1].stem.removeprefix('dev-'))}, dev", evaluations[-1]
    yield "before training, sealed", run.base_evaluation("sealed")
    yield "selected, sealed", run.selected_evaluation("sealed")


def _groups(measures: Sequence[Measure]) -> list[str]:
    return sorted({each.group for each in measures if each.group})


def _of(measures: Sequence[Measure], group: str) -> Mapping[str, Measure]:
    return {each.name: each for each in measures if each.group == group}


def _table(title: str, columns: Mapping[str, Mapping[str, Measure]]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    rows = [
        {"name": name.replace("_", " "), "cells": [_cell(column.get(name)) for column in columns.values()]}
        for name in names
    ]
    return {"title": title, "columns": [name.replace("_", " ").replace("=", ": ") for name in columns], "rows": rows}


def _cell(measure: Measure | None) -> str:
    if measure is None:
        return ABSENT
    bounds = "" if measure.lower is None else f" [{measure.lower:.2f}, {measure.upper:.2f}]"
    return f"{measure.value:.2f}{bounds}"
