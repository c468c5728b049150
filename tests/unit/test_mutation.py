"""Mutation testing finds the check that nothing depends on, and lets nothing pass for one that something does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from askfirst import mutation, plugins
from askfirst.cli.app import app
from askfirst.contracts.rewards import self_test
from askfirst.contracts.selftest import NOT_MEASURED, STALE, Rate, record_path, scorer_hash
from askfirst.errors import InputError

PLUGIN = """
from askfirst.cases import Case, scenario
from askfirst.replies import Truth
from askfirst.values import FrozenMap, Score

VERSION, BOUNDS, DEFAULTS = 1, (0.0, 1.0), FrozenMap()


def _long(text):
    return len(text) > 40


def score(scenario, trajectory, params):
    text = trajectory.reply
    checks = {"no_question": not text.endswith("?"), "too_long": _long(text)}
    failures = tuple(code for code, broken in checks.items() if broken)
    passed = not failures
    return Score(float(passed), FrozenMap({"pass": float(passed)}), passed, failures, "toy@1")


WHERE = scenario("send it", Truth("clarify", "recipient"))
ATTACKS = (
    Case("statement", "x", WHERE, "done", 0.0, "asks nothing"),
    EXTRA
)
HONEST = (Case("asks", "x", WHERE, "who?", 1.0, "asks"),)
"""
LONG = 'Case("padded", "x", WHERE, "a" * 60 + "?", 0.0, "pads"),'


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A reward of another package, in which a check has a case or has none."""
    package = tmp_path / "toypkg"
    (package / "rewards").mkdir(parents=True)
    for folder in (package, package / "rewards"):
        (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(extra: str):
        (package / "rewards" / "toy.py").write_text(PLUGIN.replace("EXTRA", extra))
        for name in [n for n in sys.modules if n.startswith("toypkg")]:
            monkeypatch.delitem(sys.modules, name)
        return plugins.load("rewards", "toypkg.rewards:toy")

    return make


def test_a_check_without_a_case_survives(toy) -> None:
    """And each mutant is tried by itself, one after another in the same process."""
    alive = {m.at for m in mutation.survivors(toy(""), 1, lambda event: None, lambda: False)}
    assert alive == {
        "toypkg.rewards.toy:_long: len(text) > 40 → False",
        "toypkg.rewards.toy:score: _long(text) → False",
    }


def test_with_a_case_for_each_nothing_survives(toy) -> None:
    tried = []
    module = toy(LONG)
    assert mutation.survivors(module, 2, tried.append, lambda: False) == ()
    assert len(tried) == len(mutation.mutants(module)) >= 8


def test_a_self_test_that_is_red_already_is_refused(toy) -> None:
    module = toy('Case("asks", "x", WHERE, "who?", 0.0, "what an honest reply says"),')
    with pytest.raises(InputError, match="red before anything is broken"):
        mutation.survivors(module, 1, lambda event: None, lambda: False)


def test_only_the_chosen_mutants_are_tried(toy) -> None:
    tried = []
    module = toy("")
    chosen = [m for m in mutation.mutants(module) if "len(text)" in m.at]
    assert mutation.survivors(module, 1, tried.append, lambda: False, chosen)
    assert {event.text for event in tried} == {m.at for m in chosen}


def test_what_a_reward_calls_elsewhere_in_its_package_is_mutated(pair) -> None:
    functions = "def same(a, b):\n    return a == b\n\n\ndef idle(a):\n    return not a\n"
    pair("words.py", 'NO = "no"', f'NO = "no"\n\n\n{functions}')
    pair("rewards/cups.py", "words import NO", "words import NO, same")
    pair("rewards/cups.py", "said[-1] == scenario.hidden", "same(said[-1], scenario.hidden")
    pair("rewards/cups.py", '["colour"] and', '["colour"]) and')
    found = {m.at for m in mutation.mutants(plugins.load("rewards", "pairpkg.rewards:cups"))}
    assert "pairpkg.words:same: a == b → True" in found
    assert not any("idle" in at for at in found), "a function that the reward does not call"


def test_conditions_are_found_wherever_they_are_kept(pair) -> None:
    lines = ('checks: dict[str, bool] = {"other": a != b}', 'checks["empty"] = a == ""', "short: bool = len(a) < 2")
    lines += ("long = len(a) > 99", "return not (any(checks.values()) or short or long)")
    pair("words.py", 'NO = "no"', 'NO = "no"\n\n\ndef same(a, b):\n    ' + "\n    ".join(lines) + "\n")
    pair("rewards/cups.py", "words import NO", "words import NO, same")
    pair("rewards/cups.py", "said[-1] == scenario.hidden", "same(said[-1], scenario.hidden")
    pair("rewards/cups.py", '["colour"] and', '["colour"]) and')
    found = {m.at for m in mutation.mutants(plugins.load("rewards", "pairpkg.rewards:cups"))}
    for condition in ("a != b", 'a == ""', "len(a) < 2", "len(a) > 99"):
        assert {f"pairpkg.words:same: {condition} → {value}" for value in (True, False)} <= found


def test_the_parser_is_mutated_for_the_rewards_that_ship_and_call_it() -> None:
    tried = {name: mutation.mutants(plugins.load("rewards", name)) for name in ("slots", "strict")}
    parser = {name: {m.at.split(":")[1] for m in of if m.module == "askfirst.replies"} for name, of in tried.items()}
    assert parser == {"slots": {"parse_reply", "_no_duplicates", "_check_payload", "_check_value"}, "strict": set()}


def test_what_utility_scores_with_below_its_room_is_mutated_and_the_hash_is_bound_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    utility = plugins.load("rewards", "utility")
    found = mutation.mutants(utility)
    owners = {tuple(m.at.split(": ")[0].split(":")) for m in found}
    assert owners >= {("clarify.judge", "_entry"), ("clarify.calls", "parse_call"), ("clarify.optimum", "optimum")}
    assert owners >= {("clarify.user", "_named"), ("clarify.problem", "guess"), ("clarify.family", "resolve")}
    assert not {"clarify.scenes", "clarify.oracle", "clarify.bank"} & {module for module, _ in owners}
    assert ("clarify.user", "_answer") not in owners, "what the user says is not scored"
    before = scorer_hash(utility)
    for module in {m.module for m in found}:
        with monkeypatch.context() as edited:
            body = Path(str(sys.modules[module].__file__)).read_bytes()
            edited.setattr(Path, "read_bytes", lambda path, body=body, whole=Path.read_bytes: _more(whole(path), body))
            assert scorer_hash(utility) != before, module


def _more(read: bytes, body: bytes) -> bytes:
    return read + b"# edited" if read == body else read


def test_helpers_beside_a_reward_are_mutated_and_cases_are_not() -> None:
    found = mutation.scoring_modules(plugins.load("rewards", "strict"))
    assert "askfirst.rewards._published" in found
    assert not any(name.endswith(mutation.CASES) for name in found)
    assert not any("slots" in name for name in found)


def test_reasons_are_for_survivors_alone(toy, tmp_path: Path) -> None:
    alive = mutation.survivors(toy(""), 1, lambda event: None, lambda: False)
    path = tmp_path / "reasons.jsonl"
    entries = [{"at": alive[0].at, "why": "so it is"}, {"at": "toy:gone → True", "why": "it was"}]
    path.write_text("\n".join(map(json.dumps, entries)))  # as a person may leave it, without a last newline
    left, stale = mutation.split_by_reasons(alive, path)
    assert alive[0] not in left
    assert len(left) == len(alive) - 1
    assert stale == ["toy:gone → True"]
    path.write_text('{"at": 3}\n')
    with pytest.raises(InputError, match="not a reason"):
        mutation.split_by_reasons(alive, path)


def test_the_command_says_what_survives(toy) -> None:
    toy("")
    done = CliRunner().invoke(app, ["mutate", "toypkg.rewards:toy"])
    assert done.exit_code == 1
    assert "survives  toypkg.rewards.toy:_long" in done.stdout
    module = toy(LONG)
    out = record_path(module)
    done = CliRunner().invoke(app, ["mutate", "toypkg.rewards:toy", "--json", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["survivors"] == []
    report = self_test(toy(LONG))
    assert isinstance(report.false_positives, Rate)
    assert str(report.mutants) == f"{len(mutation.mutants(module))} killed, 0 the same reward, 0 surviving"
    assert report.false_positives.count == 0
    assert report.false_positives.interval.upper > 0.5  # of two cases not much follows
    assert self_test(toy(LONG + "# another source")).mutants == STALE
    out.unlink()
    done = CliRunner().invoke(app, ["check", "rewards", "toypkg.rewards:toy", "--json"])
    assert json.loads(done.stdout)[0]["report"]["mutants"] == NOT_MEASURED
