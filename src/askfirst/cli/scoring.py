"""A reward against everything that is asked of it: its cases, the laws, long replies, another process, habits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.cases import Case
from askfirst.cli import apart
from askfirst.contracts import laws, limits, policies, rewards
from askfirst.contracts.envs import SPLITS
from askfirst.contracts.selftest import Rate, SelfTestReport
from askfirst.errors import AskfirstError, RewardFault
from askfirst.rollout import EMPTY

HABITS_SEEN = 240  # scenarios
LAW_SUBJECTS = 200  # that each law is tried on
HASH_SEED = 1  # of the other process; a person's own is nearly always random


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found about a reward; no `broken` is green. `report` is that of its self-test, where that ran; `ladder`
    what the policies earn that must come in order."""

    broken: tuple[str, ...]
    words: str
    report: SelfTestReport | None = None
    laws: tuple[laws.Tried, ...] = ()
    ladder: str = ""


def check(name: str, more: Sequence[Case]) -> Checked:
    """Hold a reward against its cases and `more` attacks, and where these hold against the rest."""
    module, report = plugins.load("rewards", name), None
    try:
        report = rewards.self_test(module, EMPTY, more)
        if report.broken:
            return Checked(report.broken, "", report)
        habits, ladder, known = _habits(module)
        tried = laws.survey(module, known, LAW_SUBJECTS)
        broken = [*laws.faults(module, tried), *limits.slow(module), *_promises(module)]
        elsewhere = apart.fingerprints([name], HASH_SEED, backwards=True)[name]
    except AskfirstError as error:
        return Checked((str(error),), "", report)
    if elsewhere != rewards.fingerprint(module):
        broken.append("its cases score differently in another process, from last to first and with another hash seed")
    words = f"{report.attacks} attacks held, {report.honest} honest passed; {_kept(tried)}; {habits}"
    return Checked(tuple(broken), words, report, tried, ladder)


def rates(report: SelfTestReport) -> Iterator[str]:
    """What a self-test says of cases that deviate and of mutants, a line each."""
    for word, rate, what in (
        ("false positives", report.false_positives, "attacks above their cap"),
        ("false negatives", report.false_negatives, "honest cases below their floor"),
    ):
        yield f"    {word}  {rate.words(what) if isinstance(rate, Rate) else rate}"
    yield f"    mutants          {report.mutants}"


def exceptions(tried: Sequence[laws.Tried]) -> Iterator[str]:
    """The laws that a reward does not keep by its own word, a line each."""
    for each in tried:
        if each.exception:
            broken = f"law {each.law!r}, broken in {len(each.breaches)} of {each.count}"
            yield f"    excepted         {broken}: {each.exception}"


def law_record(each: laws.Tried) -> dict[str, Any]:
    """A law that was tried, as JSON types."""
    return {"law": each.law, "tried": each.count, "broken": len(each.breaches), "exception": each.exception}


def _kept(tried: Sequence[laws.Tried]) -> str:
    used = [each for each in tried if each.count]
    if not used:
        return "no law tried"
    idle = ", ".join(each.law for each in tried if not each.count)
    return f"{sum(not each.breaches for each in used)} of {len(used)} laws kept" + (
        f" (not tried: {idle})" if idle else ""
    )


def _promises(reward: ModuleType) -> Iterator[str]:
    """Where a reward that states caps for habits (`CAPS`) pays one more, or honesty less than in full, by split."""
    caps = getattr(reward, "CAPS", None)
    if caps is None:
        return
    env = plugins.load("envs", getattr(reward, "ENV", "judgment"))
    for split in SPLITS:
        drawn = env.scenarios(split, HABITS_SEEN, 1)
        try:
            policies.earns_in_full(reward, env, drawn)
            policies.keeps_caps(policies.earnings(reward, env, drawn), caps, env.habits())
        except RewardFault as fault:
            yield f"{split}: {fault}"


def _habits(reward: ModuleType) -> tuple[str, str, Sequence[laws.Subject]]:
    """What honesty earns on train requests, and which other habit earns most; the ladder; what laws are tried on."""
    env = plugins.load("envs", getattr(reward, "ENV", "judgment"))
    attacks, honest = rewards.cases(reward)
    own = [(case.scenario, case.replies[0]) for case in (*attacks, *honest) if not case.env]  # a law is for one reply
    drawn = env.scenarios("train", HABITS_SEEN, 0)
    try:
        found = policies.earnings(reward, env, drawn)
    except RewardFault as fault:  # its cases held: it is for another protocol than this environment's
        return f"habits not measured: {fault.message}", "", own
    best = policies.best_habit(found)
    words = f"honesty earns {found[0].mean:.2f}, the best other habit {best.mean:.2f} ({best.policy})"
    return words, policies.ladder(found), [*own, *laws.subjects(env, drawn)]
