"""A package of a third party, with an environment of two turns and a reward for it; the records of a finished run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from askfirst import ledger, plugins
from askfirst import plan as plans
from askfirst.decide import verdict
from askfirst.runfolder import RunFolder
from askfirst.selection import POLICY, Selected
from askfirst.store import read_as, write_json, write_lines, write_text
from askfirst.values import EvalRecord, FrozenMap, GateResult, GateStatus, ItemOutcome

ENV = """
from askfirst.values import Act, Ask, FrozenMap, Invalid, Message, Scenario

VERSION, FAMILIES, STRATA, MAX_TURNS, CLEAR_MIX = "1", ("cup",), ("ambiguous", "clear"), 2, {"clear": 1.0}
COLOURS = ("red", "blue", "green")


def scenarios(split, n, seed, strata=None):
    stratum = next(iter(strata or {"ambiguous": 1}))
    return [scenario(f"{split}-{seed}-{stratum}-{i}", stratum, COLOURS[(seed + i) % 3], split) for i in range(n)]


def scenario(name, stratum, colour, split="dev"):
    said = "take the cup" if stratum == "ambiguous" else f"take the {colour} cup"
    opening = (Message("user", said),)
    return Scenario(name, "cup", stratum, split, stratum == "ambiguous", opening, FrozenMap({"colour": colour}))


def start(scenario):
    return scenario.opening


def parse(text):
    return Ask(text) if text.endswith("?") else Act(text) if text else Invalid("nothing said")


def step(scenario, messages):
    said = [m.content for m in messages if m.role == "assistant"]
    asked = len(said) == 1 and said[0].endswith("?")
    return Message("user", f"the {scenario.hidden['colour']} one") if asked else None


def demonstrations(scenario):
    return ()


def system_prompt(name):
    return ""


def habits():
    return {
        "honest": lambda s: ("which one?", s.hidden["colour"]) if s.ambiguous else s.hidden["colour"],
        "guess": lambda s: "red",
        "ask, then ignore": lambda s: ("which one?", "red"),
    }
"""
REWARD = """
from askfirst.cases import Case
from askfirst.values import FrozenMap, Message, Scenario, Score
from pairpkg.words import NO

VERSION, BOUNDS = 1, (0.0, 1.0)


def score(scenario, trajectory, params):
    said = [m.content for m in trajectory.messages if m.role == "assistant"]
    asked = len(said) == 2 and said[0].endswith("?")
    passed = said[-1] == scenario.hidden["colour"] and (asked or not scenario.ambiguous)
    total = float(passed)
    return Score(total, FrozenMap({"pass": total}), passed, () if passed else (NO,), "cups@1")


