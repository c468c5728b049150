"""The rewards of a run, and whether the run's self-test report speaks for them as their source and cases now stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import judging, plugins
from askfirst.contracts.rewards import cases
from askfirst.contracts.selftest import SelfTestReport, corpus_hash, parts, scorer_hash
from askfirst.errors import GateFailed, PlanError
from askfirst.plan import Plan, arm_plan, resolved, treated
from askfirst.rollout import Scorer
from askfirst.runfolder import RunFolder
from askfirst.sections import RewardSection
from askfirst.store import as_record, read_as, read_json, write_json
from askfirst.values import FrozenMap

VERSION = 2  # of selftest.json
Reward = tuple[str, Mapping[str, Any]]  # by its plugin's name, with its params


@dataclass(frozen=True, slots=True)
class _File:
    """selftest.json."""

    version: int
    reports: tuple[SelfTestReport, ...]


def rewards_of(plan: Plan) -> list[Reward]:
    """Every reward that a run computes: the plan's, those of its arms, and those that judge evaluations beside them."""
    plans = [plan, *resolved(plan).values()]
    found: list[Reward] = [(each.reward.name, FrozenMap(each.reward.params)) for each in plans]
    return [*found, *((name, FrozenMap()) for each in plans for name in beside(each))]


def oracle_of(plan: Plan) -> str:
    """The reward that the plan's environment names as its ORACLE; empty where it names none."""
    return str(getattr(plugins.environment(plan.env.name, plan.env.data, plan.env.families), "ORACLE", ""))


def beside(plan: Plan) -> list[str]:
    """The rewards that judge the plan's evaluations without being trained on: the environment's oracle and the reported
    ones."""
    return [name for name in dict.fromkeys([oracle_of(plan), *plan.reward.report]) if name]


def scorer_of(plan: Plan, folder: Path | None = None) -> Scorer:
    """The plan's reward, with those that judge its evaluations beside it, and the plan's judges. What the models of
    judges say is kept in a folder. Raises PluginError."""
    others = FrozenMap({name: Scorer.named(name) for name in beside(plan)})
    own = Scorer.named(plan.reward.name, plan.reward.params)
    judge, held_out = judging.of_plan(plan.judge, folder)
    return replace(own, beside=others, judge=judge, held_out=held_out)


def is_control(name: str) -> bool:
    """Whether a reward is there to be compared with: it says so itself, and judges nothing."""
    return bool(getattr(plugins.load("rewards", name), "CONTROL", False))


def judge_of(plan: Plan, arm: str) -> RewardSection:
    """The reward that judges what is trained under that name: its own, or the plan's where rewards are an axis of the
    matrix or its own is a control.

    Raises PlanError where the plan's own reward is a control: there would be no judge.
    """
    if is_control(plan.reward.name):
        raise PlanError(
            f"reward {plan.reward.name!r} is a control and judges nothing",
            where="reward",
            hint="name it in matrix.rewards or in an arm; the plan's own reward is the judge",
        )
    own = arm_plan(plan, arm).reward
    return plan.reward if plan.matrix.rewards or is_control(own.name) else own


def selectable(plan: Plan) -> tuple[str, ...]:
    """The names of what selection may choose from: all that the decision is about, but no control."""
    plans = resolved(plan)
    return tuple(name for name in treated(plan) if not is_control(plans[name].reward.name))


def modules(rewards: Sequence[Reward]) -> list[tuple[ModuleType, Mapping[str, Any]]]:
    """The rewards and what they build on, each with its params once. Raises PluginError for an unknown one."""
    found: list[tuple[ModuleType, Mapping[str, Any]]] = []
    for name, params in rewards:
        module, *bases = parts(plugins.load("rewards", name), params)
        wanted = [(module, params), *((base, FrozenMap()) for base in bases)]
        found += [each for each in wanted if each not in found]
    return found


def write_reports(run: RunFolder, reports: Sequence[SelfTestReport]) -> None:
    """Keep what the self-tests before a run found."""
    write_json(run.selftest, _File(VERSION, tuple(reports)))


def selftests(run: RunFolder) -> tuple[SelfTestReport, ...]:
    """The self-test reports of a run; none where there is no file. Raises InputError for one of another version."""
    return read_as(_File, run.selftest).reports if run.selftest.is_file() else ()


def require_reports(run: RunFolder, rewards: Sequence[Reward]) -> None:
    """Raise GateFailed unless a green report of the run speaks for each reward as its source and cases now stand."""
    body = read_json(run.selftest) if run.selftest.is_file() else {}
    if not isinstance(body, dict) or body.get("version") != VERSION:
        raise GateFailed(
            f"there is no self-test report of version {VERSION}, so no reward may be trained on",
            where=str(run.selftest),
            hint="choose another --out folder",
        )
    reports = as_record(_File, body, str(run.selftest)).reports
    for module, params in modules(rewards):
        _require(run, [r for r in reports if r.reward == plugins.name_of(module)], module, params)


def _require(run: RunFolder, own: Sequence[SelfTestReport], module: ModuleType, params: Mapping[str, Any]) -> None:
    name, source = plugins.name_of(module), scorer_hash(module, params)
    corpus = corpus_hash(case for each in cases(module, params) for case in each)
    match = next((r for r in own if (r.source, r.corpus) == (source, corpus)), None)
    if match is None:
        same_source = source in {r.source for r in own}
        tested = sorted({(r.corpus if same_source else r.source)[:12] for r in own})
        raise GateFailed(
            f"the {'cases' if same_source else 'source'} of reward {name!r} changed after its self-test: "
            f"hash {(corpus if same_source else source)[:12]}, tested {', '.join(tested) or 'none'}",
            where=str(run.selftest),
            hint="choose another --out folder, where it is tested anew, or put the reward back as it was",
        )
    if match.broken:
        raise GateFailed(f"the self-test of reward {name!r} is red: {match.broken[0]}", where=str(run.selftest))
