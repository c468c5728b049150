"""The step: schedules, the objective's gradient, and what the corrections do."""

from __future__ import annotations

import numpy as np
import pytest

from askfirst.sections import TrainSection
from askfirst.steps import Method, Objective, learning_rate
from askfirst.values import Row


def row(seed: int = 0) -> Row:
    random = np.random.default_rng(seed)
    mask = np.array([False, False, True, True, True])
    logprobs = np.where(mask, -random.random(5), 0.0)
    reference = np.where(mask, -random.random(5), 0.0)
    return Row(np.arange(5), mask, logprobs, reference, np.where(mask, random.normal(), 0.0))


def method(**settings: object) -> Method:
    return Method.of(TrainSection.model_validate({"steps": 1, "lr": 1e-3, **settings}))


@pytest.mark.parametrize("correction", ["recompute", "truncated_is", "none"])
@pytest.mark.parametrize("loss", ["importance_sampling", "ppo_clip"])
@pytest.mark.parametrize("kl", [{}, {"beta": 0.3, "estimator": "k2"}, {"beta": 0.3, "estimator": "k3"}])
def test_slope_is_the_derivative(correction: str, loss: str, kl: dict) -> None:
    """Finite differences with the correction's own weights held still, as a gradient holds them."""
    chosen = method(loss=loss, kl=kl, sampling={"correction": correction})
    one = row()
    current = np.where(one.mask, one.sampler_logprobs + 0.03, 0.0)
    objective = Objective(chosen, [one], [0.25], True)
    _, slope = objective(0, current)
    held = Objective(chosen, [objective._corrected(one, current)], [0.25], False)
    for index in range(5):
        step = np.zeros(5)
        step[index] = 1e-6
        numeric = (held(0, current + step)[0] - held(0, current - step)[0]) / 2e-6
        expected = numeric if one.mask[index] else 0.0
        assert slope[index] == pytest.approx(expected, abs=1e-8)


def test_recompute_makes_the_first_ratio_one() -> None:
    one = row()
    off = np.where(one.mask, one.sampler_logprobs - 0.7, 0.0)
    value, slope = Objective(method(), [one], [1.0], True)(0, off)
    assert value == pytest.approx(-one.advantages[one.mask].sum())
    assert slope == pytest.approx(-one.advantages)


def test_truncated_weights_are_capped() -> None:
    one = row()
    chosen = method(sampling={"correction": "truncated_is", "truncation": 2.0})
    far = np.where(one.mask, one.sampler_logprobs + 5.0, 0.0)
    _, slope = Objective(chosen, [one], [1.0], True)(0, far)
    assert slope == pytest.approx(-2.0 * one.advantages)


def test_schedules() -> None:
    assert learning_rate(1.0, 0, 10, "constant", 4) == 0.25
    assert learning_rate(1.0, 3, 10, "constant", 4) == 1.0
    assert learning_rate(1.0, 9, 10, "constant", 4) == 1.0
    assert learning_rate(1.0, 5, 10, "linear", 0) == 0.5
    assert learning_rate(1.0, 5, 10, "cosine", 0) == pytest.approx(0.5)
    assert 0 < learning_rate(1.0, 9, 10, "linear", 0) <= 0.1 + 1e-12
    with pytest.raises(ValueError, match="no schedule"):
        learning_rate(1.0, 5, 10, "stairs", 0)
