"""`askfirst search`: settings within the ranges of a plan, tried on dev."""

from __future__ import annotations

import json
from pathlib import Path

from askfirst import plan as plans
from askfirst import search as searches
from askfirst.cli.render import Human, json_listener
from askfirst.cli.running import Where, stop_on_interrupt
from askfirst.errors import Interrupted
from askfirst.runfolder import RunFolder
from askfirst.store import plain
from askfirst.variants import Run


def search(plan_file: Path, out: Path, overrides: tuple[str, ...], count: int, where: Where, *, as_json: bool) -> None:
    """Search, print every trial, and say which plan to freeze. Exit 1 where nothing could be selected."""
    plan = plans.load(plan_file, overrides)
    human = None if as_json else Human(plan)
    job = Run(
        plan,
        RunFolder(out),
        plan_file.read_text("utf-8"),
        overrides,
        (),
        json_listener if human is None else human,
        stop_on_interrupt(),
        where.jobs,
        cluster=where.cluster,
    )
    try:
        found = searches.search(job, count)
    except Interrupted as stopped:
        raise Interrupted(stopped.message, hint="the same command goes on") from None
    finally:
        if human is not None:
            human.close()
    if as_json:
        print(json.dumps(plain(found), ensure_ascii=False))
    else:
        for trial in found.trials:
            value = "–" if trial.value is None else f"{trial.value:.3f}"
            words = ", ".join(f"{key} = {_short(each)}" for key, each in trial.set.items())
            print(f"trial {trial.number:<3} {found.metric} {value:<6} {words} · {trial.reason}")
        if found.best is not None:
            print(f"best      trial {found.best.number}, the best of {len(found.trials)} on the same dev items")
            print(f"freeze    askfirst freeze {out / searches.CHOSEN}")
    if found.best is None:
        raise SystemExit(1)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
