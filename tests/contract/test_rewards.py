"""Every reward that ships, held to the contract of its kind; a new file is tested by existing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from askfirst import plugins
from askfirst.cases import replied, scenario
from askfirst.contracts.rewards import cases, self_test
from askfirst.errors import RewardFault
from askfirst.replies import Truth
from askfirst.values import FrozenMap

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


def planted(folder: Path, body: str, terms: str = TERMS) -> ModuleType:
    path = folder / "weak.py"
    path.write_text(WEAK.replace("{body}", body).replace("{terms}", terms), "utf-8")
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
        module.score(strange, replied(strange, known.reply), FrozenMap())


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
    score = module.score(case.scenario, replied(case.scenario, case.reply), FrozenMap())
    assert score.reward.startswith(f"{name}@{module.VERSION}")


def test_scores_are_the_same_in_another_process_with_another_hash_seed() -> None:
    code = (
        "from askfirst import plugins; from askfirst.cases import replied; m = plugins.load('rewards', 'slots'); "
        "print([m.score(c.scenario, replied(c.scenario, c.reply), {}).failures for c in m.ATTACKS])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("body", "terms", "complaint"),
    [
        ("total = float('?' in text)", TERMS, "attack stuffed earned 1, cap 0"),
        ("total = 0.0", TERMS, "honest case asks earned 0, floor 1"),
        ("total = float(text[0] == 'w' and ' and ' not in text) * 2", TERMS, "scored 2.0, outside"),
        ("total = float('get' in text)", '{"pass": 0.25}', "terms that add up to 0.25"),
        ("total = float('get' in text); text.encode('ascii')", TERMS, "raised UnicodeEncodeError"),
        ("total = float('get' in text); text[20]", TERMS, "raised IndexError"),
        ("total = float('get' in text and COUNT[0] % 2)", TERMS, "differently the second time"),
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
