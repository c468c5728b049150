"""What a plot shows, for every way to draw it: on the page, or as a file for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from askfirst.paired import Paired

Kind = Literal["curve", "dots"]
MOST_POINTS = 400  # of a curve; longer ones are thinned evenly
WINDOW = 5  # steps of the trailing mean


@dataclass(frozen=True, slots=True)
class Line:
    """A series. `xs` are steps, or names of what a dot is of; `lows` and `highs` bound each y, or are empty."""

    name: str
    xs: tuple[float | str, ...]
    ys: tuple[float, ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot: curves over steps with bands, or dots with bounds. `within` fixes the range of values."""

    name: str
    title: str
    note: str
    kind: Kind
    values: str
    within: tuple[float, float] | None
    lines: tuple[Line, ...]

    @property
    def words(self) -> list[str]:
        """What the plot shows, one line a series, for who does not see it."""
        if self.kind == "curve":
            return [f"{line.name}: {line.ys[0]:.3f} → {line.ys[-1]:.3f}" for line in self.lines]
        return [
            f"{line.name}, {x}: {y:.3f}" + (f" [{line.lows[i]:.3f}, {line.highs[i]:.3f}]" if line.lows else "")
            for line in self.lines
            for i, (x, y) in enumerate(zip(line.xs, line.ys, strict=True))
        ]


SHARE = (0.0, 1.0)
# Name, title, in which records of a variant it lies, where in a record, what the values are, and their range.
OVER_ARMS: tuple[tuple[str, str, str, str, str, tuple[float, float] | None], ...] = (
    ("reward", "reward", "steps", "reward", "mean reward", None),
    ("strict-pass", "strict pass", "steps", "strict_pass", "share", SHARE),
    ("ask-unclear", "asks when unclear", "steps", "strata.all_ambiguous.ask_rate", "share", SHARE),
    ("ask-clear", "asks when clear", "steps", "strata.all_clear.ask_rate", "share", SHARE),
    ("pass-unclear", "pass on unclear requests", "steps", "strata.all_ambiguous.strict_pass", "share", SHARE),
    ("pass-clear", "pass on clear requests", "steps", "strata.all_clear.strict_pass", "share", SHARE),
    ("informative", "informative fraction", "steps", "informative_fraction", "share of groups", SHARE),
    ("distinct-questions", "distinct questions", "steps", "distinct_question_ratio", "per question asked", SHARE),
    ("kl", "KL from the reference", "steps", "learning.kl_nats", "nats a token", None),
    ("dev-pass", "dev: ambiguous pass", "checkpoints", "dev.ambiguous_pass", "share", SHARE),
    ("dev-false-ask", "dev: asks when clear", "checkpoints", "dev.false_ask", "share", SHARE),
    ("proxy-gap", "training reward − dev pass", "checkpoints", "proxy_gap", "difference", (-1.0, 1.0)),
)
OVER_STRATA = (("reward", "reward", None), ("strict_pass", "strict pass", SHARE), ("ask_rate", "ask rate", SHARE))

Variant = Mapping[str, Any]  # name, arm, steps and checkpoints


def training(variants: Sequence[Variant], treatment: str) -> list[Figure]:
    """The curves of a run: one line an arm, and for the treatment one line a stratum and one a term of the reward."""
    arms = _arms(variants)
    seeds = max((len(members) for members in arms.values()), default=0)
    note = f"Trailing mean over {WINDOW} steps." if seeds < 2 else (
        f"Mean of the seeds, each a trailing mean over {WINDOW} steps; the band is from the lowest to the highest."
    )  # fmt: skip
    found = []
    for name, title, kind, path, values, within in OVER_ARMS:
        own = note if kind == "steps" else "On the dev split." if seeds < 2 else "On dev; the band spans the seeds."
        lines = [_line(arm, members, kind, path) for arm, members in arms.items()]
        found.append(Figure(name, title, own, "curve", values, within, _drawn(lines)))
    members = arms.get(treatment, [])
    strata = sorted({s for v in members for step in v["steps"] for s in step["strata"] if not s.startswith("all_")})
    for field, title, within in OVER_STRATA:
        lines = [_line(s.replace("_", " "), members, "steps", f"strata.{s}.{field}") for s in strata]
        name, words = f"{field.replace('_', '-')}-by-stratum", f"{title} by stratum, {treatment}"
        found.append(Figure(name, words, note, "curve", title, within, _drawn(lines)))
    terms = sorted({t for v in members for step in v["steps"] for t in step.get("terms", {})})
    lines = [_line(t.replace("_", " "), members, "steps", f"terms.{t}.mean") for t in terms]
    words, note = f"terms of the reward, {treatment}", f"{note} The terms add up to the reward."
    found.append(Figure("terms", words, note, "curve", "mean", None, _drawn(lines)))
    return [figure for figure in found if figure.lines]


