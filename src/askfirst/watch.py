"""A run under its monitors: what they say of a step and of an evaluation, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.contracts.reported import beside, modules, oracle_of
from askfirst.contracts.rewards import cases
from askfirst.contracts.selftest import corpus_hash, scorer_hash
from askfirst.errors import GateFailed
from askfirst.events import Event, Listener
from askfirst.metrics import DevMetrics, StepRecord, agreements, halves, terms_of_items
from askfirst.monitors import Seen, judge, told
from askfirst.plan import Plan
from askfirst.redteam.replay import replay
from askfirst.rollout import MAX_TURNS, Batch, Scorer, Stage
from askfirst.store import plain
from askfirst.values import EvalRecord, FrozenMap, Scenario

Record = Mapping[str, Any]


def watched(plan: Plan, batch: Batch, record: StepRecord, before: Sequence[Record]) -> StepRecord:
    """A step's record with its monitors and alarms; `before` are the records of the steps before it."""
    rollouts = [r for g in batch.groups for r in g.rollouts]
    values, alarms = judge(plan.monitor, "step", Seen(rollouts, [*before, plain(record)]))
    return replace(record, monitors=values, alarms=alarms)


def probed(
    stage: Stage, record: EvalRecord, scenarios: Sequence[Scenario], scorer: Scorer, batch: Batch | None = None
) -> EvalRecord:
    """The record with its passing replies, and those of a training batch, replayed where they should not pass.

    Only where an episode is a single reply: elsewhere a reply may hold what it was told on the way.
    """
    if getattr(stage.env, "MAX_TURNS", MAX_TURNS) != 1:
        return record
    passing = [(s, i.reply) for s, i in zip(scenarios, record.items, strict=True) if i.passed]
    rollouts = [r for g in batch.groups for r in g.rollouts] if batch else []
    passing += [(r.scenario, r.trajectory.reply) for r in rollouts if r.score.passed]
    return replace(record, probes=replay(scorer, passing, scenarios, record.checkpoint, record.split))


def entry_of(
    plan: Plan, start: FrozenMap, record: EvalRecord, steps: Sequence[Record], before: Sequence[Record]
) -> Record:
    """What a checkpoint's entry in the manifest says of its evaluation, with monitors and alarms.

    `start` are the hashes of the rewards at the run's start, `steps` the records of all steps up to here and `before`
    the entries of earlier checkpoints.
    """
    since = before[-1]["step"] if before else 0
    own, oracle = [line for line in steps if line["step"] > since], oracle_of(plan)
    dev, reward = DevMetrics.of(record), _mean(own, "reward")
    entry: dict[str, Any] = {
        "step": record.step,
        "informative_fraction": _mean(own, "informative_fraction"),
        "dev": dev,
        "reward": reward,
        "proxy_gap": reward - dev["strict_pass"],
        "terms": terms_of_items(record, oracle),
        "agreement": agreements(record, oracle),
        "halves": halves(record, plan.selection.metric),
        "probes": plain(record.probes),
        "scorer_changed": changed(start, scorer_hashes(plan)),
    }
    values, alarms = judge(plan.monitor, "evaluation", Seen((), steps, [*before, entry]))
    return {**entry, "monitors": values, "alarms": alarms}


def scorer_hashes(plan: Plan) -> FrozenMap:
    """Hashes of source and cases of every reward that the plan computes, by name and part."""
    own = (plan.reward.name, FrozenMap(plan.reward.params))
    found = {}
    for module, params in modules([own, *((name, FrozenMap()) for name in beside(plan))]):
        name = plugins.name_of(module)
        found[f"{name} source"] = _source(module, params)
        found[f"{name} corpus"] = corpus_hash(case for each in cases(module, params) for case in each)
    return FrozenMap(found)


def _source(module: ModuleType, params: Mapping[str, Any]) -> str:
    try:
        return scorer_hash(module, params)
    except (OSError, SyntaxError, UnicodeDecodeError) as error:  # being edited: changed, as far as this run can tell
        return f"unreadable: {type(error).__name__}"


def changed(start: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is there on one side only or differs, sorted."""
    return sorted(name for name in {*start, *now} if start.get(name) != now.get(name))


def tell(plan: Plan, name: str, record: Record, before: Sequence[Record], listen: Listener) -> None:
    """A warning for every alarm of a record that the record before it did not have."""
    known = before[-1]["alarms"] if before else ()
    for section in plan.monitor:
        if section.name in record["alarms"] and section.name not in known:
            value = record["alarms"][section.name]
            words = f"step {record['step']}: {told(section, value)}"
            listen(
                Event(
                    "warning",
                    name,
                    words,
                    FrozenMap(
                        {"monitor": section.name, "step": record["step"], "value": value, "action": section.action}
                    ),
                )
            )


def halt(plan: Plan, name: str, record: Record, kept: str) -> None:
    """Raise GateFailed when a monitor that may stop the run is outside its bounds in a record. `kept`: the evidence."""
    stops = [s for s in plan.monitor if s.action == "stop" and s.name in record["alarms"]]
    if stops:
        words = "; ".join(told(s, record["alarms"][s.name]) for s in stops)
        raise GateFailed(
            f"stopped by a monitor at step {record['step']}: {words}",
            where=name,
            hint=f"the evidence is kept in {kept}",
        )


def _mean(records: Sequence[Record], key: str) -> float:
    return float(sum(line[key] for line in records) / len(records))
