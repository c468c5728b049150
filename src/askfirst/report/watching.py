"""What the monitors of a run said, from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askfirst.monitors import MONITORS, bounds

Record = Mapping[str, Any]


def warnings(plan: Record, variants: Sequence[Record]) -> list[dict[str, Any]]:
    """A row for each monitor that was outside its bounds on a variant: since when, how often, and how far at most."""
    rows = []
    for section in plan["monitor"]:
        monitor = MONITORS.get(section["name"])
        for variant in variants:
            records = _records(section["name"], variant)
            means = [(r["step"], r["alarms"][section["name"]]) for r in records if section["name"] in r["alarms"]]
            if means:
                far = max if section["max"] is not None and means[0][1] > section["max"] else min
                rows.append(
                    {
                        "monitor": section["name"],
                        "meaning": monitor.meaning if monitor else "",
                        "variant": variant["name"],
                        "first": means[0][0],
                        "times": len(means),
                        "of": len(records),
                        "worst": far(mean for _, mean in means),
                        "bounds": bounds(section),
                        "action": section["action"],
                    }
                )
    return rows


def series(plan: Record, variants: Sequence[Record]) -> list[dict[str, Any]]:
    """A row for each monitor and variant: the first and last value, and how many of its records have one."""
    rows = []
    for section in plan["monitor"]:
        for variant in variants:
            records = _records(section["name"], variant)
            values = [v for r in records if (v := r["monitors"][section["name"]]) is not None]
            rows.append(
                {
                    "monitor": section["name"],
                    "variant": variant["name"],
                    "action": section["action"],
                    "bounds": bounds(section),
                    "measured": len(values),
                    "of": len(records),
                    "ends": [values[0], values[-1]] if values else None,
                }
            )
    return rows


def agreements(variants: Sequence[Record]) -> list[dict[str, Any]]:
    """A row for each checkpoint and reward that judged it beside its own: who passed how many of the dev items."""
    return [
        {"checkpoint": f"{variant['name']} step {entry['step']}", **table}
        for variant in variants
        for entry in variant["checkpoints"]
        for table in entry.get("agreement", ())
    ]


def terms(variants: Sequence[Record]) -> list[dict[str, Any]]:
    """A row for each term of the reward at the last checkpoint of a variant: its mean, and how it goes with total, pass
    and oracle.
    """
    last = [(variant["name"], variant["checkpoints"][-1]) for variant in variants if variant["checkpoints"]]
    return [
        {
            "checkpoint": f"{name} step {entry['step']}",
            "term": term,
            "mean": stats["mean"],
            "correlations": [stats.get(f"with_{judge}") for judge in ("total", "pass", "oracle")],
        }
        for name, entry in last
        for term, stats in entry.get("terms", {}).items()
    ]


def _records(name: str, variant: Record) -> list[Any]:
    """The step records or checkpoint entries in which a monitor may have a value."""
    return [r for r in (*variant["steps"], *variant["checkpoints"]) if name in r.get("monitors", ())]
