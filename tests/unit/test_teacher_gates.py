"""The gates on a teacher pass on a sound one, and each fails on a planted fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askfirst import plan as plans
from askfirst import planfile, plugins
from askfirst.advantages import sdpo_token
from askfirst.backends.tabular import Tabular
from askfirst.policy import Sampling
from askfirst.rollout import Stage
from askfirst.store import seed_from
from askfirst.teacher_gates import teacher_gates
from askfirst.values import GateStatus

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAN = plans.load(EXAMPLES / "sdpo-judgment-tabular.toml")
ENV = plugins.load("envs", "judgment")
STAGE = Stage(ENV, "", Sampling(400))
PROBE = ENV.scenarios("train", 4, seed_from("micro-run"))


def failed(policy: Tabular, plan: plans.Plan = PLAN) -> set[str]:
    found = teacher_gates(policy, STAGE, plan, PROBE)
    assert [r.name for r in found] == ["teacher acts", "lesson"] * 2  # sdpo and hybrid
    return {r.name for r in found if r.status is not GateStatus.PASSED}


def test_a_sound_teacher_passes_and_the_policy_is_left_as_it_was() -> None:
    policy = Tabular()
    assert failed(policy) == set()
    assert policy.fingerprint() == Tabular().fingerprint()


def test_a_plan_without_a_teacher_has_no_such_gates() -> None:
    assert teacher_gates(Tabular(), STAGE, plans.load(EXAMPLES / "e2e.toml"), PROBE) == []


class Restless(Tabular):
    """Its teacher differs from it without a reason."""

    def teacher_logprobs(self, rows: Any, teacher: Any) -> Any:
        return [
            np.where(r.mask, lp - 1e-6, 0.0)
            for r, lp in zip(rows, super().teacher_logprobs(rows, teacher), strict=True)
        ]


class Half(Tabular):
    """Its step counts half of the objective where a row's tokens differ in advantage."""

    def update(self, rows: Any, objective: Any, settings: Any) -> Any:
        def other(i: int, lp: Any) -> Any:
            value, slope = objective(i, lp)
            uneven = np.ptp(rows[i].advantages[rows[i].mask]) > 0
            return (value / 2, slope / 2) if uneven else (value, slope)

        return super().update(rows, other, settings)


@pytest.mark.parametrize(("policy", "gates"), [(Restless, {"teacher acts"}), (Half, {"lesson"})])
def test_a_planted_fault_is_found(policy: type[Tabular], gates: set[str]) -> None:
    assert failed(policy()) == gates


def test_a_teacher_that_never_sees_the_notes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askfirst.backends.tabular._request.parted", lambda text: (text.partition("[notes]")[0], ""))
    assert "teacher acts" in failed(Tabular())


def test_a_rule_with_the_sign_turned_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = sdpo_token.advantages
    monkeypatch.setattr(sdpo_token, "advantages", lambda e, p: [-a for a in right(e, p)])
    assert failed(Tabular()) == {"lesson"}


def test_notes_that_do_not_fit_are_found() -> None:
    short = plans.validate(
        planfile.edit(PLAN.model_dump(mode="json", exclude_none=True), ["teacher.max_tokens=3"]), "x"
    )
    assert "teacher acts" in failed(Tabular(), short)
