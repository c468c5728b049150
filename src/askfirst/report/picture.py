"""The first thing on the page: the verdict in one sentence, and each rule as a bar against its bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]
WIDE = 1000  # units from the left end of a picture to its right end


def sentence(verdict: Record | None, openings: int) -> str:
    """The verdict in one sentence."""
    if verdict is None:
        return "The run is not finished."
    rules = verdict["rules"]
    opened = "opened once" if openings == 1 else f"opened {openings} times"
    if not rules:
        return f"{verdict['reason']}; the sealed split was not opened."
    missed = [rule["metric"].replace("_", " ") for rule in rules if not rule["holds"]]
    if not missed:
        which = "The rule of the plan holds" if len(rules) == 1 else f"All {len(rules)} rules of the plan hold"
        return f"{which} on the sealed split, {opened}."
    held = f"{len(rules) - len(missed)} of {len(rules)} rules of the plan hold on the sealed split, {opened}"
    word = "refuted, or left open" if verdict["decision"] == "DISCARD" else "left open by the data"
    return f"{held}; {' and '.join(missed)} {'is' if len(missed) == 1 else 'are'} {word}."


def intervals(plan: Record, verdict: Record | None) -> list[dict[str, Any]]:
    """For each rule its interval, its bound and where they lie between the ends of a picture, from 0 to WIDE."""
    return [_interval(rule, plan["ship"][rule["metric"]]) for rule in (verdict or {"rules": ()})["rules"]]


def _interval(rule: Record, section: Record) -> dict[str, Any]:
    absolute = section["above"] is not None
    bound = float(section["above"]) if absolute else -float(section["margin"])
    most = max(abs(bound), abs(rule["lower"]), abs(rule["upper"]))
    low, high = (0.0, 1.0) if absolute else (-_rounded(most), _rounded(most))

    def at(value: float) -> float:
        return round(WIDE * (value - low) / (high - low), 1)

    digits = "{:.0%}" if absolute else "{:+.1f}"
    scale = 1 if absolute else 100
    asked = f"above {bound:.0%}" if absolute else f"no more than {-bound * 100:g} points below base"
    return {
        **rule,
        "asked": asked,
        "ends": [digits.format(end * scale) for end in (low, high)],
        "bound_at": at(bound),
        "lower_at": at(rule["lower"]),
        "upper_at": at(rule["upper"]),
        "estimate_at": at(rule["estimate"]),
        "zero_at": None if absolute else at(0.0),
        "words": " ".join(
            [digits.format(rule["estimate"] * scale), "[" + digits.format(rule["lower"] * scale) + ",",
             digits.format(rule["upper"] * scale) + "]"]
        ),
    }  # fmt: skip


def _rounded(most: float) -> float:
    """The end of a scale of differences: the least of a few round numbers that leaves some room."""
    return next((end for end in (0.05, 0.1, 0.2, 0.3, 0.5, 0.75) if most < 0.95 * end), 1.0)
