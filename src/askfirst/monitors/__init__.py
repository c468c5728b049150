"""What a run is watched by: a table of small functions, each with the bounds that a plan starts from.

A monitor is a function in `measures` and a line in MONITORS. Its value is a series in the records; what lies outside
its bounds warns, or stops the run where the plan says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from askfirst.monitors import measures
from askfirst.monitors.measures import Seen as Seen
from askfirst.values import FrozenMap

Measure = Callable[[Seen], float | None]


@dataclass(frozen=True, slots=True)
class Monitor:
    """A measure, its default bounds, and what it means when they are broken.

    What is held against the bounds is the mean of its last `window` values. It is silent up to step `after_steps`.
    """

    measure: Measure
    at: Literal["step", "evaluation"]
    meaning: str
    min: float | None = None
    max: float | None = None
    after_steps: int = 0
    window: int = 1

    @property
    def name(self) -> str:
        return self.measure.__name__


def _step(measure: Measure, meaning: str, highest: float, after: int = 0) -> Monitor:
    """A batch is small, and one of them outside is chance."""
    return Monitor(measure, "step", meaning, None, highest, after, 5)


def _evaluation(measure: Measure, meaning: str, highest: float) -> Monitor:
    return Monitor(measure, "evaluation", meaning, None, highest)


MONITORS: Mapping[str, Monitor] = {
    monitor.name: monitor
    for monitor in (
        _step(measures.template_collapse, "one generic question for requests that want different things", 0.3),
        _step(measures.near_echo, "questions repeat the request just under the echo limit", 0.15),
        Monitor(measures.partial_farming, "step", "the reward rises and strict passes do not", None, 0.1),
        Monitor(measures.term_gap, "step", "a part of the reward rises and strict passes do not", None, 0.1),
        _step(measures.over_asking, "asks more often than requests are unclear", 0.25),
        _step(measures.under_asking, "asks less often than requests are unclear", 0.5, 20),
        _step(measures.asks_when_clear, "asks about clear requests", 0.75),
        _step(measures.short_repetition, "the shortest question that passes, again and again", 0.5),
        _step(measures.kl_drift, "far from the reference", 0.5),
        _step(measures.gibberish, "replies that read like no sentence", 0.1),
        _evaluation(measures.scorer_change, "the reward or its cases on disk are not those of the run's start", 0.0),
        _evaluation(measures.selection_overfit, "the best checkpoint is best on the dev items it was chosen by", 0.15),
        _evaluation(measures.probe_findings, "replies pass that cannot be honest", 0.0),
        _evaluation(measures.proxy_gap, "the training reward is far above what passes on dev", 0.3),
        _evaluation(measures.oracle_gap, "the reward passes what the oracle does not", 0.05),
    )
}


class MonitorSection(BaseModel):
    """A monitor by name, and what of it the plan sets; the rest is as in MONITORS. `off` leaves it unmeasured."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str
    min: float | None = None
    max: float | None = None
    after_steps: int | None = Field(None, ge=0)
    action: Literal["warn", "stop", "off"] = "warn"


def resolved(given: tuple[MonitorSection, ...]) -> tuple[MonitorSection, ...]:
    """A section for every monitor, in the order of MONITORS. Raises ValueError for an unknown or doubled name."""
    by_name = {section.name: section for section in given}
    unknown = sorted(set(by_name) - set(MONITORS))
    if unknown:
        raise ValueError(f"no monitor is called {unknown[0]!r}; choose of: {', '.join(MONITORS)}")
    if len(by_name) != len(given):
        raise ValueError("a monitor is set twice")
    return tuple(_filled(by_name.get(name, MonitorSection(name=name))) for name in MONITORS)


def _filled(section: MonitorSection) -> MonitorSection:
    own = MONITORS[section.name]
    missing = {key: getattr(own, key) for key in ("min", "max", "after_steps") if getattr(section, key) is None}
    full = section.model_copy(update=missing)
    if full.min is not None and full.max is not None and full.min > full.max:
        raise ValueError(f"monitor {full.name}: min {full.min:g} is above max {full.max:g}")
    return full


Monitors = Annotated[tuple[MonitorSection, ...], AfterValidator(resolved)]


def judge(
    sections: Sequence[MonitorSection], at: Literal["step", "evaluation"], seen: Seen
) -> tuple[FrozenMap, FrozenMap]:
    """The values of the monitors that look at a step or at an evaluation, and the means that are out of bounds.

    The last record of `seen` is the one that is judged; those before it carry the values found then.
    """
    *past, now = seen.steps if at == "step" else seen.checkpoints
    values: dict[str, float | None] = {}
    alarms: dict[str, float] = {}
    for section in sections:
        monitor = MONITORS[section.name]
        if monitor.at != at or section.action == "off":
            continue
        value = values[section.name] = monitor.measure(seen)
        if value is None or now["step"] <= (section.after_steps or 0):
            continue
        earlier = (v for record in reversed(past) if (v := record["monitors"].get(section.name)) is not None)
        last = [value, *islice(earlier, monitor.window - 1)]
        mean = sum(last) / len(last)
        if len(last) == monitor.window and _breaks(section, mean):
            alarms[section.name] = mean
    return FrozenMap(values), FrozenMap(alarms)


def _breaks(section: MonitorSection, value: float) -> bool:
    return (section.min is not None and value < section.min) or (section.max is not None and value > section.max)


def bounds(section: Mapping[str, Any]) -> str:
    """What a section, as it stands in a record, allows."""
    return " and ".join(
        f"{sign} {section[key]:g}" for key, sign in (("min", "≥"), ("max", "≤")) if section[key] is not None
    )


def told(section: MonitorSection, mean: float) -> str:
    """An alarm in words."""
    return f"{section.name} {mean:.2f}, allowed {bounds(section.model_dump())}: {MONITORS[section.name].meaning}"


def set_by_plan(sections: Sequence[MonitorSection]) -> str:
    """Where a plan departs from the defaults, in words; empty where it does not."""
    found = []
    for section in sections:
        own = _filled(MonitorSection(name=section.name))
        keys = [key for key in ("min", "max", "after_steps") if getattr(section, key) != getattr(own, key)]
        words = [f"{key} {getattr(section, key):g}" for key in keys] + ["stops the run"] * (section.action == "stop")
        if section.action == "off":
            found.append(f"{section.name} off")
        elif words:
            found.append(f"{section.name} {', '.join(words)}")
    return " · ".join(found)
