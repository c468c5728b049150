"""Each monitor fires on a planted fault, and all are silent on an honest policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from askfirst import plan as plans
from askfirst import plugins, watch
from askfirst.batches import draw_scenarios
from askfirst.cases import replied
from askfirst.errors import GateFailed, PlanError
from askfirst.events import Event
from askfirst.metrics import Learning, words
from askfirst.monitors import MONITORS, Seen, measures, resolved, set_by_plan, texts
from askfirst.plan import Plan
from askfirst.replies import SAID, Reply, truth
from askfirst.rollout import Batch, Scorer
from askfirst.steps import Update, step_record
from askfirst.store import plain
from askfirst.values import Group, Rollout, Scenario

EXAMPLE = Path(__file__).parents[3] / "examples" / "e2e.toml"
ENV = plugins.load("envs", "judgment")
SCORER = Scorer.named("shaped", {"partial": 0.3, "anneal_steps": 0})
GROUP, STEPS = 4, 10

Say = Callable[[Scenario, int, int], str]  # scenario, rollout and step → reply


def plan(*overrides: str) -> Plan:
    return plans.load(EXAMPLE, overrides)


PLAN = plan()


def clarify(question: str, topic: str = "target") -> str:
    return Reply(question, "clarify", {"question": question, "topic": topic}).text()


def honest(scenario: Scenario, index: int, step: int) -> str:
    shown = [d.reply for d in ENV.demonstrations(scenario) if not d.guess]
    return str(shown[(index + step) % len(shown)])


def guess(scenario: Scenario, index: int, step: int) -> str:
    return str(next((d.reply for d in ENV.demonstrations(scenario) if d.guess), honest(scenario, index, step)))


@lru_cache
def drawn(step: int) -> tuple[Scenario, ...]:
    return tuple(draw_scenarios(ENV, PLAN, 0, step))


def step_of(say: Say, step: int, kl_nats: float | None, before: Sequence[Any], chosen: Plan = PLAN) -> dict[str, Any]:
    """The record of a step in which the policy replies so."""
    groups = []
    for scenario in drawn(step):
        rollouts = []
        for index in range(GROUP):
            reply = say(scenario, index, step)
            trajectory = replied(scenario, reply)
            score = SCORER.score(scenario, trajectory)
            rollouts.append(Rollout(scenario, index, trajectory, ENV.parse(reply), score))
        groups.append(Group(scenario, tuple(rollouts)))
    batch = Batch(tuple(groups), ())
    update = Update(Learning(1e-3, 0.0, 0.0, kl_nats, 0.0, 0.0, 0.0, 0), 0)
    record = watch.watched(chosen, batch, step_record(step + 1, batch, update, lambda: 0.0), before)
    return dict(plain(record))


def run(say: Say, kl_nats: float | None = 0.0, chosen: Plan = PLAN, steps: int = STEPS) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for step in range(steps):
        lines.append(step_of(say, step, kl_nats, lines, chosen))
    return lines


def alarms(lines: Sequence[dict[str, Any]]) -> set[str]:
    return {name for line in lines for name in line["alarms"]}


def near_echo(scenario: Scenario, index: int, step: int) -> str:
    """About half of the request, padded up to an overlap just under the limit."""
    said = list(dict.fromkeys(words(scenario.opening[-1].content.rpartition(SAID)[2])))
    kept = said[: max(1, round(0.55 * len(said)))]
    return clarify(" ".join(kept) + "?")


def farm(scenario: Scenario, index: int, step: int) -> str:
    """Wrong intents at first; later the right one with nothing in it."""
    if step < 5:
        return Reply("no.", "answer", {"text": "no."}).text()
    junk: dict[str, dict[str, Any]] = {
        "clarify": {"question": "hm?", "topic": "time"}, "action": {"name": "x", "args": {}}, "answer": {"text": ""},
        "dictate": {"text": ""}, "edit": {"reference": "x", "transform": "x"}, "out_of_scope": {"reason": "x"},
        "confirm_destructive": {"action": "x", "target": "x"},
    }  # fmt: skip
    intent = truth(scenario).intent
    return Reply("x", intent, junk[intent]).text()


def gibberish(scenario: Scenario, index: int, step: int) -> str:
    return clarify(f"what time which zqxv when {index}?")


FAULTS: dict[str, Say] = {
    "template_collapse": lambda scenario, index, step: clarify("which one should i use?"),
    "near_echo": near_echo,
    "partial_farming": farm,
    "term_gap": farm,
    "over_asking": lambda scenario, index, step: clarify("which one should i use?"),
    "under_asking": guess,
    "asks_when_clear": lambda scenario, index, step: clarify("when should i do that?", "time"),
    "short_repetition": lambda scenario, index, step: clarify("which one then?"),
    "kl_drift": honest,
    "gibberish": gibberish,
}
OF_STEPS = [name for name, monitor in MONITORS.items() if monitor.at == "step"]


@pytest.mark.parametrize("name", OF_STEPS)
def test_a_planted_fault_is_seen(name: str) -> None:
    early = plan(f"monitor=[{{ name = '{name}', after_steps = 0 }}]")
    steps = STEPS if name in {"partial_farming", "term_gap"} else 5
    assert name in alarms(run(FAULTS[name], 0.8 if name == "kl_drift" else 0.0, early, steps))


def test_an_honest_policy_is_left_alone() -> None:
    lines = run(honest, 0.1)
    assert alarms(lines) == set()
    measured = {name for line in lines for name, value in line["monitors"].items() if value is not None}
    assert measured == set(OF_STEPS)


ASKS_WHEN_CLEAR = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.92, 0.92, 0.92, 0.92)  # of a 135 M model without an anchor


def trap(scenario: Scenario, index: int, step: int) -> str:
    share = ASKS_WHEN_CLEAR[step] if not scenario.ambiguous else min(1.0, 0.3 + 0.1 * step)
    asks = (index + 0.5) / GROUP < share
    return clarify("which one should i use?") if asks else guess(scenario, index, step)


def test_the_trap_of_one_question_for_everything_is_seen_and_can_stop_the_run() -> None:
    strict = plan("monitor=[{ name = 'template_collapse', action = 'stop' }]")
    lines = run(trap, chosen=strict)
    assert {"template_collapse", "over_asking", "asks_when_clear"} <= alarms(lines)
    assert lines[0]["alarms"] == {}
    said: list[Event] = []
    for number, line in enumerate(lines):
        watch.tell(strict, "main/seed-0", line, lines[:number], said.append)
    assert len(said) == len({event.values["monitor"] for event in said}) >= 3
    with pytest.raises(GateFailed, match=r"stopped by a monitor at step \d+: template_collapse 0\.\d+, allowed ≤ 0\.3"):
        watch.halt(strict, "main/seed-0", lines[-1], "metrics.jsonl")
    watch.halt(PLAN, "main/seed-0", lines[-1], "metrics.jsonl")


def test_too_little_is_not_a_number() -> None:
    quiet = run(guess, None, steps=1)[0]["monitors"]
    for name in ("template_collapse", "near_echo", "short_repetition", "partial_farming", "term_gap", "kl_drift"):
        assert quiet[name] is None, name
    assert measures.over_asking(Seen((), ())) is None


def test_a_term_that_another_pays_for_is_seen_although_the_total_stands_still() -> None:
    def line(step: int) -> dict[str, Any]:
        late = step > 5
        terms = {"form": {"mean": 0.4 * late}, "toll": {"mean": -0.4 * late}}
        return {"step": step, "reward": 0.3, "strict_pass": 0.2, "terms": terms}

    seen = Seen((), [line(step) for step in range(1, 11)])
    assert measures.partial_farming(seen) == pytest.approx(0.0)
    assert measures.term_gap(seen) == pytest.approx(0.4)
    passing = [{**x, "strict_pass": 0.2 + 0.4 * (x["step"] > 5)} for x in seen.steps]
    assert measures.term_gap(Seen((), passing)) == pytest.approx(0.0), "what strict passes explain is no gap"


def test_a_bound_is_of_the_mean_and_after_its_steps() -> None:
    late = plan("monitor=[{ name = 'over_asking', after_steps = 7 }]")
    lines = run(FAULTS["over_asking"], chosen=late, steps=9)
    assert [line["step"] for line in lines if "over_asking" in line["alarms"]] == [8, 9]
    assert [line["step"] for line in run(FAULTS["over_asking"], steps=6) if "over_asking" in line["alarms"]] == [5, 6]


@pytest.mark.parametrize(
    ("question", "shown", "expected"),
    [
        ("which tab do you mean, Blog or Docs?", "Blog\nuser said: mute the tab", "which ◦ do you mean ◦ or docs"),
        ("which one should i use?", "user said: use the one that i like", "which one should i use"),
    ],
)
def test_templates_leave_names_out(question: str, shown: str, expected: str) -> None:
    assert texts.template(question, shown) == expected
    assert texts.generic(expected) is ("◦" not in expected)


@pytest.mark.parametrize(
    ("text", "is_garbled"),
    [
        ("which app should i use for the brfxx file?", False),
        ("what would you like me to say, and to whom?", False),
        ("when when should it start?", True),
        ("which one which one do you want?", True),
        ("who or what or when?", True),
        ("is it the zqrt one?", True),
        ("is it sooo late?", True),
        ("blue paper seven quick lemon garden?", True),
    ],
)
def test_gibberish_by_its_looks(text: str, is_garbled: bool) -> None:
    assert texts.garbled(text, "user said: open brfxx") is is_garbled


def test_a_plan_starts_from_every_monitor_and_changes_them_by_name() -> None:
    assert [s.name for s in PLAN.monitor] == list(MONITORS)
    assert {s.action for s in PLAN.monitor} == {"warn"}
    assert set_by_plan(PLAN.monitor) == ""
    own = plan("monitor=[{ name = 'kl_drift', max = 0.2, action = 'stop' }, { name = 'gibberish', action = 'off' }]")
    assert set_by_plan(own.monitor) == "kl_drift max 0.2, stops the run · gibberish off"
    assert plans.arm_plan(own, "free").monitor == own.monitor == resolved(own.monitor)
    assert plans.plan_hash(own) != plans.plan_hash(PLAN)
    assert "gibberish" not in run(gibberish, chosen=own, steps=1)[0]["monitors"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{ name = 'kl' }", "no monitor is called 'kl'; choose of: template_collapse"),
        ("{ name = 'kl_drift', maximum = 1 }", "monitor.0.maximum: unknown field"),
        ("{ name = 'kl_drift', min = 1 }", "min 1 is above max 0.5"),
        ("{ name = 'kl_drift' }, { name = 'kl_drift' }", "set twice"),
        ("{ name = 'kl_drift', action = 'pause' }", "monitor.0.action"),
    ],
)
def test_bad_monitors_are_refused(given: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(f"monitor=[{given}]")


def test_the_docs_have_every_monitor_with_its_bound() -> None:
    text = (EXAMPLE.parents[1] / "docs" / "training.md").read_text("utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `") and len(line.split(" | ")) == 4]
    assert {row[0].strip("| `"): float(row[2]) for row in rows} == {n: m.max for n, m in MONITORS.items()}
