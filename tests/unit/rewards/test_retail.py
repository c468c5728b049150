"""What no case of `retail` can hold: episodes that stop in another way than those that a case plays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askfirst.cases import play
from askfirst.envs import retail as env
from askfirst.retail.scene_cases import named
from askfirst.rewards import retail
from askfirst.values import FrozenMap, Score, StopReason

AT = named("clear/cancel/order")


def scored(said: tuple[str, ...], stop: StopReason) -> Score:
    return retail.score(AT.scenario, replace(play(env, AT.scenario, said), stop=stop), FrozenMap())


def test_an_episode_is_over_where_it_is_over_however_it_was_cut() -> None:
    assert scored(AT.honest, StopReason.LENGTH).passed
    assert scored(AT.honest, StopReason.END).total == 1.0


@pytest.mark.parametrize(
    ("stop", "code"),
    [(StopReason.LENGTH, "overflow"), (StopReason.TURNS, "unfinished"), (StopReason.END, "unfinished")],
)
def test_an_episode_that_stops_before_its_end_says_how(stop: StopReason, code: str) -> None:
    assert scored(AT.honest[:-1], stop).failures == (code,)


def test_a_call_that_was_cut_off_is_no_mistake_of_form() -> None:
    cut = (*AT.honest[:-1], AT.honest[-1][:-5])
    assert scored(cut, StopReason.LENGTH).failures == ("overflow",)
    assert scored(cut, StopReason.END).failures == ("unparsable",)
