"""Every judge that ships, held to the contract of its kind; a new file is tested by existing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from askfirst import plugins
from askfirst.contracts import judges
from askfirst.errors import JudgeFault, PluginError
from askfirst.judgement import Judgement
from askfirst.judging import Judge
from askfirst.sections import JudgeSection
from askfirst.values import FrozenMap, Message, Scenario, Score, Trajectory

GOOD = FrozenMap({"grounded": 1, "asks": 0})


def planted(judge: Callable[[Scenario, Trajectory, Score], object]) -> Judge:
    module = ModuleType("planted")
    module.__dict__.update(VERSION=1, DIMENSIONS=("grounded", "asks"), judge=judge)
    return Judge(module)


@pytest.mark.parametrize("name", plugins.names("judges"))
def test_the_contract_holds(name: str) -> None:
    judges.check_plugin(plugins.load("judges", name))


def test_a_sound_judge_of_a_third_party_holds() -> None:
    judges.check(planted(lambda scenario, trajectory, score: Judgement("planted@1", GOOD, "ask first")))


def leaks(scenario: Scenario, trajectory: Trajectory, score: Score) -> Judgement:
    return Judgement("planted@1", GOOD, f"it was {' '.join(scenario.values)} and {dict(scenario.hidden)}")


def repeats_codes(scenario: Scenario, trajectory: Trajectory, score: Score) -> Judgement:
    return Judgement("planted@1", GOOD, " ".join(score.failures))


def chokes(scenario: Scenario, trajectory: Trajectory, score: Score) -> Judgement:
    trajectory.reply.encode()
    return Judgement("planted@1", GOOD, "")


def scores_garbage(scenario: Scenario, trajectory: Trajectory, score: Score) -> Judgement:
    return Judgement("planted@1", GOOD, "", "" if trajectory.reply.startswith("{") else "not an object")


@pytest.mark.parametrize(
    ("judge", "complaint"),
    [
        (leaks, "is told the hidden"),
        (repeats_codes, "is told the hidden"),
        (chokes, "raised UnicodeEncodeError"),
        (scores_garbage, "gave scores of what it could not read"),
        (lambda *given: None, "returned NoneType"),
        (lambda *given: Judgement("p", FrozenMap({"grounded": 1}), ""), "not 0 or 1 for each"),
        (lambda *given: Judgement("p", FrozenMap({"grounded": 0.5, "asks": 1}), ""), "not 0 or 1 for each"),
        (lambda *given: Judgement("p", FrozenMap(), ""), "not 0 or 1 for each"),
    ],
)
@pytest.mark.thorough
def test_a_planted_fault_is_found(judge: Callable[..., object], complaint: str) -> None:
    with pytest.raises(JudgeFault, match=complaint):
        judges.check(planted(judge))


def test_a_judge_that_remembers_is_found() -> None:
    seen: list[str] = []

    def remembers(scenario: Scenario, trajectory: Trajectory, score: Score) -> Judgement:
        seen.append(scenario.id)
        return Judgement("planted@1", FrozenMap({"grounded": len(seen) % 2, "asks": 0}), "")

    with pytest.raises(JudgeFault, match="differently a second time"):
        judges.check(planted(remembers))


def test_a_plugin_that_judges_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = plugins.load("judges", "rules")
    monkeypatch.delattr(rules, "judge")
    with pytest.raises(PluginError, match="must define judge, or prompt and read"):
        Judge.named(JudgeSection(name="rules"))


def asking(**changed: object) -> ModuleType:
    """The judge that a model speaks for, with a part of it changed."""
    whole = plugins.load("judges", "model")
    module = ModuleType("asking")
    module.__dict__.update(
        {name: getattr(whole, name) for name in ("VERSION", "DIMENSIONS", "PROMPTS", "prompt", "read")}
    )
    module.__dict__.update(changed)
    return module


def guesses(text: str) -> Judgement:
    return Judgement("asking@1", FrozenMap(dict.fromkeys(asking().DIMENSIONS, 1)), "")


def tells(scenario: Scenario, trajectory: Trajectory) -> tuple[Message, ...]:
    return (Message("user", f"{dict(scenario.hidden)} {scenario.values}"),)


class Wanders:
    """Asks something else every time."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, scenario: Scenario, trajectory: Trajectory) -> tuple[Message, ...]:
        self.count += 1
        return (Message("user", f"episode {self.count}"),)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"read": guesses}, "makes scores of the reply ''"),
        ({"read": json.loads}, "raised JSONDecodeError on the reply ''"),
        ({"prompt": tells}, "shows the hidden"),
        ({"prompt": Wanders()}, "asks differently a second time"),
        ({"prompt": lambda scenario, trajectory: trajectory.messages[9]}, "raised IndexError on an episode"),
        ({"PROMPTS": None}, "names no PROMPTS"),
    ],
)
@pytest.mark.thorough
def test_a_planted_fault_of_a_judge_with_a_model_is_found(changed: dict[str, object], complaint: str) -> None:
    with pytest.raises(JudgeFault, match=complaint):
        judges.check_plugin(asking(**changed))


def test_secrets_are_what_was_neither_shown_nor_said() -> None:
    episode = next(e for e in judges.episodes() if e.scenario.hidden.get("truth") and judges.secrets(e))
    [first, *_] = judges.secrets(episode)
    said = replace(episode.trajectory.messages[-1], content=f"{first}, as i said")
    told = replace(episode, trajectory=replace(episode.trajectory, messages=(*episode.trajectory.messages, said)))
    assert first not in judges.secrets(told)
