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
    bound, asked, difference = _bound(section)
    most = max(abs(bound), abs(rule["lower"]), abs(rule["upper"]))
    low, high = (-_rounded(most), _rounded(most)) if difference else (0.0, 1.0)

    def at(value: float) -> float:
        return round(WIDE * (value - low) / (high - low), 1)

    digits, scale = ("{:+.1f}", 100) if difference else ("{:.0%}", 1)
    return {
        **rule,
        "asked": asked,
        "ends": [digits.format(end * scale) for end in (low, high)],
        "bound_at": at(bound),
        "lower_at": at(rule["lower"]),
        "upper_at": at(rule["upper"]),
        "estimate_at": at(rule["estimate"]),
        "zero_at": at(0.0) if difference else None,
        "words": " ".join(
            [digits.format(rule["estimate"] * scale), "[" + digits.format(rule["lower"] * scale) + ",",
             digits.format(rule["upper"] * scale) + "]"]
        ),
    }  # fmt: skip


def _bound(section: Record) -> tuple[float, str, bool]:
    """The bound of a rule, what it asks in words, and whether it is about a difference rather than a share."""
    if section["above"] is not None:
        return float(section["above"]), f"above {section['above']:.0%}", False
    margin, mode = section["margin"], section.get("mode", "rate_noninferiority")
    if other := section.get("superior_to"):
        return float(margin or 0.0), f"more than {(margin or 0.0) * 100:g} points above {other}", True
    other = section["noninferior_to"]
    if mode == "rate_noninferiority":
        return -float(margin), f"no more than {margin * 100:g} points below {other}", True
    asked = (
        f"no item worse than at {other}"
        if margin is None
        else f"fewer than {margin:.0%} of items worse than at {other}"
    )
    return float(margin or 0.0), asked, False


def _rounded(most: float) -> float:
    """The end of a scale of differences: the least of a few round numbers that leaves some room."""
    return next((end for end in (0.05, 0.1, 0.2, 0.3, 0.5, 0.75) if most < 0.95 * end), 1.0)
