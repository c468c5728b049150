"""Every credit rule keeps the contract, and the contract catches rules that do not."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from askfirst import plugins
from askfirst.contracts import advantages as contract
from askfirst.credit import gaps
from askfirst.errors import PluginError

GROUP_RULES = plugins.names("advantages")


@pytest.mark.parametrize("name", GROUP_RULES)
def test_contract(name: str) -> None:
    contract.check(plugins.load("advantages", name))


def planted(body: object, **more: object) -> ModuleType:
    module = ModuleType("planted")
    vars(module).update({"advantages": body, "NEEDS": frozenset({"rewards"}), **more})
    return module


def guarded(formula):
    def body(evidence, params):
        rewards = evidence.rewards
        if len(rewards) < 2 or not np.isfinite(rewards).all():
            raise ValueError("not a group")
        return formula(rewards)

    return body


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (lambda r: r - r.mean(), "exact zeros"),  # the mean of equal floats is off by a bit
        (lambda r: np.where(r == r[0], 0.0, r - r[0]), "sum"),
        (lambda r: (r - r.mean()) * (1 + r.max()) * (np.ptp(r) > 0), "plus 5"),
        (lambda r: (r.mean() - r) * (np.ptp(r) > 0), "order"),
        (lambda r: (r - r.mean())[:-1], "as many"),
    ],
)
def test_contract_catches(formula, found: str) -> None:
    with pytest.raises(PluginError, match=found):
        contract.check(planted(guarded(formula)))


def test_contract_catches_a_rule_that_lets_nan_through() -> None:
    with pytest.raises(PluginError, match="ValueError"):
        contract.refuses_bad_rewards(planted(lambda e, p: e.rewards), {})


TAUGHT = {"NEEDS": frozenset({"teacher"}), "DEFAULTS": {"clip": 2.0}}


def by_teacher(formula):
    return lambda evidence, params: [formula(gap[:, 0], params.get("clip", 2.0)) for gap in gaps(evidence)]


def bounded(gap, clip):
    return np.clip(gap, -clip, clip) if clip else gap


def test_a_sound_teacher_rule_passes() -> None:
    contract.check(planted(by_teacher(bounded), **TAUGHT))


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (lambda gap, clip: bounded(gap, clip) + 1e-12, "exact zeros"),
        (lambda gap, clip: -bounded(gap, clip), "follow"),
        (lambda gap, clip: gap * 0.0, "follow"),
        (lambda gap, clip: gap, "reach"),
        (lambda gap, clip: np.full(gap.shape, np.nan), "shapes"),
        (lambda gap, clip: bounded(gap, clip)[:-1], "shapes"),
    ],
)
def test_contract_catches_a_teacher_rule(formula, found: str) -> None:
    with pytest.raises(PluginError, match=found):
        contract.check(planted(by_teacher(formula), **TAUGHT))


def test_contract_catches_a_rule_that_takes_any_teacher() -> None:
    careless = planted(lambda e, p: [t[:, 0] - e.policy[i][0, 0] for i, t in enumerate(e.teacher)], **TAUGHT)
    with pytest.raises(PluginError, match="not a ValueError"):
        contract.refuses_bad_teachers(careless, {})


@pytest.mark.parametrize("needs", [{"logits", "teacher"}, set(), {"alternatives"}])
def test_contract_catches_unknown_needs(needs: set[str]) -> None:
    with pytest.raises(PluginError, match="NEEDS"):
        contract.check(planted(by_teacher(bounded), NEEDS=frozenset(needs)))
