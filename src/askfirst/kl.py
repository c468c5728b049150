"""Per-token estimators of the divergence from the reference (Schulman 2020, "Approximating KL divergence").

With d = policy logprob − reference logprob of a sampled token:

estimator  value               derivative    as a loss term, expected gradient on policy
k1         d                   1             0: it does nothing
k2         d² / 2              d             ∇KL(policy ‖ reference)
k3         exp(−d) + d − 1     1 − exp(−d)   ∇KL(reference ‖ policy)

As a reward, −β·d gives the gradient of −β·KL(policy ‖ reference). None of these is corrected by the ratio.
"""

from __future__ import annotations

import numpy as np

from askfirst.errors import PlanError
from askfirst.values import Floats

ESTIMATORS = ("k1", "k2", "k3")
PLACES = ("loss", "reward")


def term(estimator: str, logprobs: Floats, reference: Floats) -> tuple[Floats, Floats]:
    """Value in nats and derivative by the policy logprob for each token, both of the inputs' shape.

    Raises PlanError for an unknown estimator, ValueError for unequal shapes or a gap that is not finite.
    """
    gap = _gap(logprobs, reference)
    match estimator:
        case "k1":
            return gap, np.ones_like(gap)
        case "k2":
            return 0.5 * gap**2, gap
        case "k3":
            return np.expm1(-gap) + gap, -np.expm1(-gap)
    raise PlanError(f"no KL estimator is called {estimator!r}", hint=f"choose one of: {', '.join(ESTIMATORS)}")


def penalty(logprobs: Floats, reference: Floats, beta: float) -> Floats:
    """−β·d for each token, to be added to its advantage where the penalty's place is the reward.

    A token carries its own d only, not that of the tokens after it. Raises as `term`, and for a negative beta.
    """
    if not beta >= 0:
        raise PlanError(f"beta must be at least 0, found {beta}")
    return -beta * _gap(logprobs, reference)


def useful(estimator: str, place: str) -> str | None:
    """None where the combination pulls the policy to the reference, else the reason why it does not.

    Raises PlanError for an unknown estimator or place.
    """
    if estimator not in ESTIMATORS or place not in PLACES:
        raise PlanError(
            f"no KL penalty is {estimator!r} in the {place!r}",
            hint=f"estimators: {', '.join(ESTIMATORS)}; places: {', '.join(PLACES)}",
        )
    if place == "loss" and estimator == "k1":
        return "k1 in the loss has an expected gradient of zero; use k2 or k3 in the loss, or k1 in the reward"
    if place == "reward" and estimator != "k1":
        return f"{estimator} in the reward is the gradient of no KL and vanishes near the reference; use k1 there"
    return None


def _gap(logprobs: Floats, reference: Floats) -> Floats:
    if logprobs.shape != reference.shape:
        raise ValueError(f"logprobs of shapes {logprobs.shape} and {reference.shape} are not of the same tokens")
    gap = logprobs - reference
    if not np.isfinite(gap).all() or (gap.size and gap.min() < -700.0):
        raise ValueError("policy and reference logprobs must be finite and within 700 nats")
    return np.asarray(gap, dtype=np.float64)
