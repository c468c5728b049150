"""Events as lines for people, or as JSON for programs."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from askfirst.events import Event
from askfirst.plan import Plan
from askfirst.store import plain

DEV_WORDS = (("ambiguous", "ambiguous_pass"), ("asks when clear", "false_ask"), ("clear", "clear_pass"))
EDGE = 5  # steps averaged at either end of a variant's line
QUIET = 60.0  # seconds between two lines of one variant where there is no terminal to draw on


def json_listener(event: Event) -> None:
    """One JSON line for each event."""
    body = plain(event)
    print(json.dumps({k: v for k, v in body.items() if v not in ("", {})}, ensure_ascii=False), flush=True)


class Human:
    """A listener that keeps a progress line for each running variant and prints one for each that is done.

    Where there is no terminal, a variant has a line a minute. `clock` is in seconds.
    """

    def __init__(self, plan: Plan, clock: Callable[[], float] = time.monotonic) -> None:
        self.plan = plan
        self.clock = clock
        self.began: dict[str, tuple[float, int]] = {}
        self.told: dict[str, float] = {}
        self.console = Console(highlight=False, soft_wrap=True)
        self.steps: dict[str, list[dict[str, Any]]] = {}
        self.losses: dict[str, float] = {}
        self.warnings: Counter[str] = Counter()
        self.progress = Progress(
            TextColumn("{task.fields[verb]:<9} {task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        """Show an event."""
        show = getattr(self, f"_{event.kind}", None)
        if show is not None:
            show(event)

    def line(self, verb: str, text: str) -> None:
        """Print a line that begins with a verb."""
        self.console.print(f"{verb:<9} {text}", markup=False)

    def close(self) -> None:
        """Take the progress lines away."""
        self.progress.stop()

    def _plan(self, event: Event) -> None:
        self.line("plan", event.text)

    def _watch(self, event: Event) -> None:
        self.line("watch", event.text)

    def _warning(self, event: Event) -> None:
        self.warnings[event.name] += 1
        self.line("warn", f"{event.name}  {event.text}")

    def _lost(self, event: Event) -> None:
        self.line("lost", f"{event.name}  {event.text}")

    def _gates(self, event: Event) -> None:
        self.line("gates", event.text)

    def _warmstart(self, event: Event) -> None:
        values = event.values
        self.losses.setdefault(event.name, values["loss"])
        self._advance("warm", event.name, values["step"], values["steps"], f"loss {values['loss']:.3f}")
        if values["step"] == values["steps"]:
            self.line("warm", f"{event.name}  loss {self.losses[event.name]:.2f} → {values['loss']:.2f} nats a token")

    def _step(self, event: Event) -> None:
        values = dict(event.values)
        self.steps.setdefault(event.name, []).append(values)
        words = f"{self._words(event.name)} · {self._speed(event.name, EDGE)}"
        self._advance("train", event.name, values["step"], values["steps"], words)

    def _words(self, name: str) -> str:
        first, last = self.steps[name][:EDGE], self.steps[name][-EDGE:]
        parts = []
        for label, key in (
            ("strict", "strict_pass"),
            ("asks when unclear", "ask_when_unclear"),
            ("asks when clear", "ask_when_clear"),
        ):
            ends = [_mean(steps, key) for steps in (first, last)]
            if None not in ends:
                parts.append(f"{label} {ends[0]:.2f} → {ends[1]:.2f}")
        if count := self.warnings[name]:
            parts.append(f"{count} warning{'s' * (count > 1)}")
        return " · ".join(parts)

    def _speed(self, name: str, last: int) -> str:
        """Tokens sampled and trained on a second, over so many of the last steps, and what all steps cost."""
        steps = self.steps[name]
        per_second = sum(s["tokens"] for s in steps[-last:]) / max(sum(s["seconds"] for s in steps[-last:]), 1e-9)
        cost = sum(s["seconds"] for s in steps) / 3600 * self.plan.budget.price_per_hour
        return f"{per_second:,.0f} tokens/s" + (f" · cost {cost:.2f}" if cost else "")

    def _finished(self, event: Event) -> None:
        name, steps = event.name, self.steps.get(event.name, [])
        if not steps:  # stopped between its last checkpoint and its end
            self.line("train", f"{name}  was trained before")
            return
        seconds = int(sum(s["seconds"] for s in steps))
        self._done(name)
        speed = self._speed(name, len(steps))
        self.line("train", f"{name}  {self._words(name)}   {seconds // 60}:{seconds % 60:02d}   {speed}")

    def _evaluated(self, event: Event) -> None:
        if not event.name.startswith(("base", "warmstart")):
            return
        if event.name.startswith("warmstart"):
            self._done(event.name)
        v = event.values
        shares = [f"{word} {v[m]:.0%}" for word, m in DEV_WORDS if m in v]
        self.line("dev", f"{event.name}: " + " · ".join(shares))

    def _select(self, event: Event) -> None:
        v = event.values
        self.line(
            "select", f"{event.name} (dev {v['metric']} {v['value']:.2f}, informative {v['informative_fraction']:.2f})"
        )

    def _sealed(self, event: Event) -> None:
        before, treated = event.values.get("baseline", event.values["base"]), event.values["treated"]
        names = (
            ("ambiguous", "ambiguous_pass"),
            ("out of scope", "out_of_scope_pass"),
            ("destructive", "destructive_pass"),
        )
        parts = [f"{word} {before[m]:.0%} → {treated[m]:.0%}" for word, m in names if m in treated]
        count = "once" if event.values["opening"] == 1 else f"{event.values['opening']} times"
        against = "" if event.values["against"] == "base" else f", {event.values['against']} → {event.name}"
        self.line("sealed", f"opened {count}{against}: " + " · ".join(parts))

    def _verdict(self, event: Event) -> None:
        self.line("verdict", f"{event.name} — {event.text}")
        self.line("", event.values["limits"])

    def _advance(self, verb: str, name: str, done: int, total: int, words: str) -> None:
        if self.progress.disable:
            self._say(verb, name, (done, total), words)
            return
        if not self.tasks:
            self.progress.start()
        if name not in self.tasks:
            self.tasks[name] = self.progress.add_task(name, total=total, verb=verb, words=words)
        self.progress.update(self.tasks[name], completed=done, words=words)

    def _say(self, verb: str, name: str, at: tuple[int, int], words: str) -> None:
        """A line now and then: how far a variant is, and how long it will take at its pace so far."""
        now, (done, total) = self.clock(), at
        began, first = self.began.setdefault(name, (now, done))
        if now - self.told.setdefault(name, now) < QUIET or done in (first, total):
            return
        self.told[name] = now
        left = int((now - began) / (done - first) * (total - done))
        self.line(verb, f"{name}  {done}/{total}  {words}   about {left // 60}:{left % 60:02d} to go")

    def _done(self, name: str) -> None:
        if name in self.tasks:
            self.progress.remove_task(self.tasks.pop(name))
            if not self.tasks:
                self.progress.stop()


def _mean(steps: list[dict[str, Any]], key: str) -> float | None:
    values = [s[key] for s in steps if s.get(key) is not None]
    return sum(values) / len(values) if values else None
