"""`askfirst eval --endpoint`: a model behind an OpenAI-compatible server on fixture folders or a generated split."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from askfirst import gates, ledger, plugins
from askfirst.cli import evaluating
from askfirst.cli.checking import require_green
from askfirst.cli.evaluating import (
    EndpointSettings,
    Settings,
    Where,
    as_summary,
    plan_around,
    scenario_sets,
    settings,
    show,
)
from askfirst.errors import InputError
from askfirst.evaluate import Label, at_temperature
from askfirst.evaluate import evaluate as run_evaluation
from askfirst.exports.inspect_log import Known, write_one
from askfirst.policy import Sampling
from askfirst.rollout import EMPTY, Draw, Scorer, Stage, trajectories
from askfirst.store import content_hash, held, plain, sweep, write_json
from askfirst.values import EvalRecord, Scenario, StopReason

EXTRA = "pip install 'askfirst[endpoint]'"
ANSWERS = "answers.jsonl"
ENDINGS = (".json", ".summary.json", ".eval")  # of what an evaluation leaves in its folder


@dataclass(slots=True)
class Progress:
    """A line on standard error, for people at a terminal only: what is done of a split, and about how long it takes."""

    split: str
    episodes: int
    quiet: bool
    single: bool  # whether an answer is an episode
    began: float = field(default_factory=time.monotonic)
    answers: int = 0
    share: float = 0.0

    def answered(self, count: int) -> None:
        """Another answer came; `count` are kept by now."""
        self.answers += 1
        if self.single:
            self.share = max(self.share, min(1.0, self.answers / self.episodes))
        self._say()

    def items(self, done: int, total: int) -> None:
        """Items are done."""
        self.share = max(self.share, done / total)
        self._say()

    def line(self, seconds: float) -> str:
        """The line after so many seconds."""
        left = f", about {waiting(seconds * (1 - self.share) / self.share)} left" if 0 < self.share < 1 else ""
        return (
            f"{self.split} {self.share:4.0%}  {self.answers} answers, {self.answers / max(seconds, 1e-9):.1f}/s{left}"
        )

    def _say(self) -> None:
        console = Console(stderr=True)
        if not self.quiet and console.is_terminal:
            line = self.line(time.monotonic() - self.began)
            console.print(f"{line:<78}", end="\n" if self.share == 1 else "\r", markup=False, highlight=False)


def waiting(seconds: float) -> str:
    """A duration as people say it."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def target_of(url: str, model: str, settings: EndpointSettings) -> Any:
    """What is asked. The key is read here and goes no further than into requests.

    Raises InputError without the packages, for an address that is none, and for a variable that is not there.
    """
    try:
        from askfirst.backends.openai import Target
    except ModuleNotFoundError as error:
        raise InputError(f"an endpoint needs the package {error.name}", hint=EXTRA) from error
    key = os.environ.get(settings.key_from, "") if settings.key_from else ""
    if settings.key_from and not key.strip():
        raise InputError("the variable is not set, or empty", where=f"endpoint.key_from={settings.key_from}")
    how = {name: getattr(settings, name) for name in ("concurrency", "timeout_seconds", "tries", "thinking_tokens")}
    return Target(url.rstrip("/"), model, key.strip(), **how)


def evaluate_named(model: str, of: Sequence[str], where: Where, sets: Sequence[str], *, as_json: bool) -> None:
    """Evaluate a model as opened, one of its checkpoints, or what an endpoint serves under its name."""
    if len(of) > 1:
        raise InputError("give one --checkpoint or one --endpoint", where=", ".join(of))
    if of and of[0].startswith(("http://", "https://")):
        evaluate(of[0], model, where, settings(sets), as_json=as_json)
        return
    checkpoint = Path(of[0]) if of else None
    evaluating.evaluate(model, checkpoint, where, settings(sets, plan_around(checkpoint)), as_json=as_json)


def evaluate(url: str, model: str, where: Where, chosen: Settings, *, as_json: bool) -> None:
    """Evaluate and print a table or JSON. Records, answers and Inspect logs stay in a folder; what is there already
    is not asked again.

    Raises BackendFault where the server does not answer everything: there is no score of a part.
    """
    if any(suite.is_file() for suite in where.suites):
        raise InputError("a sealed suite is opened for models that run here, not for an endpoint")
    env = plugins.load("envs", chosen.env)
    sets = scenario_sets(where, chosen, env)
    target = target_of(url, model, chosen.endpoint)
    test, _ = gates.reward_self_test([(chosen.reward, EMPTY)])
    require_green(test)
    stage = Stage(env, env.system_prompt(chosen.system_prompt), Sampling(chosen.max_tokens, chosen.temperature))
    folder = Path(chosen.endpoint.out or Path("evals") / re.sub(r"[^A-Za-z0-9.-]+", "-", model).strip("-."))
    with held(folder):
        sweep(folder)
        made = [_one(target, stage, chosen, each, folder, as_json) for each in sets]
    if as_json:
        bodies = [{**as_summary(r), "usage": usage, "items": plain(r.items)} for r, usage in made]
        print(json.dumps(bodies, ensure_ascii=False))
        return
    for record, usage in made:
        show([record], getattr(env, "HEADLINES", ()))
        print("\n".join(usage_lines(usage)))
    print(f"records   {folder}")


