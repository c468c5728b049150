"""Generated requests: what holds as the same request, what is made and kept, drawn from, and found to be wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from askfirst import deviation, gates, generated, matrix, plugins
from askfirst import plan as plans
from askfirst.backends._text import TextTokens, messages_of
from askfirst.cases import play
from askfirst.cli import main
from askfirst.errors import EnvironmentFault, GateFailed, InputError, PlanError
from askfirst.generated import make as making
from askfirst.generated.check import WRONG, check, marks_file, sample_of
from askfirst.generated.rules import Names, broken, identity, names_of, request_of
from askfirst.policy import Completion, Sampling
from askfirst.reading import Mark
from askfirst.rollout import Scorer
from askfirst.runfolder import RunFolder
from askfirst.store import append_line, read_lines, write_json, write_lines
from askfirst.values import GateStatus, StopReason
from askfirst.variants import Run

ENV = plugins.load("envs", "judgment")
EXAMPLE = Path(__file__).parents[3] / "examples" / "e2e.toml"
DEV = ENV.scenarios("dev", 16, 1)
WISH = making.Wish("judgment", 160, 3, 2, Sampling(96, 0.7))
LEADS = ("listen, ", "when you get a chance, ", "okay then, ")


class Rules(TextTokens):
    """A teacher that puts words before a request, and now and then does what none should."""

    name = "rules"

    def __init__(self, dies_after: int = 10**9, spoil: str = " tomorrow") -> None:
        self.asked, self.dies_after, self.spoil = list[str](), dies_after, spoil

    def fingerprint(self) -> str:
        return "rules"

    def sample(self, requests, sampling, keep=False):
        found = []
        for request in requests:
            said, (seed,) = messages_of(request.prompt_ids)[-1].content, request.seeds
            if len(self.asked) == self.dies_after:
                raise KeyboardInterrupt
            self.asked.append(said)
            text = LEADS[seed % 3] + said + (self.spoil if seed % 11 == 0 else "")
            found.append([Completion(self.encode_reply(text), (), StopReason.END)])
        return found


@pytest.fixture(scope="module")
def names() -> Names:
    return names_of(ENV)


@pytest.fixture(scope="module")
def made() -> making.Made:
    return making.make(WISH, Rules(), "rules", None)


@pytest.fixture
def data(made: making.Made, tmp_path: Path) -> Path:
    write_lines(tmp_path / "train.jsonl", made.lines)
    return tmp_path / "train.jsonl"


def test_what_is_made_holds_is_whole_and_says_where_it_is_from(made: making.Made, names: Names) -> None:
    sources = {s.id: s for s in making.drawn(ENV, WISH.count, WISH.seed)}
    assert made.drawn == len(sources) == WISH.count
    assert 100 <= len(made.lines) < made.drawn
    assert sum(made.rejected.values()) >= made.drawn - len(made.lines)
    assert set(made.rejected) <= {"new_number", making.ALONE}
    for line in made.lines:
        source = sources[line.source.id]
        assert broken(source, request_of(line.scenario), names) == ()
        assert (line.scenario.hidden, line.twin, line.stratum) == (source.hidden, source.twin, source.stratum)
    pairs = [{line.twin for line in made.lines if line.stratum == name} for name in ("ambiguous", "clear_twin")]
    assert pairs[0] == pairs[1]
    assert len({(line.opening, str(line.hidden)) for line in made.lines}) == len(made.lines)


def test_it_goes_on_where_it_was_stopped_and_comes_to_the_same(tmp_path: Path) -> None:
    cache, wish, whole = tmp_path / "answers", replace(WISH, count=80), Rules()
    made = making.make(wish, whole, "rules", None)
    with pytest.raises(KeyboardInterrupt):
        making.make(wish, Rules(dies_after=70), "rules", cache)
    known = len(list(read_lines(cache)))
    assert known == making.CHUNK  # what the second chunk said came to nobody
    rest = Rules()
    assert making.make(wish, rest, "rules", cache) == made
    again = Rules()
    assert making.make(wish, again, "rules", cache) == made
    assert again.asked == []
    assert len(rest.asked) == len(whole.asked) - known


def test_a_teacher_that_says_the_same_twice_is_taken_once(names: Names) -> None:
    class Parrot(Rules):
        def sample(self, requests, sampling, keep=False):
            return [[Completion(self.encode_reply("kindly do the usual"), (), StopReason.END)] for _ in requests]

    wish = replace(WISH, count=40)
    sources = making.drawn(ENV, 40, WISH.seed)
    held = [s for s in sources if not broken(s, "kindly do the usual", names)]
    found = making.make(wish, Parrot(), "parrot", None)
    assert len(found.lines) <= 2  # one request, or one with its twin
    assert found.rejected.get(making.DUPLICATE, 0) >= len(held) - 2


@pytest.mark.parametrize("name", ["judgment", pytest.param("clarify", marks=pytest.mark.thorough)])
def test_a_file_says_again_what_was_written(name: str, tmp_path: Path) -> None:
    env = plugins.load("envs", name)
    found = making.make(replace(WISH, env=name, count=40), Rules(), "rules", None)
    write_lines(tmp_path / "data", found.lines)
    lines = generated.read(tmp_path / "data")
    assert lines
    sources = {s.id: s for s in making.drawn(env, 40, WISH.seed)}
    for line in lines:
        assert line.scenario.hidden == sources[line.source.id].hidden
        honest = next(d for d in env.demonstrations(line.scenario) if not d.guess)
        episode = play(env, line.scenario, (honest.reply, *honest.then))
        assert Scorer.named(env.ORACLE).score(line.scenario, episode).passed
    if name == "clarify":
        assert check(tmp_path / "data", env.scenarios("dev", 20, 1), 100).errors == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body["opening"][0].update(content="user said: something else"), "was changed"),
        (lambda body: body["hidden"].update(intent="action", slot="x"), "was changed"),
        (lambda body: body.update(version=2), "version 1"),
        (lambda body: body.update(extra=1), "not a Line"),
        (lambda body: body["source"].pop("seed"), "source.seed"),
    ],
)
def test_a_line_that_is_not_as_it_was_written_is_refused(change: Callable, said: str, data: Path) -> None:
    lines = list(read_lines(data))
    change(lines[2])
    write_lines(data, lines)
    with pytest.raises(InputError, match=said) as refused:
        generated.read(data)
    assert refused.value.where == f"{data}:3"
    write_lines(data, [lines[0], lines[1], lines[0]])
    with pytest.raises(InputError, match="the same as line 1"):
        generated.read(data)


def plan_of(data: Path, *overrides: str) -> plans.Plan:
    return plans.load(EXAMPLE, [f"env.generated={json.dumps(str(data))}", *overrides])


def test_the_train_split_comes_out_of_the_file_and_no_other_does(data: Path, made: making.Made) -> None:
    env = generated.environment(plan_of(data))
    known = {line.id for line in made.lines}
    assert env.scenarios("dev", 20, 1, {"ambiguous": 1.0}) == ENV.scenarios("dev", 20, 1, {"ambiguous": 1.0})
    assert env.scenarios("sealed", 20, 1) == ENV.scenarios("sealed", 20, 1)
    assert plugins.source_hash(env) == plugins.source_hash(ENV)
    drawn = env.scenarios("train", 20, 5, {"ambiguous": 0.5, "clear_twin": 0.5})
    assert drawn == env.scenarios("train", 20, 5, {"ambiguous": 0.5, "clear_twin": 0.5})
    assert drawn != env.scenarios("train", 20, 6, {"ambiguous": 0.5, "clear_twin": 0.5})
    assert {s.id for s in drawn} < known
    ambiguous = env.scenarios("train", 10, 5, {"ambiguous": 1.0})
    clear = env.scenarios("train", 4, 5, {"clear_twin": 1.0})
    assert len({s.id for s in ambiguous}) == 10
    assert {s.twin for s in clear} <= {s.twin for s in ambiguous}
    assert {s.stratum for s in env.scenarios("train", 32, 1)} >= {"ambiguous", "clear_twin"}
    with pytest.raises(EnvironmentFault, match="of stratum ambiguous, 500 are drawn at once"):
        env.scenarios("train", 500, 1, {"ambiguous": 1.0})


def test_data_of_another_version_or_none_is_refused(data: Path) -> None:
    lines = list(read_lines(data))
    lines[4]["source"]["env_version"] = "0"
    write_lines(data, lines)
    with pytest.raises(InputError, match="generated from judgment 0, not judgment") as refused:
        generated.environment(plan_of(data))
    assert refused.value.where == f"{data}:5"
    data.unlink()
    with pytest.raises(InputError, match="generated data is not here"):
        generated.environment(plan_of(data))
    with pytest.raises(PlanError, match="choose among templates"):
        plan_of(data, "env.kinds={missing=1.0}")


def planted(data: Path, change: Callable[[dict], None], at: int = 0) -> None:
    """Change the `at`th audited line, and give it the id that its content then has."""
    lines = list(read_lines(data))
    body = lines[sample_of(generated.read(data), 100)[at]]
    change(body)
    line = generated.as_record(generated.Line, body, "")
    body["id"] = identity(line.opening, line.scenario.hidden, "judgment")
    # The sample follows from the ids: the file is taken whole, so that the line is in it.
    write_lines(data, lines)


def say(text: str) -> Callable[[dict], None]:
    def change(body: dict) -> None:
        before, said, _ = body["opening"][-1]["content"].rpartition("user said: ")
        body["opening"][-1]["content"] = before + said + text

    return change


def audited(data: Path, *overrides: str):
    size = f"generation.sample={len(list(read_lines(data)))}"
    return gates.generation_audit(plan_of(data, size, *overrides), DEV)


def test_good_data_passes_the_audit_and_little_is_no_audit(data: Path) -> None:
    found = gates.generation_audit(plan_of(data), DEV)
    assert (found.status, found.measured) == (GateStatus.PASSED, "0 label errors, 0 overlaps")
    assert "in 100 of" in found.reason
    few = gates.generation_audit(plan_of(data, "generation.sample=1000"), DEV)
    assert (few.status, "1000 are to be audited" in few.reason) == (GateStatus.UNVERIFIED, True)
    with pytest.raises(GateFailed, match="generation audit unverified"):
        gates.check([few])
    with pytest.raises(PlanError, match="greater than or equal to 100"):
        plan_of(data, "generation.sample=20")
    with pytest.raises(ValueError, match="no generated data"):
        gates.generation_audit(plans.load(EXAMPLE), DEV)


ERRORS = {
    "another stratum": (lambda body: body.update(stratum="action"), "stratum are not those"),
    "another truth": (lambda body: body["hidden"].update(intent="answer"), "hidden are not those"),
    "ambiguous or not": (lambda body: body.update(ambiguous=not body["ambiguous"]), "ambiguous are not those"),
    "words that add": (say("well now, do it in osaka tomorrow"), "do not ask for the same"),
    "another screen": (
        lambda body: body["opening"][-1].update(content="on-screen elements:\n" + body["opening"][-1]["content"]),
        "what is shown beside the request changed",
    ),
    "no such source": (lambda body: body["source"].update(id="0" * 16), "draws no request"),
}

QUICK = ("another truth",)


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.thorough) for n in ERRORS])
def test_a_planted_label_error_is_found_and_counts_against_the_plan(name: str, data: Path) -> None:
    change, why = ERRORS[name]
    planted(data, change)
    found = audited(data)
    assert (found.status, found.measured) == (GateStatus.FAILED, "1 label errors, 0 overlaps")
    assert why in found.reason
    if name not in QUICK:
        assert audited(data, "generation.max_label_errors=1").status is GateStatus.PASSED


def test_a_planted_overlap_is_found_whatever_the_labels(data: Path) -> None:
    item = next(s for s in DEV if len(request_of(s).split()) > 3 and s.stratum == "ambiguous")
    planted(data, lambda body: body["opening"][-1].update(content=item.opening[-1].content))
    found = audited(data, "generation.max_label_errors=160")
    assert found.status is GateStatus.FAILED
    assert item.id in found.reason
    assert not found.measured.endswith(" 0 overlaps")


def test_what_a_person_marked_wrong_is_an_error_wherever_it_is(data: Path, made: making.Made) -> None:
    inside = sample_of(made.lines, 100)
    outside = next(at for at in range(len(made.lines)) if at not in inside)
    for at, mark in ((inside[0], "good"), (outside, WRONG)):
        append_line(marks_file(data), Mark(1, made.lines[at].id, mark, "why", "kim", "now"))
    found = gates.generation_audit(plan_of(data), DEV)
    assert (found.status, "(1 read by a person)" in found.reason) == (GateStatus.FAILED, True)
    assert f"line {outside + 1}: marked wrong by kim: why" in found.reason


def test_the_lock_holds_the_data_and_a_change_of_it_is_refused(data: Path, tmp_path: Path) -> None:
    def job() -> Run:
        return Run(plan_of(data), RunFolder(tmp_path / "run"), "", (), (), lambda event: None, lambda: False)

    matrix.freeze(job())
    assert f"generated/{data}" in json.loads(job().folder.lock.read_text())["sources"]
    generated.require_same(job().folder, plan_of(data))
    write_lines(data, list(read_lines(data))[1:])
    with pytest.raises(InputError, match="generated/"):
        matrix.freeze(job())
    with pytest.raises(GateFailed, match="changed since the run was frozen"):
        generated.require_same(job().folder, plan_of(data))
    with pytest.raises(GateFailed, match="promised before the run"):
        matrix.deviate(job(), deviation.Reason("new data", "kim"))
    write_json(tmp_path / "other" / "plan.lock.json", {"sources": {}})
    generated.require_same(RunFolder(tmp_path / "other"), plans.load(EXAMPLE))


@pytest.mark.thorough
def test_the_verb_makes_data_marks_it_and_overwrites_no_other(
    chat_server, tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("askfirst.backends.openai", reason="needs the extra endpoint")
    chat_server.speak = lambda body: LEADS[body["seed"] % 3] + body["messages"][-1]["content"]

    def run(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["askfirst", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    out = tmp_path / "train.jsonl"
    start = ("generate", out, "--model", "rules", "--endpoint", chat_server.url, "--count", 30)
    code, said, _ = run(*start, "--json")
    body = json.loads(said)
    assert (code, body["drawn"], body["taken"]) == (0, 30, len(generated.read(out)))
    before, asked = out.read_bytes(), len(chat_server.seen)
    assert run(*start)[0] == 0
    assert len(chat_server.seen) == asked
    assert out.read_bytes() == before
    code, _, err = run(*start[:-1], 31)
    assert (code, "there is other data already" in err, out.read_bytes()) == (2, True, before)
    assert run("generate", out, "--model", "rules", "--set", "attempts=0")[0] == 2

    monkeypatch.setattr(sys, "stdin", iter(["?\n", "g\n", "w says tomorrow\n", "s\n", "q\n"]))
    code, said, _ = run("read", out, "--reader", "kim")
    assert (code, f"2 of {body['taken']} read, 1 wrong" in said) == (0, True)
    (good, wrong) = read_lines(marks_file(out))
    assert (good["mark"], wrong["mark"], wrong["why"], wrong["reader"]) == ("good", "wrong", "says tomorrow", "kim")
    assert run("read", out)[0] == 2
    assert json.loads(run("read", out, "--json")[1])["wrong"] == 1


@pytest.mark.thorough
def test_a_run_trains_on_what_was_generated_and_audits_it(data: Path, made: making.Made, tmp_path: Path) -> None:
    seen: list[object] = []
    plan = plan_of(
        data, "train.steps=3", "evaluation.every=3", "evaluation.dev_items=40", "selection.max_false_ask=1.0"
    )
    places = (EXAMPLE.with_suffix(".seed"),)
    job = Run(plan, RunFolder(tmp_path / "run"), "", (), places, seen.append, lambda: False)
    matrix.run(job)
    results = json.loads((tmp_path / "run" / "gates.json").read_text())["results"]
    assert [r["status"] for r in results if r["name"] == "generation audit"] == ["passed"]
    rollouts = list(read_lines(tmp_path / "run" / "free" / "seed-0" / "last_rollouts.jsonl"))
    assert rollouts
    assert {r["scenario"] for r in rollouts} <= {line.id for line in made.lines}
    planted(data, ERRORS["another stratum"][0])
    again = replace(
        job, plan=plan_of(data, "train.steps=3", "generation.sample=110"), folder=RunFolder(tmp_path / "two")
    )
    with pytest.raises(GateFailed, match="generation audit failed"):
        matrix.run(again)
    assert not (tmp_path / "two" / "free").exists()
