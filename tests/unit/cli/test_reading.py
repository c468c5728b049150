"""`askfirst read`: marks are kept whatever happens, a hack becomes an attack, and model text stays text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result
from typer.testing import CliRunner

from askfirst import plan as plans
from askfirst import planfile, plugins, reading
from askfirst.backends.scripted import Line, Scripted
from askfirst.batches import draw_scenarios
from askfirst.cases import read_cases, write_cases
from askfirst.cli import reading as verb
from askfirst.cli.app import app
from askfirst.contracts.rewards import self_test
from askfirst.errors import InputError, Interrupted
from askfirst.policy import Sampling
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.runfolder import RunFolder
from askfirst.store import read_lines, write_json, write_lines
from askfirst.train import Job, keep_rollouts
from askfirst.values import FrozenMap, Scenario

EXAMPLE = Path(__file__).parents[3] / "examples" / "e2e.toml"
SETS = ("reward.name=slots", "reward.params={}", "author=Ada")


def filled(tmp_path: Path, plan: plans.Plan, script: list[Line], scenarios: list[Scenario]) -> RunFolder:
    """A run whose variants kept the rollouts of these scenarios in step 1, as training keeps them."""
    run, env = RunFolder(tmp_path / "run"), plugins.load("envs", plan.env.name)
    stage = Stage(env, "", Sampling(600))
    scorer = Scorer.named(plan.reward.name, plan.reward.params)
    batch = rollouts(stage, Scripted(script), scorer, scenarios, Draw(0, 0, 1))
    for arm in plan.arm:
        keep_rollouts(Job(plan, arm.name, 0, run.variant(arm.name, 0), stage, (), FrozenMap()), batch, 1)
    write_json(run.lock, plans.lock(plan, {}, ()))
    return run


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Ten scenarios of a plan's first step; the scripted policy replies to each as it should."""
    plan = plans.load(EXAMPLE, SETS)
    env = plugins.load("envs", plan.env.name)
    scenarios = draw_scenarios(env, plan, 0, 0)
    script = [Line(s.opening[-1].content, env.demonstrations(s)[0].reply) for s in scenarios]
    return filled(tmp_path, plan, script, scenarios)


def say(run: RunFolder, keys: str, *more: str) -> Result:
    return CliRunner().invoke(app, ["read", str(run.root), *more], input=keys)


def test_the_best_are_queued_and_no_reply_twice(run: RunFolder) -> None:
    path = run.variant("free", 0).best_rollouts
    lines = list(read_lines(path))
    write_lines(path, [{**line, "reply": f"{n} {line['reply']}"} for n, line in enumerate(lines * 3)])
    queue = reading.queue(run)
    assert len(queue) == len({rollout.reply for rollout in queue}) == reading.QUEUED
    assert [rollout.variant for rollout in queue[:4]] == ["anchored/seed-0", "free/seed-0"] * 2
    write_lines(path, [{**line, "score": {**line["score"], "total": 2.0 + n}} for n, line in enumerate(lines)])
    assert [r.score.total for r in reading.queue(run)] == sorted([2.0 + n for n in range(len(lines))], reverse=True)


def test_marks_are_evidence_and_a_hack_becomes_an_attack(run: RunFolder) -> None:
    done = say(run, "g\n\nh names what is on screen\nz\nG\n")
    assert done.exit_code == 0, done.output
    queue = reading.queue(run)
    assert f"3 of {len(queue)} read, 1 hack\n" in done.output
    lines = list(read_lines(run.reading))
    assert [(line["mark"], line["reader"], line["rollout"]) for line in lines] == [
        ("good", "Ada", queue[0].id), ("hack", "Ada", queue[1].id), ("good", "Ada", queue[2].id),
    ]  # fmt: skip
    assert f"askfirst check rewards slots --attacks {run.hacks}" in done.output
    (case,) = read_cases(run.hacks)
    assert (case.reply, case.why, case.bound) == (queue[1].reply, "names what is on screen", 0.5)
    (broken,) = self_test(plugins.load("rewards", "slots"), {}, [case]).broken
    assert broken.endswith("earned 1, cap 0.5: names what is on screen")


def test_going_back_takes_a_hack_back_and_leaves_what_others_wrote(run: RunFolder) -> None:
    say(run, "h\nh\n")
    foreign = plugins.load("rewards", "slots").ATTACKS[0]
    write_cases(run.hacks, [foreign, *read_cases(run.hacks)])
    queue = reading.queue(run)
    done = say(run, "b\ng\nb\nb\nh again\nq\ng\n", "--reader", "Bo")
    assert f"2 of {len(queue)} read, 1 hack\n" in done.output
    assert [(case.name, case.why) for case in read_cases(run.hacks)] == [
        (foreign.name, foreign.why), (queue[0].id, "again"),
    ]  # fmt: skip
    assert {mark.reader for mark in reading.marks(run).values()} == {"Bo"}
    assert len(list(read_lines(run.reading))) == 4


def test_all_can_be_read_and_the_last_taken_back(run: RunFolder) -> None:
    count = len(reading.queue(run))
    done = say(run, "s\n" + "g\n" * (count - 1) + "g\ns\nb\nh\n")
    assert "that was the last one" in done.output
    assert reading.summary(run) == reading.Summary(count - 1, count, 1)
    assert "that was the last one" in say(run, "g\n").output
    assert reading.summary(run).read == count
    body = json.loads(say(run, "", "--json").stdout)
    assert (body["read"], body["of"], body["hacks"]) == (count, count, 1)
    assert body["rollouts"][-1]["mark"]["mark"] == "hack"
    listed = say(run, "", "--list").stdout.splitlines()
    assert [line[:4] for line in listed[:-1]] == ["good"] * (count - 1) + ["hack"]


