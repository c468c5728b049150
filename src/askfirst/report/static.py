"""Plots as SVG files, the same bytes for the same records."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from askfirst.report.figures import Figure, Line
from askfirst.store import write_text

# Okabe and Ito (2008): told apart with every common form of colour blindness. Dashes tell them apart without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":")


def write_figures(figures: list[Figure], folder: Path) -> list[Path]:
    """One SVG file for each figure, named by it; returns their paths."""
    paths = []
    for figure in figures:
        path = folder / f"{figure.name}.svg"
        write_text(path, svg(figure) + "\n")
        paths.append(path)
    return paths


def svg(figure: Figure) -> str:
    """A figure as SVG text."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context({"svg.hashsalt": "askfirst", "svg.fonttype": "none", "font.size": 9}):
        tall = 2.8 if figure.kind == "curve" else 1.2 + 0.28 * len(figure.lines[0].xs)
        canvas = Canvas(figsize=(5.2, tall), layout="constrained")
        panel = canvas.subplots()
        draw = _curve if figure.kind == "curve" else _dots
        for i, line in enumerate(figure.lines):
            draw(panel, line, i, len(figure.lines))
        panel.set_title(figure.title, fontsize=10)
        panel.grid(alpha=0.25)
        if figure.kind == "curve":
            panel.set(xlabel="step", ylabel=figure.values, ylim=figure.within and _wider(figure.within))
        else:
            panel.set(xlabel=figure.values, xlim=figure.within and _wider(figure.within))
            panel.invert_yaxis()
            if figure.within is None:
                panel.axvline(0.0, color="#777777", linewidth=0.8)
        if len(figure.lines) > 1:
            panel.legend(fontsize=7, frameon=False)
        out = io.StringIO()
        canvas.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return out.getvalue()[out.getvalue().index("<svg") :].rstrip()


def _curve(panel: Any, line: Line, i: int, of: int) -> None:
    colour = COLOURS[i % len(COLOURS)]
    panel.plot(line.xs, line.ys, color=colour, linestyle=DASHES[i % len(DASHES)], label=line.name, linewidth=1.4)
    if line.lows:
        panel.fill_between(line.xs, line.lows, line.highs, color=colour, alpha=0.18, linewidth=0)


def _dots(panel: Any, line: Line, i: int, of: int) -> None:
    rows = range(len(line.xs))
    at = [row + (i - (of - 1) / 2) * 0.22 for row in rows]
    spans = [
        [y - low for y, low in zip(line.ys, line.lows, strict=True)],
        [high - y for y, high in zip(line.ys, line.highs, strict=True)],
    ]
    style = {"color": COLOURS[i % len(COLOURS)], "marker": "os^D"[i % 4], "markersize": 4, "linestyle": "none"}
    panel.errorbar(line.ys, at, xerr=spans, label=line.name, capsize=2, linewidth=1.1, **style)
    panel.set_yticks(list(rows), list(line.xs))


def _wider(within: tuple[float, float]) -> tuple[float, float]:
    """So that a line on the bound is seen."""
    edge = 0.02 * (within[1] - within[0])
    return within[0] - edge, within[1] + edge
