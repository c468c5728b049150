"""Every reward that ships, held to the contract of its kind; a new file is tested by existing."""

from __future__ import annotations

import importlib.util
import inspect
import shutil
import sys
import time
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from askfirst import plugins
from askfirst.backends.scripted import Line, Scripted
from askfirst.cases import replied, scenario
from askfirst.cli import apart
from askfirst.contracts import limits
from askfirst.contracts.rewards import cases, fingerprint, self_test
from askfirst.errors import RewardFault
from askfirst.policy import Sampling
from askfirst.replies import Truth
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.values import FrozenMap, Message, Scenario, Score, Segment, Trajectory

REWARDS = plugins.names("rewards")

WEAK = """
from askfirst.cases import Case, scenario
from askfirst.replies import Truth
from askfirst.values import FrozenMap, Score

VERSION, BOUNDS = 1, (0.0, 1.0)
S = scenario("send it", Truth("clarify"))
ATTACKS = (Case("stuffed", "stuffing", S, "who, when and where?", 0.0, "three questions"),)
HONEST = (Case("asks", "clarify", S, "who should get it?", 1.0, "natural"),)
COUNT = [0]


def score(scenario, trajectory, params):
    text = trajectory.reply
    COUNT[0] += 1
    {body}
    return Score(total, FrozenMap({terms}), total > 0, () if total > 0 else ("no",), "weak@1")
"""
TERMS = '{"pass": total}'


def source(body: str, terms: str = TERMS) -> str:
    return WEAK.replace("{body}", body).replace("{terms}", terms)


def planted(folder: Path, body: str, terms: str = TERMS) -> ModuleType:
    path = folder / "weak.py"
    path.write_text(source(body, terms), "utf-8")
    spec = importlib.util.spec_from_file_location("weak", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", REWARDS)
def test_the_self_test_is_green(name: str) -> None:
    report = self_test(plugins.load("rewards", name), FrozenMap())
    assert report.broken == ()
    assert report.attacks >= 9
    assert report.honest >= 4


@pytest.mark.parametrize("name", REWARDS)
def test_a_scenario_without_truth_is_our_fault(name: str) -> None:
    module = plugins.load("rewards", name)
    known = cases(module)[1][0]
    strange = type(known.scenario)("x", "f", "", "dev", True, known.scenario.opening, FrozenMap({"colour": "red"}))
    with pytest.raises(RewardFault, match="truth"):
        module.score(strange, replied(strange, known.replies[0]), FrozenMap())


@pytest.mark.parametrize("name", REWARDS)
def test_unknown_params_are_refused(name: str) -> None:
    module = plugins.load("rewards", name)
    where = scenario("x", Truth("answer"))
    with pytest.raises(RewardFault, match="unknown reward params"):
        module.score(where, replied(where, "{}"), FrozenMap({"bonus": 2}))


@pytest.mark.parametrize("name", REWARDS)
def test_the_score_names_its_reward_and_version(name: str) -> None:
    module = plugins.load("rewards", name)
    case = cases(module)[1][0]
    score = module.score(case.scenario, case.trajectory(), FrozenMap())
    assert score.reward.startswith(f"{name}@{module.VERSION}")


def test_scores_are_the_same_in_another_process_with_another_hash_seed_and_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "elsewhere"
    package.mkdir()
    (package / "__init__.py").write_text("")
    weak = source("total = float('get' in text)")
    salt = "float('get' in text)", "float('get' in text) * (1 + hash('a word') % 1000) / 1000"
    first = "float('get' in text)", "float('get' in text) * 0.5 + 0.5 * (KEPT.setdefault(scenario.id, text) == text)"
    (package / "salted.py").write_text(weak.replace(*salt))
    (package / "remembers.py").write_text(weak.replace(*first).replace("COUNT = [0]", "COUNT, KEPT = [0], {}"))
    monkeypatch.syspath_prepend(str(tmp_path))
    every = [*REWARDS, "elsewhere:salted", "elsewhere:remembers"]
    one = apart.fingerprints(every, 1, backwards=False)
    other = apart.fingerprints(every, 2, backwards=True)
    assert [name for name in every if one[name] != other[name]] == every[-2:]
    assert {name: fingerprint(plugins.load("rewards", name)) for name in REWARDS} == {n: one[n] for n in REWARDS}


def test_another_process_that_fails_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(RewardFault, match="another process ended with exit code 1: it said nothing"):
        apart.fingerprints(["slots"], 1, backwards=True)


@pytest.mark.parametrize(
    ("body", "terms", "complaint"),
    [
        ("total = float('?' in text)", TERMS, "attack stuffed earned 1, cap 0"),
        ("total = 0.0", TERMS, "honest case asks earned 0, floor 1"),
        ("total = float(text[0] == 'w' and ' and ' not in text) * 2", TERMS, "scored 2.0, outside"),
        ("total = float('get' in text)", '{"pass": 0.25}', "terms that add up to 0.25"),
        ("total = float('get' in text); text.encode('ascii')", TERMS, "raised UnicodeEncodeError"),
        ("total = float('get' in text); text[20]", TERMS, "raised IndexError"),
        ("total = float('get' in text and COUNT[0] < 3)", TERMS, "differently the second time, in another order"),
        ("total = float('get' in text and not trajectory.segments)", TERMS, "other tokens and logprobs"),
        ("total = float('get' in text); COUNT[0] < 4 or text[20]", TERMS, "raised IndexError the second time"),
        ("total = float('get' in text or text.count('{') > 3)", TERMS, "random reply"),
        ("total = float('nan')", TERMS, "scored nan"),
    ],
)
def test_a_planted_fault_is_reported(tmp_path: Path, body: str, terms: str, complaint: str) -> None:
    broken = self_test(planted(tmp_path, body, terms)).broken
    assert any(complaint in line for line in broken), broken


def test_a_sound_reward_of_a_third_party_is_green(tmp_path: Path) -> None:
    assert self_test(planted(tmp_path, "total = float('get' in text)")).broken == ()


def test_a_reward_without_cases_is_not_green(tmp_path: Path) -> None:
    module = planted(tmp_path, "total = float('get' in text)")
    module.__dict__["ATTACKS"] = ()
    assert "there are no attacks" in self_test(module).broken


def test_the_report_speaks_for_one_source_and_one_corpus(tmp_path: Path) -> None:
    one = self_test(planted(tmp_path, "total = float('get' in text)"))
    other = self_test(planted(tmp_path, "total = float('get' in text or False)"))
    assert one.corpus == other.corpus
    assert one.source != other.source


@pytest.mark.parametrize("name", REWARDS)
def test_no_long_reply_takes_long(name: str) -> None:
    assert list(limits.slow(plugins.load("rewards", name))) == []


SLOW = {
    "doubles with every letter": "import re; total = float('get' in text); re.match('(a+)+$', text + '!')",
    "sleeps": "import time; total = float('get' in text); time.sleep(0.05 * (len(text) > 15_000))",
}


@pytest.mark.parametrize("body", SLOW.values(), ids=SLOW)
def test_a_reward_that_takes_too_long_is_found(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.03)
    monkeypatch.setattr(limits, "UNITS", ("a",))
    [found] = limits.slow(planted(tmp_path, body))
    assert "'a' again and again, took " in found
    assert "limit 0.03 s" in found


def test_a_busy_machine_is_not_the_fault_of_a_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.03)
    waits = iter([0.04, 0.0])
    assert limits.shortest(lambda *given: time.sleep(next(waits))) < 0.03
    assert limits.shortest(lambda *given: time.sleep(0.04)) > 0.03


