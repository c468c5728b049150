"""The losses that the Tinker API names: sums over the tokens of a sequence, and their slopes by its logprobs.

As its documentation has them (tinker-docs.thinkingmachines.ai, Losses): π is the policy, q the sampler (`logprobs`),
A the advantage, ρ = π / q. Arrays have the shape of the targets, (N,) or (N, K). Where the documentation names no
default for a setting, DEFAULTS says ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from askfirst.errors import InputError
from askfirst.values import Floats

# What comes with a sequence, the settings of the call, and the policy's logprobs → (value, d value / d logprob).
Loss = Callable[[Mapping[str, Floats], Mapping[str, float], Floats], tuple[float, Floats]]

LOW, HIGH = "clip_low_threshold", "clip_high_threshold"
# Loss → its settings. Thresholds of `gspo` and β of `dro` have no documented default.
DEFAULTS: dict[str, dict[str, float]] = {
    "cross_entropy": {},
    "importance_sampling": {},
    "ppo": {LOW: 0.8, HIGH: 1.2},
    "cispo": {LOW: 0.0, HIGH: 4.0},
    "gspo": {LOW: 0.8, HIGH: 1.2},
    "dro": {"beta": 0.05},
}
SAMPLED = frozenset({"logprobs", "advantages"})
# Loss → what it needs beside the targets, and what it also takes.
NEEDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(DEFAULTS, SAMPLED),
    "cross_entropy": frozenset(),
    "gspo": SAMPLED | {"sequence_ratio_mask"},
}
TAKES: dict[str, frozenset[str]] = {
    **{name: frozenset({LOW, HIGH}) if LOW in DEFAULTS[name] else frozenset() for name in DEFAULTS},
    "cross_entropy": frozenset({"weights"}),
}


def cross_entropy(
    inputs: Mapping[str, Floats], settings: Mapping[str, float], logprobs: Floats
) -> tuple[float, Floats]:
    """−Σ w log π; w is 1 where no weights come."""
    weights = inputs.get("weights", np.ones(logprobs.shape))
    return -float((weights * logprobs).sum()), -weights


def importance_sampling(
    inputs: Mapping[str, Floats], settings: Mapping[str, float], logprobs: Floats
) -> tuple[float, Floats]:
    """−Σ ρA."""
    terms = -_ratio(inputs, logprobs) * inputs["advantages"]
    return float(terms.sum()), terms


def ppo(inputs: Mapping[str, Floats], settings: Mapping[str, float], logprobs: Floats) -> tuple[float, Floats]:
    """−Σ min(ρA, clip(ρ)A)."""
    return _clipped(inputs, settings, _ratio(inputs, logprobs))


def cispo(inputs: Mapping[str, Floats], settings: Mapping[str, float], logprobs: Floats) -> tuple[float, Floats]:
    """−Σ sg(clip(ρ)) A log π."""
    low, high = _thresholds(inputs, settings)
    slope = -np.clip(_ratio(inputs, logprobs), low, high) * inputs["advantages"]
    return float((slope * logprobs).sum()), slope


def gspo(inputs: Mapping[str, Floats], settings: Mapping[str, float], logprobs: Floats) -> tuple[float, Floats]:
    """−Σ min(sA, clip(s)A), s = exp(mean log ρ on the mask), with the gradient of each token's own log π."""
    counted = inputs["sequence_ratio_mask"] != 0
    if not counted.any():
        raise InputError("sequence_ratio_mask marks no token")
    ratio = float(np.exp((logprobs - inputs["logprobs"])[counted].mean()))
    return _clipped(inputs, settings, np.full(logprobs.shape, ratio))


def dro(inputs: Mapping[str, Floats], settings: Mapping[str, float], logprobs: Floats) -> tuple[float, Floats]:
    """−Σ (A log π − ½β (log ρ)²)."""
    gap, beta = logprobs - inputs["logprobs"], settings["beta"]
    value = -(logprobs * inputs["advantages"] - 0.5 * beta * gap**2).sum()
    return float(value), beta * gap - inputs["advantages"]


LOSSES: dict[str, Loss] = {
    "cross_entropy": cross_entropy,
    "importance_sampling": importance_sampling,
    "ppo": ppo,
    "cispo": cispo,
    "gspo": gspo,
    "dro": dro,
}


def named(name: str, given: Mapping[str, float | str]) -> tuple[Loss, dict[str, float]]:
    """The loss of that name with its settings. Raises InputError for what this server does not offer."""
    if name not in LOSSES:
        raise InputError(
            f"loss_fn {name!r} is not offered", hint=f"choose one of: {', '.join(LOSSES)}; or forward_backward_custom"
        )
    settings = dict(DEFAULTS[name])
    for key, value in given.items():
        if key not in settings or isinstance(value, str) or not np.isfinite(value):
            known = ", ".join(settings) or "none"
            raise InputError(f"loss_fn_config of {name} has no {key} = {value!r}", hint=f"it takes numbers: {known}")
        settings[key] = float(value)
    return LOSSES[name], settings


def check(name: str, inputs: Mapping[str, Floats]) -> None:
    """Raises InputError where a sequence lacks what the loss needs, or brings what the loss would pass over."""
    missing, odd = NEEDS[name] - inputs.keys(), inputs.keys() - NEEDS[name] - TAKES[name]
    if missing or odd:
        said = [f"lack {', '.join(sorted(missing))}"] * bool(missing)
        said += [f"have {', '.join(sorted(odd))}, which it does not know"] * bool(odd)
        raise InputError(f"the loss_fn_inputs of {name} {' and '.join(said)}")


def _ratio(inputs: Mapping[str, Floats], logprobs: Floats) -> Floats:
    with np.errstate(over="ignore"):  # what is not finite is refused with the slope
        ratio: Floats = np.exp(logprobs - inputs["logprobs"])
    return ratio


def _thresholds(inputs: Mapping[str, Floats], settings: Mapping[str, float]) -> tuple[Floats | float, Floats | float]:
    """Those of each token where they come, else those of the call."""
    return inputs.get(LOW, settings[LOW]), inputs.get(HIGH, settings[HIGH])


def _clipped(inputs: Mapping[str, Floats], settings: Mapping[str, float], ratio: Floats) -> tuple[float, Floats]:
    free = ratio * inputs["advantages"]
    kept = np.minimum(free, np.clip(ratio, *_thresholds(inputs, settings)) * inputs["advantages"])
    return -float(kept.sum()), np.where(kept == free, -free, 0.0)
