"""A search over the ranges that a plan declares, by Optuna: every trial is a run with its gates, judged on dev alone.

The sealed split stays shut. What is chosen is written as a plan to freeze, with the search recorded in it: its dev
figure is the best of many, and says less than a run of that plan will.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from askfirst import matrix, planfile
from askfirst import plan as plans
from askfirst.criteria import RangeSection
from askfirst.errors import GateFailed, InputError, NothingSelected, PlanError
from askfirst.events import Event
from askfirst.plan import Plan, plan_hash
from askfirst.runfolder import RunFolder
from askfirst.store import content_hash, held, plain, read_json, seed_from, write_json
from askfirst.values import FrozenMap
from askfirst.variants import Run, pause

STUDY, RECORD, CHOSEN = "search.db", "search.json", "chosen.plan.json"
OUTCOMES = {TrialState.COMPLETE: "selected", TrialState.PRUNED: "nothing to select"}


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting that was tried: its run, and the metric of the checkpoint selected on dev, None where none was."""

    number: int
    set: Mapping[str, Any]
    run: str
    plan_sha256: str
    outcome: str
    value: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Search:
    """search.json: the plan that was searched around, and every trial in order."""

    version: int
    plan_sha256: str
    metric: str
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial | None:
        """The trial of the highest value, the earliest where several are alike; None where nothing was selected."""
        able = [trial for trial in self.trials if trial.value is not None]
        return max(able, key=lambda trial: (trial.value or 0.0, -trial.number)) if able else None


def search(job: Run, count: int) -> Search:
    """Try settings until there are `count` trials, going on with what the folder holds; writes record and plan.

    `job` names the folder of the search; each trial is a run below it. Raises PlanError for a plan without ranges,
    InputError for a folder with another plan's search, and what stops a run other than a gate.
    """
    if job.plan.search is None:
        raise PlanError("the plan declares no range to search", where="search", hint="[[search.range]] names a key")
    root = job.folder.root
    root.mkdir(parents=True, exist_ok=True)
    with held(root):
        if (root / RECORD).is_file() and read_json(root / RECORD)["plan_sha256"] != plan_hash(job.plan):
            raise InputError("the folder holds the search of another plan", where=str(root), hint="--out names another")
        study = _study(job.plan, root)
        while len(found := _record(job.plan, study).trials) < count:
            pause(job)
            _try(job, study, len(found))
            write_json(root / RECORD, _record(job.plan, study))
        result = _record(job.plan, study)
        write_json(root / RECORD, result)
        if result.best is not None:
            write_json(root / CHOSEN, chosen(job.plan, result))
        return result


def setting(plan: Plan, values: Mapping[str, Any]) -> Plan:
    """The plan with the keys of a trial set, and no ranges. Raises PlanError for what no plan may say."""
    document = plain(plan.model_dump(mode="json")) | {"search": None}
    for key, value in values.items():
        planfile.put(document, key, value)
    return plans.validate(document, "a trial of the search")


def chosen(plan: Plan, result: Search) -> dict[str, Any]:
    """The document of the plan to freeze: the best setting, the ranges, and which search it comes from.

    Raises NothingSelected where no trial had a checkpoint to select.
    """
    best = result.best
    if best is None:
        raise NothingSelected("no trial had a checkpoint that the plan's selection allows")
    document = plain(setting(plan, best.set).model_dump(mode="json"))
    found = {
        "record_sha256": content_hash(result),
        "trials": len(result.trials),
        "trial": best.number,
        "metric": result.metric,
        "value": best.value,
    }
    assert plan.search is not None
    document["search"] = {**plain(plan.search.model_dump(mode="json")), "found": found}
    plans.validate(document, CHOSEN)
    return dict(document)


def _study(plan: Plan, root: Path) -> Any:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(f"sqlite:///{(root / STUDY).resolve()}")
    return optuna.create_study(storage=storage, study_name=plan_hash(plan), direction="maximize", load_if_exists=True)


def _try(job: Run, study: Any, number: int) -> None:
    """One trial, begun anew or, where a kill cut it short, gone on with in its own run folder."""
    # A sampler of each trial's own: a search that was stopped goes on with the numbers of one that was not.
    study.sampler = optuna.samplers.TPESampler(seed=seed_from("search", plan_hash(job.plan), number) % 2**32)
    running = [each for each in study.get_trials(deepcopy=False) if each.state is TrialState.RUNNING]
    trial = optuna.trial.Trial(study, running[0]._trial_id) if running else study.ask()
    assert job.plan.search is not None
    values = {each.key: _suggest(trial, each) for each in job.plan.search.range}
    job.listen(Event("watch", text=f"trial {number}: " + ", ".join(f"{key} = {each}" for key, each in values.items())))
    try:
        own = setting(job.plan, values)
    except PlanError as error:
        _tell(study, trial, None, str(error))
        return
    trial.set_user_attr("plan_sha256", plan_hash(own))
    run = replace(job, plan=own, folder=RunFolder(job.folder.root / _folder(number)))
    try:
        selected = matrix.explore(run)
    except (GateFailed, NothingSelected) as no:
        _tell(study, trial, None, no.message)
    else:
        _tell(study, trial, selected.value, selected.name)


def _tell(study: Any, trial: Any, value: float | None, reason: str) -> None:
    trial.set_user_attr("reason", reason)
    study.tell(trial, value, TrialState.COMPLETE if value is not None else TrialState.PRUNED)


def _folder(number: int) -> str:
    return f"trials/trial-{number:04d}"


def _suggest(trial: Any, each: RangeSection) -> Any:
    if each.choices:
        return trial.suggest_categorical(each.key, list(each.choices))
    whole = isinstance(each.low, int) and isinstance(each.high, int)
    draw: Callable[..., Any] = trial.suggest_int if whole else trial.suggest_float
    return draw(each.key, each.low, each.high, log=each.log)


def _record(plan: Plan, study: Any) -> Search:
    done = [each for each in study.get_trials(deepcopy=False) if each.state.is_finished()]
    trials = tuple(_trial(each) for each in sorted(done, key=lambda each: each.number))
    return Search(1, plan_hash(plan), plan.selection.metric, trials)


def _trial(each: FrozenTrial) -> Trial:
    told = each.user_attrs
    return Trial(
        number=each.number,
        set=FrozenMap(dict(sorted(each.params.items()))),
        run=_folder(each.number),
        plan_sha256=str(told.get("plan_sha256", "")),
        outcome=OUTCOMES[each.state],
        value=each.value if each.state is TrialState.COMPLETE else None,
        reason=str(told.get("reason", "")),
    )
