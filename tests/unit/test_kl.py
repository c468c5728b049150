"""What each KL estimator pulls to, by exact expectation over a small vocabulary."""

from __future__ import annotations

import numpy as np
import pytest

from askfirst import kl
from askfirst.errors import PlanError
from askfirst.store import generator

DRAW = generator("test", "kl")
LOGITS, REFERENCE = DRAW.normal(size=7), DRAW.normal(size=7)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum())


REFERENCE_LOGPROBS = log_softmax(REFERENCE)


def reverse(logits):
    logprobs = log_softmax(logits)
    return float((np.exp(logprobs) * (logprobs - REFERENCE_LOGPROBS)).sum())


def forward(logits):
    return float((np.exp(REFERENCE_LOGPROBS) * (REFERENCE_LOGPROBS - log_softmax(logits))).sum())


def gradient(function):
    """Central differences by each logit."""
    moves = 1e-6 * np.eye(len(LOGITS))
    return np.array([(function(LOGITS + move) - function(LOGITS - move)) / 2e-6 for move in moves])


def expected(weight):
    """E[weight · ∇ logprob] over the policy, by logit."""
    chances = np.exp(log_softmax(LOGITS))
    scores = np.eye(len(LOGITS)) - chances  # row: the gradient of that token's logprob
    return (chances * weight) @ scores


@pytest.mark.parametrize(("estimator", "target"), [("k2", reverse), ("k3", forward)])
def test_gradient_of_the_loss_term(estimator: str, target) -> None:
    slope = kl.term(estimator, log_softmax(LOGITS), REFERENCE_LOGPROBS)[1]
    assert expected(slope) == pytest.approx(gradient(target), abs=1e-8)


def test_k1_in_the_loss_does_nothing() -> None:
    slope = kl.term("k1", log_softmax(LOGITS), REFERENCE_LOGPROBS)[1]
    assert expected(slope) == pytest.approx(np.zeros(7), abs=1e-12)
    assert "zero" in str(kl.useful("k1", "loss"))


def test_penalty_in_the_reward_is_the_reverse_kl() -> None:
    penalty = kl.penalty(log_softmax(LOGITS), REFERENCE_LOGPROBS, 0.3)
    assert expected(penalty) == pytest.approx(-0.3 * gradient(reverse), abs=1e-8)


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_unbiased_values(estimator: str) -> None:
    values = kl.term(estimator, log_softmax(LOGITS), REFERENCE_LOGPROBS)[0]
    assert float((np.exp(log_softmax(LOGITS)) * values).sum()) == pytest.approx(reverse(LOGITS), abs=1e-12)


def test_k3_is_never_negative_and_exact_near_zero() -> None:
    gap = np.array([-3.0, -1e-9, 0.0, 1e-9, 3.0])
    value, slope = kl.term("k3", gap, np.zeros(5))
    assert (value >= 0).all()
    assert slope[[1, 2, 3]].tolist() == pytest.approx([-1e-9, 0.0, 1e-9], rel=1e-6)


def test_derivatives_by_finite_differences() -> None:
    logprobs = log_softmax(LOGITS)
    for estimator in kl.ESTIMATORS:
        up, down = (kl.term(estimator, logprobs + s, REFERENCE_LOGPROBS)[0] for s in (1e-6, -1e-6))
        slope = kl.term(estimator, logprobs, REFERENCE_LOGPROBS)[1]
        assert slope == pytest.approx((up - down) / 2e-6, abs=1e-8)


def test_which_combinations_are_useful() -> None:
    useful = {(e, p) for e in kl.ESTIMATORS for p in kl.PLACES if kl.useful(e, p) is None}
    assert useful == {("k2", "loss"), ("k3", "loss"), ("k1", "reward")}
    with pytest.raises(PlanError):
        kl.useful("k1", "nowhere")


def test_bad_input_is_refused() -> None:
    zeros = np.zeros(2)
    with pytest.raises(PlanError, match="k4"):
        kl.term("k4", zeros, zeros)
    with pytest.raises(PlanError, match="beta"):
        kl.penalty(zeros, zeros, -0.1)
    with pytest.raises(ValueError, match="finite"):
        kl.term("k2", np.array([0.0, float("nan")]), zeros)
    with pytest.raises(ValueError, match="shapes"):
        kl.term("k2", zeros, np.zeros(0))