def before_and_after(parts: Sequence[Paired], split: str, kind: str) -> list[Figure]:
    """Passing before and after by part of the items, and the difference; bounds at the plan's level."""
    if not parts:
        return []
    names = tuple(f"{p.group} (n = {p.n})" for p in parts)
    sides = [("before training", [p.before for p in parts]), ("after", [p.after for p in parts])]
    both = [
        Line(word, names, _of(found, "estimate"), _of(found, "lower"), _of(found, "upper")) for word, found in sides
    ]
    gains = [p.difference for p in parts]
    change = Line("after − before", names, *(_of(gains, each) for each in ("estimate", "lower", "upper")))
    exact = f"Strict pass on {split}; bounds are exact (Clopper–Pearson), of each part alone."
    score = f"Strict pass on {split}, of the same items; bounds are Tango's, of each part alone."
    return [
        Figure(f"{kind}-before-after", f"before and after, by {kind}", exact, "dots", "share", SHARE, tuple(both)),
        Figure(f"{kind}-change", f"change on the same items, by {kind}", score, "dots", "difference", None, (change,)),
    ]


def same_base(parts: Sequence[tuple[str, Paired]]) -> list[Figure]:
    """The change of each variant's last checkpoint from the one model that all of them began with, on dev."""
    if not parts:
        return []
    names, gains = tuple(name for name, _ in parts), [p.difference for _, p in parts]
    line = Line("last checkpoint − base", names, *(_of(gains, each) for each in ("estimate", "lower", "upper")))
    metric = parts[0][1].metric.replace("_", " ")
    note = f"{metric} on the {parts[0][1].n} dev items of it; the same base model for all; bounds are Tango's."
    return [Figure("same-base", "change from the same base, by variant", note, "dots", "difference", None, (line,))]


def reach(record: Any, dotted: str) -> float | None:
    """A number within a record, by a dotted path; None where there is none."""
    for part in dotted.split("."):
        record = record.get(part) if isinstance(record, Mapping) else None
    return float(record) if isinstance(record, int | float) and not isinstance(record, bool) else None


def _arms(variants: Sequence[Variant]) -> dict[str, list[Variant]]:
    found: dict[str, list[Variant]] = {}
    for variant in variants:
        found.setdefault(variant["arm"], []).append(variant)
    return found


def _line(name: str, members: Sequence[Variant], kind: str, path: str) -> Line:
    """One line of one or several seeds: their mean, between their lowest and highest."""
    at: dict[int, list[float]] = {}
    for variant in members:
        points = [(record["step"], reach(record, path)) for record in variant[kind]]
        measured = [(step, value) for step, value in points if value is not None]
        heights = _smooth([value for _, value in measured], WINDOW if kind == "steps" else 1)
        for (step, _), height in zip(measured, heights, strict=True):
            at.setdefault(step, []).append(height)
    steps = _thinned(sorted(at))
    means = tuple(sum(at[s]) / len(at[s]) for s in steps)
    if len(members) < 2:
        return Line(name, tuple(steps), means)
    return Line(name, tuple(steps), means, tuple(min(at[s]) for s in steps), tuple(max(at[s]) for s in steps))


def _thinned(steps: Sequence[int]) -> list[int]:
    """At most about MOST_POINTS of them, the first and the last among these."""
    if len(steps) <= MOST_POINTS:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]


def _smooth(values: Sequence[float], window: int) -> list[float]:
    """Trailing mean, so that a step's small batch does not hide the trend."""
    return [sum(values[max(0, i - window + 1) : i + 1]) / min(i + 1, window) for i in range(len(values))]


def _drawn(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(line for line in lines if line.xs)


def _of(found: Sequence[Any], field: str) -> tuple[float, ...]:
    return tuple(float(getattr(each, field)) for each in found)