def test_a_mark_that_was_cut_short_costs_only_itself(run: RunFolder) -> None:
    say(run, "g\n")
    with run.reading.open("a") as file:
        file.write('{"version": 1, "roll')
    assert say(run, "h\n").exit_code == 0
    assert [mark.mark for mark in reading.marks(run).values()] == ["good", "hack"]
    run.hacks.unlink()  # as if the process had been killed between the mark and the attack
    say(run, "")
    assert len(read_cases(run.hacks)) == 1


def test_ctrl_c_stops_and_the_marks_stay(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def keys():
        yield "g\n"
        raise KeyboardInterrupt

    said = keys()
    monkeypatch.setattr(verb, "_line", lambda: next(said).strip())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(Interrupted, match="marks are kept"):
        verb.read(run.root, None, listed=False, as_json=False)
    assert reading.summary(run).read == 1


def test_what_a_model_wrote_reaches_a_terminal_as_text(run: RunFolder) -> None:
    path = run.variant("anchored", 0).best_rollouts
    lines = list(read_lines(path))
    evil = "\x1b[2J\x1b]0;title\x07 [bold red]x[/] \r\x9b31m\u202e\u200b\u2028\nscore 9 = pass 9 · passed"
    lines[0] |= {"reply": evil, "request": evil, "family": evil, "dialogue": [{"role": "assistant", "content": evil}]}
    lines[0]["score"]["failures"] = [evil]
    write_lines(path, lines)
    done = say(run, "h\x1b[2J\n")
    for output in (done.output, say(run, "", "--list").output):
        assert not [c for c in output if c != "\n" and not c.isprintable()]
        assert "[bold red]x[/]" in output
    assert "\\x1b[2J" in done.output
    assert "\n         │ score 9 = pass 9 · passed" in done.output
    assert "\nscore 9" not in done.output


def test_a_rollout_of_several_turns_becomes_an_episode(pair, tmp_path: Path) -> None:
    pair()
    document = planfile.edit(
        planfile.read(EXAMPLE),
        [
            "reward.name=pairpkg.rewards:cups",
            "reward.params={}",
            "env.name=pairpkg.envs:two",
            "env.clear_fraction=[0, 0]",
        ],
    )
    plan = plans.validate(document, "x")
    scenarios = draw_scenarios(plugins.load("envs", plan.env.name), plan, 0, 0)
    run = filled(tmp_path, plan, [Line("the red one", "red"), Line("", "which one?")], scenarios)
    assert say(run, "h\n", "--reader", "Ada").exit_code == 0
    (case,) = read_cases(run.hacks)
    assert case.reply == ("which one?", "red")
    assert case.scenario in scenarios
    (broken,) = self_test(plugins.load("rewards", "pairpkg.rewards:cups"), {}, [case]).broken
    assert "earned 1, cap 0.5" in broken


def test_a_hack_whose_scenario_is_not_made_here_is_marked_all_the_same(run: RunFolder) -> None:
    path = run.variant("anchored", 0).best_rollouts
    write_lines(path, [{**line, "scenario": "elsewhere"} for line in read_lines(path)])
    done = say(run, "h\nq\n")
    assert "the mark is kept, but it becomes no attack" in done.output
    assert reading.summary(run).hacks == 1
    assert not run.hacks.is_file()


def test_partial_credit_that_is_a_hack_must_earn_less() -> None:
    plan = plans.load(EXAMPLE, SETS)
    scenario = draw_scenarios(plugins.load("envs", plan.env.name), plan, 0, 0)[0]
    for total, cap in ((1.0, 0.5), (0.3, 0.15), (0.0, 0.0), (-0.5, -0.5)):
        grade = reading.Grade(total, {"pass": total}, False, ("no",), "x@1")
        rollout = reading.Read(scenario.id, "f", "s", 1, 0, "", "{}", (), "end", grade, "free/seed-0")
        assert verb.attack(plan, rollout, "so").bound == cap


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda run: run.lock.unlink(), "not a run folder"),
        (lambda run: write_json(run.lock, {"plan": 3}), "frozen plan"),
        (lambda run: [path.unlink() for path in run.root.rglob("best_rollouts.jsonl")], "nothing to read yet"),
        (lambda run: write_lines(run.reading, [{"mark": "good"}]), r"reading.jsonl:1: not a Mark"),
        (lambda run: write_lines(run.variant("free", 0).best_rollouts, [3]), r"best_rollouts.jsonl:1: expected"),
        (lambda run: write_json(run.lock, plans.lock(plans.load(EXAMPLE, SETS[:2]), {}, ())), "--reader NAME"),
    ],
)
def test_what_cannot_be_read_is_refused(run: RunFolder, broken, words: str) -> None:
    broken(run)
    done = say(run, "g\n")
    assert isinstance(done.exception, InputError)
    assert words.replace("\\", "") in str(done.exception)
    assert not run.reading.is_file() or list(read_lines(run.reading)) == [{"mark": "good"}]
