"""Evaluation logs that were made elsewhere, read item by item: those of Inspect and of the LM evaluation harness.

Both become a `Log`: per sample an id, an epoch, a hash of what was asked, and the value of every score in [0, 1]. Files
are untrusted: what is not as expected is an InputError that names file and line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askfirst.errors import InputError
from askfirst.store import content_hash, plain, read_lines

# Inspect's letters for scores, as its own `value_to_float` has them.
GRADES: Mapping[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
NEEDS = "pip install 'askfirst[inspect]'"
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a log. `asked` is a hash of what was asked and wanted; `scores` are values in [0, 1] by name."""

    id: str
    epoch: int
    asked: str
    scores: Mapping[str, float]
    error: str = ""

    @property
    def key(self) -> Key:
        return self.id, self.epoch


@dataclass(frozen=True, slots=True)
class Log:
    """An evaluation: of which model on which task, how it ended, the scores that samples have, and the samples.

    A score that is no number in [0, 1] stands in no sample; `strange` counts them by name.
    """

    path: str
    task: str
    model: str
    status: str
    samples: tuple[Sample, ...]
    strange: Mapping[str, int] = field(default_factory=dict)

    @property
    def scores(self) -> tuple[str, ...]:
        """The names of all scores, in the order in which samples have them."""
        return tuple(dict.fromkeys(name for sample in self.samples for name in sample.scores))


def read_inspect(path: Path) -> Log:
    """A log of Inspect (`.eval` or `.json`), read by inspect_ai itself. Raises InputError."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise InputError("logs of Inspect are read by inspect_ai, which is not installed", hint=NEEDS) from error
    if not path.is_file():
        raise InputError("cannot read: no such file", where=str(path))
    try:
        log = read_eval_log(str(path.absolute()))
    except (ValueError, KeyError, TypeError, OSError, RuntimeError, EOFError) as error:
        first = str(error).partition("\n")[0][:160]
        raise InputError(f"not a log of Inspect: {first or type(error).__name__}", where=str(path)) from error
    strange: dict[str, int] = {}
    samples = tuple(_of_inspect(sample, strange) for sample in log.samples or ())
    return Log(str(path), log.eval.task, log.eval.model, str(log.status), samples, strange)


def _of_inspect(sample: Any, strange: dict[str, int]) -> Sample:
    said = sample.input if isinstance(sample.input, str) else [[m.role, m.text] for m in sample.input]
    asked = content_hash(plain([said, sample.choices or [], sample.target]))
    found = {}
    for scorer, score in (sample.scores or {}).items():
        for name, value in _named(scorer, score.value):
            number = _number(value)
            if number is None:
                strange[name] = strange.get(name, 0) + 1
            else:
                found[name] = number
    return Sample(str(sample.id), sample.epoch, asked, found, sample.error.message if sample.error else "")


def _named(scorer: str, value: object) -> Iterator[tuple[str, object]]:
    """The scores of a scorer by name: `scorer`, or `scorer.key` for each key where it gives several."""
    if isinstance(value, Mapping):
        yield from ((f"{scorer}.{key}", each) for key, each in value.items())
    else:
        yield scorer, value


def _number(value: object) -> float | None:
    """A score as a number in [0, 1]; None for anything else."""
    if isinstance(value, str) and value in GRADES:
        return GRADES[value]
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None


def read_lm_eval(path: Path) -> Log:
    """The samples of one task as the LM evaluation harness logs them (`samples_TASK_DATE.jsonl`, `--log_samples`).

    A score is called `metric`, or `metric,filter` where samples were scored behind a filter. Raises InputError with
    file and line.
    """
    merged: dict[str, Sample] = {}
    doubled: list[Sample] = []
    strange: dict[str, int] = {}
    for number, line in enumerate(read_lines(path, by_hand=True), start=1):
        own = _of_lm_eval(line, f"{path}:{number}", strange)
        before = merged.get(own.id)
        if before is not None and not before.scores.keys() & own.scores.keys() and before.asked == own.asked:
            own = Sample(own.id, 1, own.asked, {**before.scores, **own.scores})  # the same behind another filter
        elif before is not None:
            doubled.append(own)
            continue
        merged[own.id] = own
    if not merged:
        raise InputError("there are no samples in it", where=str(path))
    task = path.name.removeprefix("samples_").rpartition("_")[0] or path.stem
    return Log(str(path), task, path.parent.name, "success", (*merged.values(), *doubled), strange)


def _of_lm_eval(line: Any, where: str, strange: dict[str, int]) -> Sample:
    if not isinstance(line, dict) or type(line.get("doc_id")) is not int or not isinstance(line.get("metrics"), list):
        raise InputError("expected a sample with doc_id and metrics", where=where)
    hashes = [line.get(name) for name in ("doc_hash", "target_hash")]
    asked = hashes if all(isinstance(each, str) for each in hashes) else [line.get("doc"), line.get("target")]
    found, behind = {}, line.get("filter")
    for metric in line["metrics"]:
        name = f"{metric},{behind}" if isinstance(behind, str) and behind != "none" else str(metric)
        value = _number(line.get(metric))
        if value is None:
            strange[name] = strange.get(name, 0) + 1
        else:
            found[name] = value
    try:
        return Sample(str(line["doc_id"]), 1, content_hash(asked), found)
    except (TypeError, ValueError) as error:
        raise InputError(f"the document has no hash: {error}", where=where) from error
