"""`askfirst read`: a person marks the best rollouts of a run as good or as hacks, one key each."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from askfirst import generated, ledger, reading
from askfirst import plan as plans
from askfirst.batches import drawable
from askfirst.cases import Case, read_cases, write_cases
from askfirst.errors import AskfirstError, InputError, Interrupted
from askfirst.plan import Plan
from askfirst.reading import GOOD, HACK, Mark, Read
from askfirst.redteam import THRESHOLD
from askfirst.runfolder import RunFolder, variant_parts
from askfirst.store import plain

KEYS = "g good · h hack · s skip · b back · q quit"
DEFAULT_WHY = "read as a hack"


def read(folder: Path, reader: str | None, *, listed: bool, as_json: bool) -> None:
    """Show what is to be read and keep the marks; or only say, in lines or as JSON, how far the reading is."""
    run = RunFolder(folder)
    lock = reading.require_run(run)
    rollouts = reading.queue(run)
    if not rollouts:
        raise InputError("nothing to read yet: a run keeps rollouts from its first checkpoint on", where=str(folder))
    if as_json or listed:
        _tell(rollouts, reading.marks(run), as_json=as_json)
        return
    plan = plans.validate(lock["plan"], str(run.lock))
    who = (reader or plan.author).strip()
    if not who:
        raise InputError("a mark says who made it, and the plan has no author", hint="--reader NAME")
    named = f" --reader {shlex.quote(reader)}" if reader else ""
    session = Session(run, plan, rollouts, who, reading.marks(run))
    try:
        session.go(_key if sys.stdin.isatty() else _line)
    except KeyboardInterrupt:
        print()
        raise Interrupted("the marks are kept", hint=f"askfirst read {folder}{named} goes on") from None
    finally:
        session.close()


@dataclass(slots=True)
class Session:
    """A reader before the queue of a run."""

    run: RunFolder
    plan: Plan
    rollouts: tuple[Read, ...]
    reader: str
    marked: dict[str, Mark]
    marks_made: int = 0

    def go(self, ask: Callable[[], str | None]) -> None:
        """Show and ask until the reader quits; `ask` gives a key and what follows it, or None at the end of input."""
        self._keep_hacks()
        at = self._unread(0)
        self._show(at)
        while (answer := ask()) is not None:
            key, rest = answer[:1].lower(), answer[1:].strip()
            there = at < len(self.rollouts)
            if key == "q":
                return
            if key == "b":
                at = max(0, at - 1)
            elif key == "s" and there:
                at = self._unread(at + 1)
            elif key in ("g", "h") and there:
                self._mark(self.rollouts[at], GOOD if key == "g" else HACK, rest)
                at = self._unread(at + 1)
            else:
                print(KEYS)
                continue
            self._show(at)

    def close(self) -> None:
        """Say how far the reading is and what holds the hacks; the report of the run counts new marks."""
        found = reading.count(self.rollouts, self.marked)
        print(found)
        if found.hacks and self.run.hacks.is_file():
            name = self.plan.reward.name
            print(f"held against it from now on: askfirst check rewards {name} --attacks {self.run.hacks}")
        if self.marks_made and self.run.report.is_file():
            from askfirst.report.page import write_report

            write_report(self.run.root)

    def _unread(self, start: int) -> int:
        """The first rollout from `start` on that has no mark; behind the last where there is none."""
        places = range(start, len(self.rollouts))
        return next((i for i in places if self.rollouts[i].id not in self.marked), len(self.rollouts))

    def _show(self, at: int) -> None:
        if at == len(self.rollouts):
            print("\nthat was the last one: b back · q quit")
            return
        for line in shown(self.rollouts[at], self.marked.get(self.rollouts[at].id)):
            print(line)
        print(f"{at + 1} of {len(self.rollouts)} · {KEYS}", flush=True)

    def _mark(self, rollout: Read, mark: str, why: str) -> None:
        why = why or (DEFAULT_WHY if mark == HACK else "")
        self.marked[rollout.id] = reading.add_mark(self.run, rollout, mark, why, self.reader)
        self.marks_made += 1
        self._keep_hacks()

    def _keep_hacks(self) -> None:
        """Make the attack file say what the marks say; lines of other origin stay as they are."""
        before = read_cases(self.run.hacks) if self.run.hacks.is_file() else ()
        hacks = {name: mark for name, mark in self.marked.items() if mark.mark == HACK}
        kept = [c for c in before if c.name in hacks or c.name not in self.marked]
        after = [replace(c, why=hacks[c.name].why) if c.name in hacks else c for c in kept]
        for rollout in self.rollouts:
            if rollout.id in hacks and rollout.id not in {c.name for c in after}:
                try:
                    after.append(attack(self.plan, rollout, hacks[rollout.id].why))
                except AskfirstError as error:
                    print(f"the mark is kept, but it becomes no attack: {error}")
        if tuple(after) != before:
            write_cases(self.run.hacks, after)
            ledger.written(self.run, self.run.hacks)


def attack(plan: Plan, rollout: Read, why: str) -> Case:
    """A rollout as an attack that must not pass, and must earn less than it did.

    Raises InputError where plan and environment no longer make its scenario.
    """
    found: Sequence[Any] = ()
    try:
        arm, seed = variant_parts(rollout.variant)
    except ValueError:
        arm, seed = "", 0
    if arm in {point.name for point in plans.points(plan)}:
        env = generated.environment(plan)
        found = drawable(env, plans.arm_plan(plan, arm), seed, rollout.step - 1)
    scenario = next((s for s in found if s.id == rollout.scenario), None)
    if scenario is None:
        raise InputError(f"the plan does not make scenario {reading.visible(rollout.scenario)} here", where=rollout.id)
    total = rollout.score.total
    cap = min(THRESHOLD, total / 2) if total > 0 else total
    single = getattr(env, "MAX_TURNS", 0) == 1
    said = rollout.reply if single else rollout.replies
    return Case(rollout.id, "read", scenario, said, cap, why, "" if single else plan.env.name)


def shown(rollout: Read, mark: Mark | None) -> list[str]:
    """A rollout as lines for a terminal. What a model wrote stands behind a bar and cannot pass for anything else."""
    score = rollout.score
    terms = " + ".join(f"{name} {value:g}" for name, value in score.terms.items())
    verdict = "passed" if score.passed else f"failed: {', '.join(score.failures)}"
    lines = ["", _one_line(f"{rollout.variant} step {rollout.step} · {rollout.family} · {rollout.stratum}")]
    lines += _barred("request", rollout.request)
    for message in rollout.dialogue:
        lines += _barred("reply" if message.role == "assistant" else message.role, message.content)
    lines.append(_one_line(f"score {score.total:g} = {terms} · {verdict}"))
    if mark is not None:
        lines.append(_one_line(f"marked {mark.mark} by {mark.reader}{': ' * bool(mark.why)}{mark.why}"))
    return lines


def _barred(name: str, text: str) -> list[str]:
    first, *rest = reading.visible(text).split("\n")
    return [f"{_one_line(name)[:8]:<8} │ {first}", *(f"{'':<8} │ {line}" for line in rest)]


def _one_line(text: str) -> str:
    return reading.visible(text).replace("\n", "\\n")


def _tell(rollouts: Sequence[Read], marked: Mapping[str, Mark], *, as_json: bool) -> None:
    found = reading.count(rollouts, marked)
    if as_json:
        lines = [{"rollout": r.id, "total": r.score.total, "mark": marked.get(r.id)} for r in rollouts]
        print(json.dumps(plain({**plain(found), "rollouts": lines}), ensure_ascii=False))
        return
    for rollout in rollouts:
        mark = marked.get(rollout.id)
        print(f"{mark.mark if mark else '–':<5} {rollout.score.total:g}  {_one_line(rollout.reply)}")
    print(found)


def _key() -> str | None:
    """One key of a person at a terminal, and for a hack the reason."""
    try:
        key = str(typer.getchar())
    except EOFError:
        return None
    if key.lower() != "h":
        return key
    try:
        return f"h {input(f'why (Enter: {DEFAULT_WHY}): ')}"
    except EOFError:
        return "h"


def _line() -> str | None:
    """The next line that is not blank: a key, and for a hack the reason behind it."""
    return next((line.strip() for line in sys.stdin if line.strip()), None)
