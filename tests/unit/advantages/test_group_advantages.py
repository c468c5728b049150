"""Numbers of the group rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askfirst.advantages import dr_grpo, grpo, rloo
from askfirst.credit import Evidence
from askfirst.errors import PlanError


@pytest.mark.parametrize(("successes", "size"), [(1, 8), (3, 8), (7, 8), (1, 4), (2, 4)])
def test_grpo_on_binary_rewards(successes: int, size: int) -> None:
    rewards = np.array([1.0] * successes + [0.0] * (size - successes))
    mean = successes / size
    spread = math.sqrt(successes * (size - successes) / (size * (size - 1)))  # sample std, rl-math section 1
    found = grpo.advantages(Evidence(rewards), {"eps": 1e-6})
    assert found[0] == pytest.approx((1 - mean) / (spread + 1e-6), rel=1e-12)
    assert found[-1] == pytest.approx(-mean / (spread + 1e-6), rel=1e-12)


def test_grpo_eps_defaults_to_1e_4() -> None:
    assert grpo.advantages(Evidence(np.array([0.0, 2.0])), {})[1] == pytest.approx(1 / (math.sqrt(2) + 1e-4), rel=1e-12)


def test_a_lone_success_weighs_about_the_root_of_the_group() -> None:
    assert grpo.advantages(Evidence(np.array([1.0] + [0.0] * 63)), {})[0] == pytest.approx(8, rel=0.02)


def test_dr_grpo_and_rloo() -> None:
    rewards = np.array([1.0, 0.0, 0.0, 0.2])
    assert dr_grpo.advantages(Evidence(rewards), {}).tolist() == pytest.approx([0.7, -0.3, -0.3, -0.1])
    others = [rewards[i] - np.delete(rewards, i).mean() for i in range(4)]
    assert rloo.advantages(Evidence(rewards), {}).tolist() == pytest.approx(others, rel=1e-12)


@pytest.mark.parametrize("rule", [grpo, dr_grpo, rloo])
def test_parameters_that_nobody_reads_are_refused(rule) -> None:
    with pytest.raises(PlanError, match="epsilon"):
        rule.advantages(Evidence(np.array([0.0, 1.0])), {"epsilon": 1.0})


@pytest.mark.parametrize("eps", [0.0, -1.0, float("nan")])
def test_grpo_refuses_an_eps_that_divides_by_nothing(eps: float) -> None:
    with pytest.raises(PlanError, match="eps"):
        grpo.advantages(Evidence(np.array([0.0, 1.0])), {"eps": eps})


def test_a_group_of_one_and_a_batch_are_refused() -> None:
    with pytest.raises(ValueError, match="no baseline"):
        dr_grpo.advantages(Evidence(np.array([1.0])), {})
    with pytest.raises(ValueError, match="shape"):
        dr_grpo.advantages(Evidence(np.ones((2, 2))), {})
