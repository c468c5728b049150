"""Numbers of the rules that take a teacher's word."""

from __future__ import annotations

import numpy as np
import pytest

from askfirst.advantages import hybrid, sdpo_token, sdpo_topk
from askfirst.credit import Evidence
from askfirst.errors import PlanError

OWN = (np.log([[0.5], [0.2]]), np.log([[0.9]]))
OTHER = (np.log([[0.25], [0.4]]), np.log([[0.01]]))
EVIDENCE = Evidence(np.array([1.0, 0.0]), OWN, OTHER)


def test_a_token_gets_what_the_teacher_finds_it_likelier_by() -> None:
    first, second = sdpo_token.advantages(EVIDENCE, {})
    assert first == pytest.approx([-np.log(2), np.log(2)])
    assert second == pytest.approx([-2.0])  # log(1/90) is clipped
    assert sdpo_token.advantages(EVIDENCE, {"clip": 0})[1] == pytest.approx([-np.log(90)])


def test_alternatives_get_the_gradient_of_the_bucketed_divergence() -> None:
    """Finite differences of Σ p (log p − log q) over two alternatives and the rest, by their logits."""
    logits, other = np.array([0.3, -0.2, 0.9, 0.1]), np.log([0.2, 0.5, 0.1, 0.2])

    def softmax(values):
        return np.exp(values) / np.exp(values).sum()

    def divergence(values):
        p, q = softmax(values), np.exp(other)
        p, q = (np.array([x[0], x[2], x[1] + x[3]]) for x in (p, q))
        return float((p * np.log(p / q)).sum())

    p = softmax(logits)
    columns = [1, 0, 2]  # the sampled token is no alternative here
    seen = Evidence(np.zeros(1), (np.log(p)[None, columns],), (other[None, columns],))
    (weights,) = sdpo_topk.advantages(seen, {"k": 2, "clip": 0})
    assert weights[0, 0] == 0.0
    for j in range(4):
        step = np.eye(4)[j] * 1e-6
        numeric = (divergence(logits + step) - divergence(logits - step)) / 2e-6
        slopes = [float(j == column) - p[j] for column in (0, 2)]  # d log p_k / d logit_j
        assert -weights[0, 1:] @ slopes == pytest.approx(numeric, abs=1e-8)


def test_a_hybrid_is_what_its_weight_says() -> None:
    taught, group = sdpo_token.advantages(EVIDENCE, {}), np.array([1.0, -1.0]) / (np.sqrt(2) * (1 + 1e-4 * np.sqrt(2)))
    for weight in (0.0, 0.9, 1.0):
        found = hybrid.advantages(EVIDENCE, {"weight": weight})
        for own, a, g in zip(found, taught, group, strict=True):
            assert own == pytest.approx(weight * g + (1 - weight) * a)
    first = hybrid.advantages(EVIDENCE, {})[0]
    assert first == pytest.approx(0.9 * group[0] + 0.1 * taught[0])


@pytest.mark.parametrize(
    ("rule", "params", "word"),
    [
        (sdpo_token, {"clip": -1}, "clip"),
        (sdpo_token, {"k": 3}, "unknown"),
        (sdpo_topk, {"k": 0}, "k must"),
        (sdpo_topk, {"k": 2.5}, "k must"),
        (hybrid, {"weight": 1.5}, "weight"),
        (hybrid, {"eps": 0}, "eps"),
    ],
)
def test_bad_parameters_are_refused(rule, params: dict, word: str) -> None:
    with pytest.raises(PlanError, match=word):
        rule.advantages(EVIDENCE, params)
