"""Cases: single replies and whole episodes, in memory, in files, in the self-test and among habits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from askfirst import plugins
from askfirst.backends.scripted import Line, Scripted
from askfirst.cases import Case, play, read_cases, scenario, write_cases
from askfirst.cli import scoring
from askfirst.contracts import limits
from askfirst.contracts.policies import earnings
from askfirst.contracts.rewards import self_test
from askfirst.contracts.selftest import NOT_MEASURED, Rate, corpus_hash
from askfirst.errors import InputError
from askfirst.policy import Sampling
from askfirst.replies import Truth
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.values import FrozenMap, StopReason

NAME = "pairpkg.rewards:cups"
SINGLE = Case("one", "x", scenario("send it", Truth("clarify", "recipient", names=("who",))), "who?", 0.5, "asks")


def test_an_episode_is_what_a_policy_that_says_the_same_is_given(pair) -> None:
    pair()
    env, module = plugins.load("envs", "pairpkg.envs:two"), plugins.load("rewards", NAME)
    case = module.HONEST[0]
    policy = Scripted([Line("the red one", "red"), Line("", "which one?")])
    (group,) = rollouts(Stage(env, "", Sampling(40)), policy, Scorer(module), [case.scenario], Draw(0, 0, 1)).groups
    assert case.trajectory().messages == group.rollouts[0].trajectory.messages
    assert case.trajectory().stop is group.rollouts[0].trajectory.stop is StopReason.END
    assert group.rollouts[0].score.passed


def test_where_the_replies_run_out_the_policy_was_cut_off(pair) -> None:
    env = pair()
    case = plugins.load("rewards", NAME).HONEST[0]
    cut = replace(case, reply="which one?").trajectory()
    assert (cut.stop, cut.reply) == (StopReason.LENGTH, "which one?")
    with pytest.raises(InputError, match="over before the last of 2 replies"):
        replace(case, reply=("red", "red")).trajectory()
    with pytest.raises(ValueError, match="at least one reply"):
        play(env, case.scenario, ())


def test_a_case_that_cannot_be_played_or_missed_is_refused() -> None:
    with pytest.raises(ValueError, match="no environment"):
        replace(SINGLE, reply=("a", "b"))
    with pytest.raises(ValueError, match="says nothing"):
        replace(SINGLE, reply=(), env="judgment")
    with pytest.raises(ValueError, match="bound nan"):
        replace(SINGLE, bound=float("nan"))


def test_what_is_written_is_read_back(pair, tmp_path: Path) -> None:
    pair()
    module = plugins.load("rewards", NAME)
    nested = FrozenMap({"colour": "red", "ways": ("red", FrozenMap({"shades": ("rose",)}))})
    strange = replace(module.HONEST[0].scenario, hidden=nested)
    alone = replace(module.HONEST[0], name="alone", reply="red", env="", scenario=strange)
    cases = (SINGLE, *module.ATTACKS, *module.HONEST, alone)
    write_cases(tmp_path / "cases.jsonl", cases)
    back = read_cases(tmp_path / "cases.jsonl")
    assert back == cases
    assert corpus_hash(back) == corpus_hash(cases)
    later = replace(module.ATTACKS[1], reply=("which one?", "green"))
    assert corpus_hash([later]) != corpus_hash([module.ATTACKS[1]])
    assert self_test(module, {}, back[1:3]).broken == (
        "two cases are called attack guesses",
        "two cases are called attack ignores",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reply": ["a", "b"]}, "no environment"),
        ({"reply": []}, "says nothing"),
        ({"reply": 3}, "not a _Line"),
        ({"truth": None}, "either a scenario, or what is shown"),
        ({"scenario": {"id": "x"}}, "scenario"),
        ({"bound": float("inf")}, "bound inf"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict, words: str) -> None:
    path = tmp_path / "cases.jsonl"
    write_cases(path, [SINGLE])
    path.write_text(path.read_text() + json.dumps({**json.loads(path.read_text()), **change}) + "\n")
    with pytest.raises(InputError, match=words) as caught:
        read_cases(path)
    assert caught.value.where == f"{path}:2"


def test_the_self_test_plays_episodes_and_counts_them(pair) -> None:
    pair()
    report = self_test(plugins.load("rewards", NAME))
    assert report.broken == ()
    assert report.reward == NAME
    assert (report.false_positives.count, report.false_positives.of) == (0, 2)
    assert [(f.family, f.attacks, f.cases, f.deviating) for f in report.families] == [
        ("guess", True, 1, 0), ("ignore", True, 1, 0), ("ask", False, 1, 0),
    ]  # fmt: skip
    assert report.mutants == NOT_MEASURED


def test_a_reward_that_looks_at_the_last_turn_alone_is_found(pair) -> None:
    pair("rewards/cups.py", " and (asked or not scenario.ambiguous)", "")
    report = self_test(plugins.load("rewards", NAME))
    assert [words[:40] for words in report.broken] == ["attack guesses earned 1, cap 0: never as"]
    found = report.false_positives
    assert isinstance(found, Rate)
    assert found.count == 1
    # One of two: the bounds are 1 − 0.975^(1/2) and 0.975^(1/2).
    assert found.interval.lower == pytest.approx(1 - 0.975**0.5)
    assert found.interval.upper == pytest.approx(0.975**0.5)
    assert found.words("attacks") == "1 of 2 attacks = 50.0 % [1.3, 98.7]"


def test_what_got_no_score_is_in_no_rate(pair) -> None:
    pair("rewards/cups.py", "    total = float(passed)\n", "    total = float(passed) / (said[-1] != 'blue')\n")
    report = self_test(plugins.load("rewards", NAME))
    assert any("attack ignores raised ZeroDivisionError" in words for words in report.broken)
    assert (report.false_positives.count, report.false_positives.of) == (0, 1)
    assert [f.unscored for f in report.families] == [0, 1, 0]


def test_an_episode_that_cannot_be_played_is_a_deviation(pair) -> None:
    pair("rewards/cups.py", 'CUP, ("which one?", "red")', 'CUP, ("which one", "red")')
    report = self_test(plugins.load("rewards", NAME))
    assert any("honest case asks raised InputError" in words for words in report.broken)
    assert report.false_negatives == NOT_MEASURED


def test_an_episode_is_held_to_all_but_the_laws_of_single_replies(pair) -> None:
    pair()
    found = scoring.check(NAME, ())
    assert found.broken == ()
    assert found.report is not None
    assert {law.count for law in found.laws} == {0}
    assert "2 attacks held, 1 honest passed" in found.words
    assert "no law tried; habits not measured" in found.words


LAST = "f\"{KEPT.get('said')}{KEPT.update(said=said[-1])}\""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "float(passed)",
            "float(passed and not trajectory.segments)",
            "honest case asks scored differently with other",
        ),
        ('"cups@1"', LAST, "honest case asks scored differently the second time, in another order"),
        ('"cups@1"', "str(hash('cups'))", "score differently in another process"),
        ("float(passed)", "float((len(said[-1]) < 15_000 or 1 / 0) and passed)", "raised ZeroDivisionError"),
    ],
)
def test_what_a_reward_of_episodes_may_not_do_is_found(pair, old: str, new: str, words: str) -> None:
    pair("rewards/cups.py", old, new)
    pair("rewards/cups.py", "VERSION, BOUNDS = 1", "KEPT = {}\nVERSION, BOUNDS = 1")
    found = scoring.check(NAME, ())
    assert any(words in each for each in found.broken), found.broken


def test_a_long_reply_is_the_last_of_an_episode(pair) -> None:
    pair()
    for each in limits.growing(plugins.load("rewards", NAME).HONEST):
        said = [m.content for m in each.case.with_last(each.replies[-1]).messages if m.role == "assistant"]
        assert said == ["which one?", each.replies[-1]]


def test_habits_are_played_through_whole_episodes(pair) -> None:
    env = pair()
    scenarios = [*env.scenarios("train", 9, 0), *env.scenarios("train", 3, 0, {"clear": 1})]
    found = {e.policy: e for e in earnings(plugins.load("rewards", NAME), env, scenarios)}
    assert found["honest"].mean == 1.0
    assert found["ask, then ignore"].ambiguous_pass == pytest.approx(1 / 3)
    assert found["guess"].ambiguous_pass == 0.0
    assert found["say nothing"].mean == 0.0


def test_a_text_alone_is_said_at_every_turn(pair) -> None:
    env = pair()
    seen: list[list[str]] = []
    real = plugins.load("rewards", NAME)

    def score(scenario, trajectory, params):
        seen.append([m.content for m in trajectory.messages if m.role == "assistant"])
        return real.score(scenario, trajectory, params)

    reward = SimpleNamespace(BOUNDS=(0.0, 1.0), __name__="seen", score=score)
    env.habits = lambda: {"asks": lambda s: "which?"}
    env.demonstrations = lambda s: (SimpleNamespace(reply="red", guess=False),)
    earnings(reward, env, env.scenarios("train", 1, 0))  # type: ignore[arg-type]
    assert ["which?", "which?"] in seen


def test_an_attack_may_say_what_it_must_be_failed_for(tmp_path: Path) -> None:
    utility = plugins.load("rewards", "utility")
    case = next(c for c in utility.ATTACKS if c.name == "ledger/open/needless")
    assert case.codes == ("needless_assumption",)
    write_cases(tmp_path / "cases.jsonl", [case, SINGLE])
    read = read_cases(tmp_path / "cases.jsonl")
    assert [c.codes for c in read] == [case.codes, ()]
    assert "codes" not in (tmp_path / "cases.jsonl").read_text().splitlines()[1]
    module = SimpleNamespace(**{**vars(utility), "ATTACKS": (case,), "HONEST": utility.HONEST[:1]})
    assert self_test(module, {}, read[:1]).broken == ("two cases are called attack ledger/open/needless",)
    other = replace(case, name="other", codes=("left_out",))
    assert self_test(module, {}, (other,)).broken == ("attack other failed for needless_assumption, not for left_out",)
    assert corpus_hash([case]) != corpus_hash([replace(case, codes=())])