def _one(
    target: Any, stage: Stage, chosen: Settings, of: tuple[str, Sequence[Scenario]], folder: Path, quiet: bool
) -> tuple[EvalRecord, dict[str, Any]]:
    """Evaluate on one split or suite and write its record and its log."""
    from askfirst.backends.openai import Endpoint

    split, drawn = of
    single = getattr(stage.env, "MAX_TURNS", 0) == 1
    for ending in ENDINGS:
        (folder / f"{split}{ending}").unlink(missing_ok=True)  # no score of another time stays beside what is asked now
    progress = Progress(split, len(drawn) * chosen.trials, quiet, single)
    policy = Endpoint(target, folder / ANSWERS, progress.answered)
    label = Label(target.model, "endpoint", split, trials=chosen.trials)
    record = run_evaluation(stage, policy, Scorer.named(chosen.reward), drawn, label, progress.items)
    usage = usage_of(policy.heard)
    # All of it is known by now: this asks for nothing.
    played = trajectories(at_temperature(stage, chosen.trials), policy, drawn, Draw(0, 0, chosen.trials))
    first = [(scenario, episodes[0].messages) for scenario, episodes in zip(drawn, played, strict=True)]
    dialogues = {scenario.id: said[len(stage.prompt(scenario)) :] for scenario, said in first if chosen.trials == 1}
    requests = {scenario.id: scenario.opening[-1].content for scenario in drawn}
    made_with = chosen.model_dump(mode="json", exclude={"endpoint": {"key_from", "out"}})
    summary = {"version": 1, "endpoint": target.url, "settings": made_with, **as_summary(record), "usage": usage}
    recorded, summed, log = (folder / f"{split}{ending}" for ending in ENDINGS)
    write_json(recorded, record)
    metadata = {"arm": "endpoint", "plan_sha256": content_hash(made_with), "endpoint": target.url}
    write_one(log, record, {**metadata, "record_sha256": ledger.file_hash(recorded)}, Known(requests, dialogues))
    write_json(summed, summary)
    return record, usage


def usage_of(heard: Sequence[Any]) -> dict[str, Any]:
    """What answers took: medians, 95th percentiles and totals of seconds and of tokens where the server counts them.

    Raises ValueError for none.
    """
    if not heard:
        raise ValueError("no answer, no usage")
    usage: dict[str, Any] = {"answers": len(heard), "seconds": _spread([a.seconds for a in heard])}
    for name in ("prompt_tokens", "completion_tokens", "thinking_tokens"):
        known = [n for a in heard if (n := getattr(a, name)) is not None]
        usage[name] = _spread(known) if known else None
    usage["thinking_characters"] = _spread([len(a.thinking) for a in heard]) if any(a.thinking for a in heard) else None
    usage["thinking_exhausted"] = sum(a.stop is StopReason.THINKING for a in heard)
    usage["cut_off"] = sum(a.stop is StopReason.LENGTH for a in heard)
    usage["tried_again"] = sum(a.tries > 1 for a in heard)
    return usage


def _spread(values: Sequence[float]) -> dict[str, float]:
    median, high = np.percentile(np.array(values, dtype=np.float64), [50, 95])
    return {"of": len(values), "median": float(median), "p95": float(high), "total": float(sum(values))}


def usage_lines(usage: dict[str, Any]) -> list[str]:
    """Lines for people."""
    words = []
    for name in ("prompt_tokens", "completion_tokens", "thinking_tokens", "thinking_characters"):
        if usage[name]:
            spread = usage[name]
            words.append(f"{name.replace('_', ' ')} {spread['median']:.0f}, p95 {spread['p95']:.0f}")
    counts = [f"{usage[name]} {name.replace('_', ' ')}" for name in ("thinking_exhausted", "cut_off", "tried_again")]
    seconds = usage["seconds"]
    took = f"median {seconds['median']:.2f} s, p95 {seconds['p95']:.2f} s"
    return [
        f"answers   {usage['answers']}: {took}; {', '.join(counts)}",
        f"tokens    {' · '.join(words) or 'the server counts none'}",
    ]
