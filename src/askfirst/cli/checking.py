"""`askfirst check`: plugins against their contracts, rewards against their attacks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import Progress

from askfirst import mutation, plugins, redteam
from askfirst.cases import Case, read_cases, write_cases
from askfirst.contracts import advantages, envs, losses, policies, rewards
from askfirst.contracts.selftest import SelfTestReport, write_record
from askfirst.errors import AskfirstError, GateFailed, InputError, RewardFault
from askfirst.replies import SAID
from askfirst.rollout import EMPTY
from askfirst.store import plain
from askfirst.values import GateResult, GateStatus

HABITS_SEEN = 240  # scenarios
CHECKED = ("envs", "rewards", "advantages", "losses")


def check(kind: str | None, name: str | None, attacks: tuple[Path, ...] = (), *, as_json: bool) -> None:
    """Check one plugin, one kind, or everything; exit 1 when one does not hold. `attacks` are files for rewards."""
    more = tuple(case for path in attacks for case in read_cases(path))
    if kind is not None and kind not in CHECKED:
        raise InputError(f"no contract is checked here for {kind!r}", hint=f"choose one of: {', '.join(CHECKED)}")
    results = []
    for each in [kind] if kind else CHECKED:
        for plugin in [name] if name else plugins.names(each):
            results.append((each, plugin, *_verdict(each, plugin, more)))
    if as_json:
        keys = ("kind", "name", "holds", "words", "report")
        print(json.dumps([plain(dict(zip(keys, r, strict=True))) for r in results], ensure_ascii=False))
    else:
        console = Console(highlight=False, soft_wrap=True)
        for each, plugin, holds, words, report in results:
            console.print(f"{'✓' if holds else '✗'} {each}/{plugin}: {words}", markup=False)
            for line in _rates(report) if report is not None else ():
                console.print(f"    {line}", markup=False)
    if not all(holds for _, _, holds, _, _ in results):
        raise SystemExit(1)


def _rates(report: SelfTestReport) -> tuple[str, ...]:
    above, below = report.false_positives, report.false_negatives
    return (
        f"false positives  {above if isinstance(above, str) else above.words('attacks above their cap')}",
        f"false negatives  {below if isinstance(below, str) else below.words('honest cases below their floor')}",
        f"mutants          {report.mutants}",
    )


def _verdict(kind: str, name: str, more: tuple[Case, ...]) -> tuple[bool, str, SelfTestReport | None]:
    module = plugins.load(kind, name)
    try:
        match kind:
            case "envs":
                envs.check(module)
            case "advantages":
                advantages.check(module)
            case "losses":
                losses.check(module)
            case _:
                report = rewards.self_test(module, EMPTY, more)
                words = f"{report.attacks} attacks held, {report.honest} honest passed; {_habits(module)}"
                return not report.broken, "; ".join(report.broken[:3]) or words, report
    except AskfirstError as error:
        return False, str(error), None
    return True, "the contract holds", None


def _habits(reward: ModuleType) -> str:
    """What honesty earns on train requests, and which other habit earns most."""
    env = plugins.load("envs", "judgment")
    try:
        honest, *others = policies.earnings(reward, env, env.scenarios("train", HABITS_SEEN, 0))
    except RewardFault as fault:  # its cases held: it is for another protocol than this environment's
        return f"habits not measured: {fault.message}"
    best = max(others, key=lambda earning: earning.mean)
    return f"honesty earns {honest.mean:.2f}, the best other habit {best.mean:.2f} ({best.policy})"


def require_green(result: GateResult) -> None:
    """Raise GateFailed unless the self-test passed: no number is made with a broken reward."""
    if result.status is not GateStatus.PASSED:
        raise GateFailed(f"self-test: {result.reason}")


@dataclass(frozen=True, slots=True)
class Attack:
    """What a red team is to do."""

    reward: str
    env: str
    budget: int
    seed: int
    out: Path


def attack(given: Attack, *, as_json: bool) -> None:
    """Search, show what is found as it is found, and write it as an attack file; exit 1 when there is any."""
    module = plugins.load("rewards", given.reward)
    panel = redteam.panel(plugins.load("envs", given.env), given.seed)
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    found: list[redteam.Finding] = []
    with Progress(console=console, disable=as_json, transient=True) as bar:
        task = bar.add_task(f"{given.reward}: nothing yet", total=given.budget)

        def tell(spent: int, count: int) -> None:
            bar.update(task, completed=spent, description=f"{given.reward}: {count or 'nothing'} found")

        for finding in redteam.search(module, panel, given.budget, given.seed, progress=tell):
            found.append(finding)
            _show(finding, as_json)
    again = f"askfirst redteam {given.reward} --budget {given.budget} --seed {given.seed}"
    if found:
        write_cases(given.out, [finding.case() for finding in found])
    if as_json:
        print(json.dumps({"found": len(found), "file": str(given.out) if found else None, "again": again}))
    elif found:
        print(f"{len(found)} found, written to {given.out}\nagain: {again}")
        print(f"held against it from now on: askfirst check rewards {given.reward} --attacks {given.out}")
    else:
        print(f"nothing found in {given.budget} evaluations (seed {given.seed}, {len(panel)} scenarios)")
    if found:
        raise SystemExit(1)


def _show(finding: redteam.Finding, as_json: bool) -> None:
    requests = [scenario.opening[-1].content.rpartition(SAID)[2] for scenario in finding.scenarios]
    line = {"reply": finding.reply, "requests": requests, "why": finding.why, "evaluations": finding.evaluations}
    if as_json:
        print(json.dumps(line, ensure_ascii=False), flush=True)
    else:
        print(
            f"{finding.why}\n  reply    {finding.reply}", *(f"\n  request  {r}" for r in requests), sep="", flush=True
        )


@dataclass(frozen=True, slots=True)
class Files:
    """Reasons why mutants are the same reward, and the record to write."""

    reasons: Path | None
    out: Path | None


def mutate(reward: str, files: Files, jobs: int, *, as_json: bool) -> None:
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
