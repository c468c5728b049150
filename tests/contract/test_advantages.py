"""Every credit rule keeps the contract, and the contract catches rules that do not."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from askfirst import plugins
from askfirst.contracts import advantages as contract
from askfirst.errors import PluginError

GROUP_RULES = plugins.names("advantages")


@pytest.mark.parametrize("name", GROUP_RULES)
def test_contract(name: str) -> None:
    contract.check(plugins.load("advantages", name))


def planted(body: object) -> ModuleType:
    module = ModuleType("planted")
    module.advantages = body  # type: ignore[attr-defined]
    return module


def guarded(formula):
    def body(rewards, params):
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
        contract.refuses_bad_rewards(planted(lambda r, p: r), {})
