"""What a run says, handed on to trackers and as notices. Nothing that fails here stops or changes a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from askfirst import plugins
from askfirst.cli.options import named
from askfirst.errors import AskfirstError, InputError
from askfirst.events import Event
from askfirst.plan import Plan, arm_plan
from askfirst.store import append_line
from askfirst.trackers._tracked import Tracked

FOLDER = "tracking"  # beside the run folders, which hold records alone
SIDES = ("base", "baseline", "treated")  # whose figures on the sealed split are told


@dataclass(slots=True)
class Guard:
    """What fails within this context ends there: it is said to standard error, and `why` holds it."""

    what: str
    why: str = ""

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception | SystemExit):
            return False
        self.why = f"{type(error).__name__}: {error}".splitlines()[0]
        print(f"warn      {self.what} failed and is left out; the run goes on: {self.why}", file=sys.stderr)
        return True


@dataclass(slots=True)
class Telling:
    """A listener, and within its context the notices of a run's start and end."""

    plan: Plan
    out: Path
    trackers: dict[str, ModuleType]
    urls: tuple[str, ...]
    handles: dict[tuple[str, str], Any] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, plan: Plan, out: Path) -> Telling:
        """Whom the user named. Raises PluginError for a tracker that is not there."""
        trackers = {name: plugins.load("trackers", name) for name in named("--track")}
        return cls(plan, out, trackers, tuple(named("--notify")))

    @property
    def folder(self) -> Path:
        """Where trackers keep their files."""
        return self.out.parent / FOLDER / self.out.name

    def __call__(self, event: Event) -> None:
        """Hand an event on."""
        values = _numbers(event.values)
        if event.kind == "step":
            self._log(event.name, values, int(event.values["step"]))
        elif event.kind == "evaluated":
            self._log(event.name, {f"dev/{name}": v for name, v in values.items()}, int(event.values.get("step", 0)))
        elif event.kind == "sealed":
            sides = {side: _numbers(event.values[side]) for side in SIDES if side in event.values}
            self._log("sealed", {f"{side}/{name}": v for side, found in sides.items() for name, v in found.items()}, 0)
        elif event.kind == "gates":
            self.notice("started", event.text)
        elif event.kind == "verdict":
            self.notice(event.name, event.text)

    def notice(self, title: str, text: str) -> None:
        """Send a notice to every address, and record whether it went out."""
        body = f"{text}\n{(self.out / 'report.html').resolve().as_uri()}"
        for url in self.urls:
            with Guard(f"notice by {_scheme(url)}") as sending:
                _send(url, f"askfirst {self.out.name}: {title}", body)
            line = {"version": 1, "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"), "title": title}
            entry = {**line, "by": _scheme(url), "sent": not sending.why, "why": sending.why}
            with Guard("record of notices"):
                append_line(self.folder / "notices.jsonl", entry)

    def __enter__(self) -> Telling:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, AskfirstError):
            self.notice("stopped", error.message)
        elif isinstance(error, Exception):
            self.notice("stopped by a fault", f"{type(error).__name__}: {error}")
        for (tracker, name), handle in self.handles.items():
            if tracker in self.trackers:
                with Guard(f"tracker {tracker}, {name}"):
                    self.trackers[tracker].finish(handle)

    def _log(self, name: str, values: Mapping[str, float], step: int) -> None:
        for tracker, module in list(self.trackers.items()):
            with Guard(f"tracker {tracker}") as logging:
                if (tracker, name) not in self.handles:
                    self.handles[tracker, name] = module.start(self._tracked(tracker, name))
                module.log(self.handles[tracker, name], values, step)
            if logging.why:
                del self.trackers[tracker]

    def _tracked(self, tracker: str, name: str) -> Tracked:
        arm = name.partition("/")[0]
        known = any(arm == each.name for each in self.plan.arm)
        config = (arm_plan(self.plan, arm) if known else self.plan).model_dump(mode="json")
        return Tracked(self.out.name, name, config, self.folder / tracker)


def _send(url: str, title: str, body: str) -> None:
    """Raises InputError where the notice does not go out."""
    import apprise

    found = apprise.Apprise()
    if not found.add(url):
        raise InputError(f"no address for notices: {_scheme(url)}")
    if not found.notify(title=title, body=body):
        raise InputError("it was not taken")


def _scheme(url: str) -> str:
    """What may be said of an address; the rest of it is often a secret."""
    scheme, separator, _ = url.partition("://")
    return scheme if separator else "an address without a scheme"


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """What can be drawn over steps, the step itself excepted."""
    numbers = {k: v for k, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return {name: float(value) for name, value in numbers.items() if name not in ("step", "steps")}
