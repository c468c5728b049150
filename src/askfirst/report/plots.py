"""Plots as SVG text, the same bytes for the same records."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

# What is drawn: title, in which records of a variant it lies, and where in a record.
SERIES = (
    ("asks when unclear", "steps", ("strata", "all_ambiguous", "ask_rate")),
    ("asks when clear", "steps", ("strata", "all_clear", "ask_rate")),
    ("pass on unclear requests", "steps", ("strata", "all_ambiguous", "strict_pass")),
    ("informative fraction", "steps", ("informative_fraction",)),
    ("training reward − dev pass", "checkpoints", ("proxy_gap",)),
)
NAMED = 10  # variants that a legend has room for; the tables of the page name all


def curves(variants: Sequence[dict[str, Any]]) -> str:
    """One panel for each series, one line for each variant; empty text when there is nothing to draw.

    A variant has `name`, its `steps` and its `checkpoints`.
    """
    if not variants:
        return ""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "askfirst", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(13, 2.6), layout="constrained")
        panels = figure.subplots(1, len(SERIES))
        for panel, (title, kind, path) in zip(panels, SERIES, strict=True):
            for variant in variants:
                points = [(s["step"], _reach(s, path)) for s in variant[kind]]
                shown = [(x, y) for x, y in points if y is not None]
                heights = _smooth([y for _, y in shown], 5 if kind == "steps" else 1)
                panel.plot([x for x, _ in shown], heights, label=variant["name"], linewidth=1.3)
            panel.set(title=title, xlabel="step", ylim=(-0.02, 1.02) if kind == "steps" else (-1.02, 1.02))
            panel.grid(alpha=0.25)
        if len(variants) <= NAMED:
            panels[0].legend(fontsize=7, frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return out.getvalue()[out.getvalue().index("<svg") :]


def _reach(record: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = record
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) else None


def _smooth(values: Sequence[float], window: int) -> list[float]:
    """Trailing mean, so that a step's small batch does not hide the trend."""
    return [sum(values[max(0, i - window + 1) : i + 1]) / min(i + 1, window) for i in range(len(values))]