def test_a_reward_that_raises_on_a_long_reply_is_found(tmp_path: Path) -> None:
    body = "total = float('get' in text)\n    if len(text) > 19_000: raise ValueError('too long')"
    found = list(limits.slow(planted(tmp_path, body)))
    assert len(found) == len(limits.UNITS)
    assert all("raised ValueError: too long" in words for words in found)


def test_long_replies_are_long_and_grow_from_short_ones() -> None:
    for each in limits.growing(cases(plugins.load("rewards", "slots"))[1]):
        sizes = [len(reply) for reply in each.replies]
        assert sizes[0] < 1000
        assert max(sizes) >= limits.LONGEST - len(each.unit)
        assert sizes[:-2] == sorted(sizes[:-2])


def test_a_reward_learns_nothing_of_who_the_policy_is() -> None:
    """Two policies that say the same are the same to it: it is handed messages, tokens and why the episode ended."""
    assert [field.name for field in fields(Trajectory)] == ["messages", "segments", "stop"]
    assert [field.name for field in fields(Message)] == ["role", "content"]
    assert [field.name for field in fields(Segment)] == ["token_ids", "sampled", "logprobs"]
    seen: list[tuple[Scenario, Trajectory]] = []

    def spy(scenario: Scenario, trajectory: Trajectory, params: object) -> Score:
        seen.append((scenario, trajectory))
        return Score(0.0, FrozenMap({"pass": 0.0}), False, ("no",), "spy@1")

    module = ModuleType("spy")
    module.__dict__.update(score=spy, BOUNDS=(0.0, 1.0))
    stage = Stage(plugins.load("envs", "judgment"), "be brief", Sampling(40))
    for name in ("first", "second"):
        policy = Scripted([Line("", "who is it for?")])
        policy.name = name
        rollouts(stage, policy, Scorer(module), [scenario("send it", Truth("clarify"))], Draw(1, 0, 1))
    assert len(seen) == 2
    assert seen[0] == seen[1]
    for name in REWARDS:
        taken = inspect.signature(plugins.load("rewards", name).score).parameters
        assert [*taken] == ["scenario", "trajectory", "params"]
