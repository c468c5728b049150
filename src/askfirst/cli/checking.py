"""`askfirst check`: plugins against their contracts, rewards against their attacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from askfirst import mutation, plugins, redteam
from askfirst.cases import Case, read_cases, write_cases
from askfirst.cli import judging, pairing, scoring
from askfirst.contracts import advantages, envs, losses
from askfirst.contracts.laws import Tried
from askfirst.contracts.selftest import SelfTestReport, write_record
from askfirst.errors import AskfirstError, GateFailed, InputError
from askfirst.judging.audit import Audit
from askfirst.redteam import episodes
from askfirst.replies import SAID
from askfirst.store import plain
from askfirst.values import GateResult, GateStatus

CHECKED = ("envs", "rewards", "advantages", "losses", "judges")


@dataclass(frozen=True, slots=True)
class Files:
    """Files that rewards are held against beside their own cases: attacks, and preference pairs."""

    attacks: tuple[Path, ...] = ()
    pairs: tuple[Path, ...] = ()
    model: str = ""  # that speaks for a judge


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one plugin; of a reward also its self-test, the laws, the files of pairs as it sees them, and
    the ladder of policies; of a judge its audit."""

    kind: str
    name: str
    holds: bool
    words: str
    report: SelfTestReport | None = None
    laws: tuple[Tried, ...] = ()
    pairs: tuple[pairing.PairsOf, ...] = ()
    ladder: str = ""
    audit: Audit | None = None

    def record(self) -> dict[str, Any]:
        """As JSON types."""
        found: dict[str, Any] = {"kind": self.kind, "name": self.name, "holds": self.holds, "words": self.words}
        if self.report is not None:
            found["report"] = plain(self.report)
        if self.audit is not None:
            found["audit"] = judging.record(self.audit)
        if self.laws:
            found["laws"] = [scoring.law_record(each) for each in self.laws]
        if self.ladder:
            found["ladder"] = self.ladder
        if self.pairs:
            found["pairs"] = [one.record() for one in self.pairs]
        return found

    def lines(self) -> Iterator[str]:
        """As lines for people."""
        yield f"{'✓' if self.holds else '✗'} {self.kind}/{self.name}: {self.words}"
        if self.report is not None:
            yield from scoring.rates(self.report)
        if self.audit is not None:
            yield from judging.lines(self.audit)
        if self.ladder:
            yield f"    ladder           {self.ladder}"
        yield from scoring.exceptions(self.laws)
        yield from (line for one in self.pairs for line in one.lines())


def check(kind: str | None, name: str | None, files: Files, *, as_json: bool) -> None:
    """Check one plugin, one kind, or everything; exit 1 when one does not hold."""
    if kind is not None and kind not in CHECKED:
        raise InputError(f"no contract is checked here for {kind!r}", hint=f"choose one of: {', '.join(CHECKED)}")
    if files.model and kind != "judges":
        raise InputError(f"a model speaks for judges, not for {kind or 'everything'}")
    if (files.attacks or files.pairs) and kind not in {None, "rewards"}:
        raise InputError(f"attacks and pairs are for rewards, not for {kind}")
    more = tuple(case for path in files.attacks for case in _attacks(path))
    pairs = pairing.read(files.pairs)
    results = [
        _reward(plugin, more, pairs) if each == "rewards" else _plugin(each, plugin, files.model)
        for each in ([kind] if kind else CHECKED)
        for plugin in ([name] if name else plugins.names(each))
    ]
    if as_json:
        print(json.dumps([result.record() for result in results]))
    else:
        console = Console(highlight=False, soft_wrap=True)
        for line in (line for result in results for line in result.lines()):
            console.print(line, markup=False)
    if not all(result.holds and all(one.holds for one in result.pairs) for result in results):
        raise SystemExit(1)


def _attacks(path: Path) -> tuple[Case, ...]:
    found = read_cases(path)
    if not found:
        raise InputError("there are no attacks in it", where=str(path))
    return found


def _plugin(kind: str, name: str, model: str) -> Result:
    if kind == "judges":
        holds, words, audit = judging.check(name, model)
        return Result(kind, name, holds, words, audit=audit)
    module = plugins.load(kind, name)
    try:
        match kind:
            case "envs":
                envs.check(module)
            case "advantages":
                advantages.check(module)
            case _:
                losses.check(module)
    except AskfirstError as error:
        return Result(kind, name, False, str(error))
    return Result(kind, name, True, "the contract holds")


