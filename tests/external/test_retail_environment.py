"""Environment `retail` on the published tasks: oracle and floors, and both rewards side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from askfirst import plugins
from askfirst.cases import play
from askfirst.retail.calls import Call
from askfirst.retail.oracle import tell
from askfirst.retail.task import hidden_of
from askfirst.retail.user import call_of
from askfirst.rollout import Scorer
from askfirst.values import Scenario

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-retail"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"{FOLDER} is not here")
OKAY = tell("Okay.").text()


def blind(scenario: Scenario) -> tuple[str, ...]:
    hidden = hidden_of(scenario)
    news = tell(" ".join(hidden.task.outputs) or "It is done.").text()
    return (*(Call(*call_of(each)).text() for each in hidden.wanted), news, OKAY)


@pytest.mark.thorough
def test_oracle_and_floors_are_the_published_ones() -> None:
    env = plugins.environment("retail", str(FOLDER))
    published, evidence = Scorer.named("retail_published"), Scorer.named("retail")
    policies = {
        "gold": lambda s: next((d.reply, *d.then) for d in env.demonstrations(s)),
        "blind": blind,
        "nothing": lambda s: (OKAY, OKAY),
    }
    passes = {name: [0, 0] for name in policies}
    scenarios = env.scenarios("sealed", 115, 0)
    for scenario in scenarios:
        for name, policy in policies.items():
            episode = play(env, scenario, policy(scenario))
            passes[name][0] += published.score(scenario, episode).passed
            passes[name][1] += evidence.score(scenario, episode).passed
    assert passes["gold"][0] == passes["blind"][0] == 115
    assert passes["nothing"] == [7, 0]
    assert passes["blind"][1] == 0
    assert passes["gold"][1] >= 100, passes
    assert {s.id for s in scenarios}.isdisjoint(s.id for s in env.scenarios("train", 500, 0))
