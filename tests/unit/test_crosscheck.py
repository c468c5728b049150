"""The plan's loss against TRL's."""

from pathlib import Path

import numpy as np
import pytest

from askfirst import plan as plans
from askfirst.crosscheck import batch, compared, own_loss, same_as_trl, trl_loss
from askfirst.errors import GateFailed
from askfirst.gates import check
from askfirst.values import GateStatus

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"


def planned(*sets):
    return plans.load(EXAMPLE, ("correctness.trl='required'", *sets))


def test_it_is_asked_for():
    assert same_as_trl(plans.load(EXAMPLE)).reason == "not asked for"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("train.loss='importance_sampling'", "loss importance_sampling"),
        ("train.optimiser.normaliser='sum'", "normaliser sum"),
        ("train.loss_params.dual_clip=1.1", "a dual clip within the clip"),
        ("train.kl={ beta = 0.1, estimator = 'k1', place = 'reward' }", "k1 in the reward"),
    ],
)
def test_a_loss_that_trl_has_not_is_said(edit, words):
    found = same_as_trl(planned(edit))
    assert (found.status, found.reason) == (GateStatus.NOT_APPLICABLE, f"TRL has no loss with {words}")


def test_without_the_package_it_blocks_where_the_plan_requires_it():
    found = same_as_trl(planned(), package="no_such_trainer")
    assert found.status is GateStatus.UNVERIFIED
    with pytest.raises(GateFailed, match="TRL is not installed"):
        check([found])
    found = same_as_trl(plans.load(EXAMPLE, ("correctness.trl='installed'",)), package="no_such_trainer")
    assert found.status is GateStatus.NOT_APPLICABLE
    assert "does not require it" in found.reason


def test_a_gradient_that_differs_fails_by_the_tolerances_of_the_plan():
    plan = planned()
    value, slope = own_loss(plan.train, *batch(plan.train))
    assert compared((value, slope), (value, slope), plan.correctness).status is GateStatus.PASSED
    bent = slope.copy()
    bent[5] += 1e-4
    for other in ((value + 1e-4, slope), (value, bent)):
        found = compared((value, slope), other, plan.correctness)
        assert (found.status, round(float(found.measured), 6)) == (GateStatus.FAILED, 1e-4)
        wide = planned("correctness.atol=1e-3", "correctness.cosine=0.99").correctness
        assert compared((value, slope), other, wide).status is GateStatus.PASSED
    wide = planned("correctness.atol=9.0").correctness
    assert compared((value, slope), (value, -slope), wide).status is GateStatus.FAILED


@pytest.mark.thorough
def test_it_is_the_loss_of_trl():
    pytest.importorskip("trl", reason="needs the extra trl")
    for normaliser in ("token_mean", "sequence_mean", "fixed"):
        for beta in (0.0, 0.3):
            for clip in ("{}", "{ clip_low = 0.1, clip_high = 0.3 }", "{ dual_clip = 1.4 }"):
                plan = planned(
                    "arm=[{ name = 'anchored' }]",
                    f"train.optimiser.normaliser='{normaliser}'",
                    f"train.loss_params={clip}",
                    f"train.kl={{ beta = {beta}, estimator = 'k3', place = 'loss' }}",
                )
                found = same_as_trl(plan)
                assert found.status is GateStatus.PASSED, (normaliser, beta, clip, found)
    rows, logprobs = batch(plan.train)
    other = planned("train.loss_params.clip_low=0.3").train
    assert not np.allclose(own_loss(plan.train, rows, logprobs)[1], trl_loss(other, rows, logprobs)[1])
