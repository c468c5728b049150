"""What plots show, and their files."""

import pytest

from askfirst.report.figures import MOST_POINTS, Figure, Line, reach, training
from askfirst.report.page import figures_of
from askfirst.report.static import svg, write_figures


def variant(arm, seed, values, field="reward"):
    steps = [{"step": i + 1, field: value, "strata": {}} for i, value in enumerate(values)]
    return {"name": f"{arm}/seed-{seed}", "arm": arm, "steps": steps, "checkpoints": []}


def test_the_seeds_of_an_arm_are_one_line_in_the_band_from_lowest_to_highest():
    (figure,) = training([variant("a", 0, [0.0, 1.0]), variant("a", 1, [0.5, 0.5]), variant("b", 0, [1.0])], "a")
    a, b = figure.lines
    assert (a.name, a.xs, a.ys, a.lows, a.highs) == ("a", (1, 2), (0.25, 0.5), (0.0, 0.5), (0.5, 0.5))
    assert (b.xs, b.ys, b.lows) == ((1,), (1.0,), ())
    assert "lowest to the highest" in figure.note


def test_values_that_were_not_measured_are_left_out_and_not_zero():
    (figure,) = training([variant("a", 0, [None, 1.0, None, 3.0])], "a")
    assert (figure.lines[0].xs, figure.lines[0].ys) == ((2, 4), (1.0, 2.0))
    assert training([variant("a", 0, [None])], "a") == []


def test_a_long_run_is_thinned_and_keeps_its_ends():
    (figure,) = training([variant("a", 0, [1.0] * 5000)], "a")
    assert len(figure.lines[0].xs) <= MOST_POINTS
    assert (figure.lines[0].xs[0], figure.lines[0].xs[-1]) == (1, 5000)


def test_a_number_is_reached_within_a_record_and_nothing_else_is():
    record = {"a": {"b": 2, "c": None, "d": True, "e": "1"}}
    assert reach(record, "a.b") == 2.0
    assert [reach(record, path) for path in ("a.c", "a.d", "a.e", "a.x", "a.b.c", "x")] == [None] * 6


def test_a_run_has_its_curves_its_strata_its_terms_and_what_changed(recorded):
    found = {figure.name: figure for figure in figures_of(recorded().root)}
    assert {"reward", "ask-unclear", "ask-clear", "informative", "kl", "terms", "dev-pass"} <= found.keys()
    assert {"family-before-after", "stratum-change", "same-base", "strict-pass-by-stratum"} <= found.keys()
    assert "distinct-questions" not in found  # it was never measured
    assert {line.name for line in found["reward"].lines} == {"anchored", "free"}
    assert found["reward"].lines[0].highs[0] == pytest.approx(0.3)
    assert {line.name for line in found["strict-pass-by-stratum"].lines} == {"ambiguous", "action"}
    change = found["stratum-change"].lines[0]
    assert change.xs[0] == "ambiguous (n = 20)"
    assert (change.ys[0], change.ys[1]) == (1.0, 0.0)
    assert found["same-base"].lines[0].xs == ("anchored/seed-0", "anchored/seed-1", "free/seed-0", "free/seed-1")


def test_a_plot_is_a_file_that_is_the_same_twice(tmp_path):
    dots = Figure(
        "d", "dots", "", "dots", "share", (0.0, 1.0), (Line("after", ("x", "y"), (0.2, 0.5), (0.1, 0.4), (0.3, 0.6)),)
    )
    curve = Figure(
        "c", "curve <b>", "", "curve", "nats", None, (Line("a", (1, 2), (0.0, 1.0)), Line("b", (1, 2), (0.5, 1.0)))
    )
    paths = write_figures([dots, curve], tmp_path)
    assert [path.name for path in paths] == ["d.svg", "c.svg"]
    text = paths[1].read_text()
    assert text == svg(curve) + "\n"
    assert text.startswith("<svg")
    assert "curve &lt;b&gt;" in text
    assert dots.words == ["after, x: 0.200 [0.100, 0.300]", "after, y: 0.500 [0.400, 0.600]"]