CUP = Scenario("cup", "cup", "ambiguous", "dev", True, (Message("user", "take the cup"),), FrozenMap({"colour": "red"}))
ATTACKS = (
    Case("guesses", "guess", CUP, "red", 0.0, "never asks", "pairpkg.envs:two"),
    Case("ignores", "ignore", CUP, ("which one?", "blue"), 0.0, "does not listen", "pairpkg.envs:two"),
)
HONEST = (Case("asks", "ask", CUP, ("which one?", "red"), 1.0, "asks and listens", "pairpkg.envs:two"),)
"""


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Gives the environment of the package, after a change to one of its files on disk where one is asked for."""
    root = tmp_path / "pairpkg"
    files = {"envs/two.py": ENV, "rewards/cups.py": REWARD, "words.py": 'NO = "no"\n'}
    for name, body in {"__init__.py": "", "envs/__init__.py": "", "rewards/__init__.py": "", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()

    def edit(name: str = "", old: str = "", new: str = "") -> ModuleType:
        if name:
            text = (root / name).read_text()
            assert text.count(old) == 1, (name, old)
            (root / name).write_text(text.replace(old, new))
        return plugins.load("envs", "pairpkg.envs:two")

    yield edit
    for name in [name for name in sys.modules if name.split(".")[0] == "pairpkg"]:
        del sys.modules[name]


# ---- a finished run, as its records alone

PLAN = Path(__file__).parents[2] / "examples" / "e2e.toml"
STRATA = ("ambiguous", "ambiguous", "out_of_scope", "destructive")
LONG = 6  # steps


def outcome(i: int, passed: bool, reply: str) -> ItemOutcome:
    """Item `i` of an evaluation."""
    return ItemOutcome(
        scenario_id=f"item-{i:02d}",
        family=("missing.content", "several.tab")[i // 4 % 2],
        stratum=STRATA[i % 4],
        passed=passed,
        asked=passed and i % 4 < 2,
        right_intent=True,
        total=float(passed),
        failures=() if passed else ("intent_mismatch",),
        reply=reply,
        terms=FrozenMap({"pass": float(passed)}),
    )


def rollout(step: int, i: int, reply: str) -> dict[str, Any]:
    """A line of the rollouts of a variant."""
    return {
        "version": 1, "step": step, "scenario": f"s-{i}", "family": f"family-{i % 3}", "stratum": STRATA[i % 4],
        "index": 0, "request": f"request {i}", "reply": reply, "stop": "end", "token_ids": [1, 2],
        "dialogue": [{"role": "assistant", "content": reply}], "sampler_logprobs": [-0.5, -2.0],
        "score": {"total": float(i % 2), "terms": {"pass": float(i % 2)}, "passed": bool(i % 2), "failures": [],
                  "reward": "shaped@1(slots@5)"},
    }  # fmt: skip


def step_line(step: int, seed: int) -> dict[str, Any]:
    """A line of the metrics of a variant; seed 1 earns 0.2 more than seed 0."""
    stats = {"rollouts": 40, "reward": 0.5, "strict_pass": step / LONG, "ask_rate": 0.25, "informative_fraction": 0.5}
    return {
        "version": 1, "step": step, "reward": 0.1 + 0.2 * seed, "strict_pass": 0.5, "informative_fraction": 0.5,
        "distinct_question_ratio": None, "faults": 0, "terms": {"pass": {"mean": 0.5}}, "monitors": {}, "alarms": {},
        "strata": {"all_ambiguous": stats, "all_clear": stats, "ambiguous": stats, "action": stats},
        "learning": {"kl_nats": 0.01 * step}, "cost": {"sampled_tokens": 100, "trained_tokens": 0, "seconds": 0.5},
    }  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., RunFolder]:
    """Makes a run folder that holds a finished run: which of 40 sealed items pass `before` and `after`, what the
    policy `says`, and edits of the plan."""

    def make(
        name: str = "run",
        before: Callable[[int], bool] = lambda i: i % 4 > 1,
        after: Callable[[int], bool] = lambda i: True,
        says: str = '{"spokenText": "which one?"}',
        sets: tuple[str, ...] = (),
    ) -> RunFolder:
        run, plan = RunFolder(tmp_path / name), plans.load(PLAN, ("matrix.seeds=[0, 1]", *sets))
        ledger.begin(run.ledger, {"version": 1, "event": "frozen", "plan_sha256": plans.plan_hash(plan)})
        write_json(run.lock, plans.lock(plan, {"rewards/shaped": "0" * 64}, ()))
        gate = GateResult("contamination", GateStatus.PASSED, 0, 0, "none of 40 dev items in 60 training draws")
        write_json(run.gates, {"version": 1, "results": [gate]})
        sides = {
            side: tuple(outcome(i, passes(i), says) for i in range(40))
            for side, passes in (("base", before), ("selected", after))
        }
        for split in ("dev", "sealed"):
            record = EvalRecord(1, "tabular", "base", split, 0, "shaped@1(slots@5)", sides["base"])
            write_json(run.base_evaluation(split), record)
        treated = EvalRecord(1, "tabular", f"anchored/seed-0@{LONG}", "sealed", LONG, record.reward, sides["selected"])
        write_json(run.selected_evaluation("sealed"), treated)
        for arm, seed in (("anchored", 0), ("anchored", 1), ("free", 0), ("free", 1)):
            folder = run.variant(arm, seed)
            write_lines(folder.metrics, [step_line(step, seed) for step in range(1, LONG + 1)])
            dev = replace(treated, split="dev", checkpoint=f"{arm}/seed-{seed}@{LONG}")
            write_json(folder.evaluation("dev", LONG), dev)
            entry = {"step": LONG, "checkpoint": f"checkpoints/step-{LONG:05d}", "dev": {"ambiguous_pass": 0.5}}
            entry |= {"informative_fraction": 0.5, "proxy_gap": 0.1, "probes": None, "monitors": {}, "alarms": {}}
            write_json(folder.manifest, {"version": 1, "entries": [entry]})
            write_lines(folder.best_rollouts, [rollout(LONG, i, says) for i in range(4)])
            write_text(folder.checkpoint(LONG) / "tabular.f64", f"weights of {arm} {seed}")
        checkpoint = f"anchored/seed-0/checkpoints/step-{LONG:05d}"
        write_json(
            run.selected,
            Selected(1, POLICY, "ambiguous_pass", 0.5, "anchored", 0, LONG, checkpoint, "f" * 64, 0.5, 2, 1),
        )
        opening = {"version": 1, "event": "sealed_opened", "number": 1, "checkpoint": checkpoint}
        ledger.append(run.ledger, {**opening, "opened_at": ledger.now()})
        write_json(run.verdict, verdict(plan, treated, {"base": read_as(EvalRecord, run.base_evaluation("sealed"))}, 1))
        ledger.finish(run)
        return run

    return make
