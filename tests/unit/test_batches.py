"""What a step learns from: the declared mix, rows that carry the sampled tokens, normalisers of the whole step."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from askfirst import plan as plans
from askfirst import planfile, plugins
from askfirst.batches import clear_mix, draw_scenarios, make_rows, moves, probe_rows, scales, with_reference
from askfirst.errors import EnvironmentFault, InputError
from askfirst.sections import OptimiserSection
from askfirst.values import Act, FrozenMap, Group, Message, Rollout, Scenario, Score, Segment, StopReason, Trajectory

PLAN = plans.load(Path(__file__).parents[2] / "examples" / "quickstart.toml")
ENV = plugins.load("envs", "judgment")
SCENARIO = Scenario("s", "f", "ambiguous", "train", True, (Message("user", "x"),), FrozenMap())


def group(*rewards: float) -> Group:
    """Rollouts with replies of 1, 2, 3 … tokens."""
    rollouts = []
    for index, reward in enumerate(rewards):
        reply = Segment(tuple(range(10, 11 + index)), True, (-0.5,) * (index + 1))
        trajectory = Trajectory((Message("assistant", "y"),), (Segment((1, 2, 3), False), reply), StopReason.END)
        score = Score(reward, FrozenMap({"pass": reward}), reward > 0, (), "r@1")
        rollouts.append(Rollout(SCENARIO, index, trajectory, Act("a"), score))
    return Group(SCENARIO, tuple(rollouts))


def test_a_batch_has_the_declared_mix_and_twins() -> None:
    chosen = draw_scenarios(ENV, PLAN, 0, 0)
    clear = [s for s in chosen if not s.ambiguous]
    assert (len(chosen), len(clear)) == (10, 4)
    assert [s.id for s in draw_scenarios(ENV, PLAN, 0, 0)] == [s.id for s in chosen]
    assert [s.id for s in draw_scenarios(ENV, PLAN, 0, 1)] != [s.id for s in chosen]
    assert {s.family.split(".")[1] for s in clear if s.stratum == "clear_twin"} <= set(PLAN.env.twin_kinds or ())


def plain() -> plans.Plan:
    """The plan without kinds of its own."""
    document = PLAN.model_dump(mode="json", exclude_none=True)
    for name in ("kinds", "twin_kinds"):
        del document["env"][name]
    return plans.validate(document, "x")


def test_without_kinds_of_its_own_a_batch_holds_twins_of_its_requests() -> None:
    chosen = draw_scenarios(ENV, plain(), 0, 0)
    twins = {s.twin for s in chosen if s.ambiguous}
    found = [s for s in chosen if s.stratum == "clear_twin"]
    assert found
    assert all(s.twin in twins for s in found)


def test_every_clear_stratum_comes_up_over_a_run() -> None:
    drawn = {s.stratum for step in range(60) for s in draw_scenarios(ENV, PLAN, 0, step)}
    assert drawn == set(ENV.STRATA)


def edited(*edits: str) -> plans.Plan:
    document = PLAN.model_dump(mode="json", exclude_none=True)
    return plans.validate(planfile.edit(document, list(edits)), "x")


def test_a_plan_may_say_what_is_practised() -> None:
    plan = edited(
        "env.twin_fraction=1.0", "env.kinds={missing=1}", "env.twin_kinds={several=1}", "env.clear_fraction=[0.3, 0.4]"
    )
    for step in range(5):
        chosen = draw_scenarios(ENV, plan, 0, step)
        assert {s.family.split(".")[0] for s in chosen if s.ambiguous} == {"missing"}
        assert {s.family.split(".")[1] for s in chosen if not s.ambiguous} == {"several"}
        assert {s.stratum for s in chosen} == {"ambiguous", "clear_twin"}


def test_the_mix_of_clear_scenarios_keeps_the_others_in_proportion() -> None:
    own = {"clear_twin": 0.5, "answer": 0.3, "edit": 0.2}
    assert clear_mix(own, None) == own
    assert clear_mix(own, 0.9) == pytest.approx({"clear_twin": 0.9, "answer": 0.06, "edit": 0.04})
    assert clear_mix({"clear_twin": 1.0}, 0.4) == {"clear_twin": 0.4}


@pytest.mark.parametrize("kinds", ["{vague=1, blurred=2}", "{}"])
def test_kinds_that_the_environment_does_not_know_are_refused(kinds: str) -> None:
    with pytest.raises(InputError, match="no kind of ambiguity"):
        draw_scenarios(ENV, edited(f"env.kinds={kinds}"), 0, 0)


def test_an_environment_that_ignores_the_mix_stops_the_run() -> None:
    lazy = SimpleNamespace(
        scenarios=lambda split, n, seed, strata: [SCENARIO] * n, CLEAR_MIX={"a": 1.0}, __name__="lazy"
    )
    with pytest.raises(EnvironmentFault, match="0% clear"):
        draw_scenarios(lazy, plain(), 0, 0)  # type: ignore[arg-type]


def test_rows_carry_exactly_the_sampled_tokens() -> None:
    rows = make_rows([group(1.0, 0.0)], plugins.load("advantages", "dr_grpo"), {})
    assert [list(r.token_ids) for r in rows] == [[1, 2, 3, 10], [1, 2, 3, 10, 11]]
    assert [list(r.mask) for r in rows] == [[False] * 3 + [True], [False] * 3 + [True] * 2]
    assert rows[0].advantages == pytest.approx([0, 0, 0, 0.5])
    assert rows[1].sampler_logprobs == pytest.approx([0, 0, 0, -0.5, -0.5])


def test_made_up_advantages_do_not_cancel_for_a_policy_that_always_says_the_same() -> None:
    rows = probe_rows([group(1.0, 1.0), group(0.0, 0.0, 1.0)])
    given = [float(r.advantages[r.mask][0]) for r in rows]
    assert given == [-1.0, 0.5, -1.0, 0.5, -1.0]


def test_only_rows_without_any_advantage_do_not_move() -> None:
    credit = plugins.load("advantages", "grpo")
    assert not any(moves(r) for r in make_rows([group(1.0, 1.0, 1.0)], credit, {}))
    assert all(moves(r) for r in make_rows([group(1.0, 0.0)], credit, {}))


@pytest.mark.parametrize(
    ("normaliser", "expected"),
    [
        ("token_mean", (1 / 6,) * 3),
        ("sequence_mean", (1 / 3, 1 / 6, 1 / 9)),
        ("fixed", (1 / 30,) * 3),
        ("sum", (1.0,) * 3),
    ],
)
def test_normalisers(normaliser: str, expected: tuple[float, ...]) -> None:
    rows = make_rows([group(1.0, 0.0, 0.0)], plugins.load("advantages", "grpo"), {})
    found = scales(rows, OptimiserSection.model_validate({"normaliser": normaliser}), max_tokens=10)
    assert found.rows == pytest.approx(expected)


def test_a_penalty_in_the_reward_comes_off_the_advantages() -> None:
    train = PLAN.train.model_copy(
        update={"kl": PLAN.train.kl.model_copy(update={"beta": 0.5, "estimator": "k1", "place": "reward"})}
    )
    rows = make_rows([group(1.0, 0.0)], plugins.load("advantages", "dr_grpo"), {})
    reference = [np.where(r.mask, -0.7, 0.0) for r in rows]
    found = with_reference(rows, reference, train)
    assert found[0].advantages == pytest.approx([0, 0, 0, 0.5 - 0.5 * (-0.5 + 0.7)])
    assert found[0].reference_logprobs == pytest.approx(reference[0])
