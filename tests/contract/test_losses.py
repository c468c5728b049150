"""Every loss keeps the contract, and the contract catches losses that do not."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from askfirst import plugins
from askfirst.contracts import losses as contract
from askfirst.errors import PluginError

PARAMS = {"ppo_clip": ({}, {"clip_low": 0.1, "clip_high": 0.28}, {"dual_clip": 1.5})}
CASES = [(name, params) for name in plugins.names("losses") for params in PARAMS.get(name, ({},))]


@pytest.mark.parametrize(("name", "params"), CASES)
def test_contract(name: str, params: dict[str, float]) -> None:
    contract.check(plugins.load("losses", name), params)


def planted(formula) -> ModuleType:
    def loss(row, policy, scale, params):
        ratio = np.exp(policy - row.sampler_logprobs)
        value, slope = formula(ratio, row.advantages, row.mask)
        return scale * float(value.sum()), scale * slope

    module = ModuleType("planted")
    module.loss = loss  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (lambda r, a, m: (-r * a * m, -a * m), "finite differences"),
        (lambda r, a, m: (-r * a * m, -r * a * m + ~m), "off the mask is"),
        (lambda r, a, m: (-r * a, -r * a * m), "reach the loss"),
        (lambda r, a, m: (r * a * m, r * a * m), "ratio 1"),
        (lambda r, a, m: (-r * a * m / m.sum(), -r * a * m / m.sum()), "ratio 1"),
        (lambda r, a, m: (-r * a * m + len(r) ** 2, -r * a * m), "sum of the losses"),
    ],
)
def test_contract_catches(formula, found: str) -> None:
    with pytest.raises(PluginError, match=found):
        contract.check(planted(formula))