def _reward(name: str, more: tuple[Case, ...], pairs: pairing.PairFiles) -> Result:
    found, judged = scoring.check(name, more), pairing.judged(name, pairs)
    words = "; ".join(found.broken[:3]) or found.words
    return Result("rewards", name, not found.broken, words, found.report, found.laws, judged, found.ladder)


def require_green(result: GateResult) -> None:
    """Raise GateFailed unless the self-test passed: no number is made with a broken reward."""
    if result.status is not GateStatus.PASSED:
        raise GateFailed(f"self-test: {result.reason}")


@dataclass(frozen=True, slots=True)
class Attack:
    """What a red team is to do; without `env`, on the scenarios that the reward is for."""

    reward: str
    env: str | None
    budget: int
    seed: int
    out: Path


def attack(given: Attack, *, as_json: bool) -> None:
    """Search, show what is found as it is found, and write it as an attack file; exit 1 when there is any."""
    module = plugins.load("rewards", given.reward)
    name = str(given.env or getattr(module, "ENV", "judgment"))
    env = plugins.load("envs", name)
    whole = episodes.plays(env)
    panel = episodes.panel(env, given.seed) if whole else redteam.panel(env, given.seed)
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    found: list[redteam.Finding | episodes.Finding] = []
    with Progress(console=console, disable=as_json, transient=True) as bar:
        task = bar.add_task(f"{given.reward}: nothing yet", total=given.budget)

        def tell(spent: int, count: int) -> None:
            bar.update(task, completed=spent, description=f"{given.reward}: {count or 'nothing'} found")

        search = episodes.search if whole else redteam.search
        for finding in search(module, panel, given.budget, given.seed, progress=tell):
            found.append(finding)
            write_cases(given.out, [each.case() for each in found])  # at once: a search may be stopped
            _show(finding, as_json)
    again = f"askfirst redteam {given.reward} --env {name} --budget {given.budget} --seed {given.seed}"
    if as_json:
        print(json.dumps({"found": len(found), "file": str(given.out) if found else None, "again": again}))
    elif found:
        print(f"{len(found)} found, written to {given.out}\nagain: {again}")
        print(f"held against it from now on: askfirst check rewards {given.reward} --attacks {given.out}")
    else:
        print(f"nothing found in {given.budget} evaluations (seed {given.seed}, {len(panel)} scenarios)")
    if found:
        raise SystemExit(1)


def _show(finding: redteam.Finding | episodes.Finding, as_json: bool) -> None:
    requests = [scenario.opening[-1].content.rpartition(SAID)[2] for scenario in finding.scenarios]
    case = finding.case()
    line = {"reply": case.reply, "requests": requests, "why": finding.why, "evaluations": finding.evaluations}
    if as_json:
        print(json.dumps(line), flush=True)  # replies may hold halves of characters, which no stream can be given
    else:
        shown = [("reply  ", reply) for reply in case.replies] + [("request", request) for request in requests]
        print(finding.why, *(f"  {word}  {pairing.printable(text)}" for word, text in shown), sep="\n", flush=True)


@dataclass(frozen=True, slots=True)
class MutationFiles:
    """Reasons why mutants are the same reward, and the record to write."""

    reasons: Path | None
    out: Path | None


def mutate(reward: str, files: MutationFiles, jobs: int, *, as_json: bool) -> None:
    """Try every mutant of a reward; print those that the self-test does not notice, and exit 1 when there are any."""
    module = plugins.load("rewards", reward)
    before, total = mutation.record(module, (), files.reasons), len(mutation.mutants(module))
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    with Progress(console=console, disable=as_json, transient=True) as bar:
        task = bar.add_task(reward, total=total)
        alive = mutation.survivors(module, jobs, lambda event: bar.advance(task), lambda: False)
    left, stale = mutation.split_by_reasons(alive, files.reasons)
    if files.out is not None:
        found = mutation.record(module, alive, files.reasons)
        if (found.source, found.corpus) != (before.source, before.corpus):
            raise InputError("the reward was edited while its mutants were tried: nothing is recorded", where=reward)
        write_record(files.out, found)
    if as_json:
        print(json.dumps({"mutants": total, "survivors": [m.at for m in left], "stale_reasons": stale}))
    else:
        for mutant in left:
            print(f"survives  {mutant.at}")
        for at in stale:
            print(f"no longer survives, take its reason out  {at}")
        print(f"{total} mutants of {reward}: {total - len(alive)} killed, {len(alive) - len(left)} the same reward")
    if left or stale:
        raise SystemExit(1)
