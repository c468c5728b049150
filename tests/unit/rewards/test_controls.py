"""Controls: they pay what they say they pay, pass nothing, and keep the laws that they make no exception from."""

from __future__ import annotations

import numpy as np
import pytest

from askfirst import plugins
from askfirst.cases import replied
from askfirst.contracts import laws
from askfirst.contracts.reported import is_control
from askfirst.rewards import format_only, random_control, slots
from askfirst.values import FrozenMap

ENV = plugins.load("envs", "judgment")
SCENARIOS = ENV.scenarios("train", 40, 7)
NONE: FrozenMap = FrozenMap()


def test_which_rewards_are_controls() -> None:
    assert [name for name in plugins.names("rewards") if is_control(name)] == ["format_only", "random_control"]


def test_the_random_control_knows_nothing_of_honesty() -> None:
    honest, wrong = [], []
    for scenario, other in zip(SCENARIOS, [*SCENARIOS[1:], SCENARIOS[0]], strict=True):
        for own, pool in ((scenario, honest), (other, wrong)):
            for shown in ENV.demonstrations(own):
                score = random_control.score(scenario, replied(scenario, shown.reply), NONE)
                assert (score.passed, score.failures) == (False, ("control",))
                pool.append(score.total)
    assert len(set(honest)) > 0.9 * len(honest)
    for draws in (honest, wrong):  # uniform on [0, 1): mean 1/2, deviation √(1/12)
        assert abs(np.mean(draws) - 0.5) < 4 * np.sqrt(1 / 12 / len(draws))
    one = SCENARIOS[0]
    reply = ENV.demonstrations(one)[0].reply
    first, again = (random_control.score(one, replied(one, reply), NONE) for _ in range(2))
    assert first == again
    assert random_control.score(one, replied(one, f"{reply} "), NONE) != first


def test_the_format_control_pays_form_and_nothing_else() -> None:
    for scenario, other in zip(SCENARIOS, [*SCENARIOS[1:], SCENARIOS[0]], strict=True):
        for reply in (ENV.demonstrations(scenario)[0].reply, ENV.demonstrations(other)[0].reply):
            score = format_only.score(scenario, replied(scenario, reply), NONE)
            assert (score.total, score.passed) == (1.0, False)
        assert format_only.score(scenario, replied(scenario, f"{reply}."), NONE).total == 0.0
    held = [case for case in slots.ATTACKS if not case.env]
    paid = [format_only.score(c.scenario, c.trajectory(), NONE).total for c in held]
    assert 0 < sum(paid) < len(paid)  # it holds against what breaks the form, and against nothing else


@pytest.mark.parametrize("name", ["format_only", "random_control"])
def test_it_keeps_every_law_that_it_makes_no_exception_from(name: str) -> None:
    reward = plugins.load("rewards", name)
    tried = laws.survey(reward, laws.subjects(ENV, SCENARIOS), 40)
    assert {each.law for each in tried if each.breaches and not each.exception} == set()
    excepted = {each.law for each in tried if each.exception}
    assert excepted == set(getattr(reward, "LAW_EXCEPTIONS", ()))
    assert [each.law for each in tried if each.exception and each.count and not each.breaches] == []
