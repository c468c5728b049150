"""Numbers of the losses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askfirst.errors import PlanError
from askfirst.losses import importance_sampling, ppo_clip
from askfirst.values import Row


def one_token(ratio: float, advantage: float) -> tuple[Row, np.ndarray]:
    """A masked token with that ratio behind a prompt token."""
    mask = np.array([False, True])
    row = Row(np.array([5, 6]), mask, np.array([0.0, -1.0]), np.zeros(0), np.array([0.0, advantage]))
    return row, np.array([0.0, -1.0 + math.log(ratio)])


@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "slope"),
    [
        (1.1, 2.0, -2.2, -2.2),
        (1.5, 2.0, -2.4, 0.0),  # a rise beyond the clip earns no more
        (0.5, 2.0, -1.0, -1.0),  # a fall of a good token is not clipped
        (0.5, -2.0, 1.6, 0.0),
        (1.5, -2.0, 3.0, 3.0),
        (9.0, -2.0, 18.0, 18.0),
    ],
)
def test_ppo_clip(ratio: float, advantage: float, value: float, slope: float) -> None:
    row, policy = one_token(ratio, advantage)
    found, derivative = ppo_clip.loss(row, policy, 1.0, {})
    assert found == pytest.approx(value)
    assert derivative.tolist() == pytest.approx([0.0, slope])
    assert ppo_clip.clipped(row, policy, {}).tolist() == [False, slope == 0.0]


def test_clip_bounds_are_two() -> None:
    row, policy = one_token(1.25, 1.0)
    assert ppo_clip.loss(row, policy, 1.0, {"clip_high": 0.28})[0] == pytest.approx(-1.25)
    assert ppo_clip.loss(row, policy, 1.0, {"clip_low": 0.28})[0] == pytest.approx(-1.2)


def test_dual_clip_bounds_a_bad_token_only() -> None:
    bad, policy = one_token(9.0, -2.0)
    value, slope = ppo_clip.loss(bad, policy, 1.0, {"dual_clip": 3.0})
    assert (value, slope[1]) == (pytest.approx(6.0), 0.0)
    good, policy = one_token(0.1, 2.0)
    assert ppo_clip.loss(good, policy, 1.0, {"dual_clip": 3.0})[0] == pytest.approx(-0.2)


def test_importance_sampling_never_clips() -> None:
    row, policy = one_token(9.0, 2.0)
    value, slope = importance_sampling.loss(row, policy, 0.5, {})
    assert (value, slope[1]) == (pytest.approx(-9.0), pytest.approx(-9.0))
    assert not importance_sampling.clipped(row, policy, {}).any()


@pytest.mark.parametrize("params", [{"clip": 0.2}, {"clip_low": 1.5}, {"clip_high": -0.1}, {"dual_clip": 0.5}])
def test_bad_parameters_are_refused(params: dict[str, float]) -> None:
    with pytest.raises(PlanError):
        ppo_clip.loss(*one_token(1.0, 1.0), 1.0, params)


@pytest.mark.parametrize("loss", [ppo_clip, importance_sampling])
@pytest.mark.parametrize("ratio", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_refused(loss, ratio: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        loss.loss(*one_token(ratio, 1.0), 1.0, {})


def test_an_absurd_ratio_is_refused() -> None:
    row, policy = one_token(1.0, 1.0)
    with pytest.raises(ValueError, match="likelier"):
        ppo_clip.loss(row, policy + 800.0 * row.mask, 1.0, {})


def test_lengths_must_fit() -> None:
    row, policy = one_token(1.0, 1.0)
    with pytest.raises(ValueError, match="shape"):
        ppo_clip.loss(row, policy[:1], 1.0, {})
