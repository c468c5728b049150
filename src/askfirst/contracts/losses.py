"""What every loss must satisfy; each function raises PluginError, naming what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from askfirst.errors import PluginError
from askfirst.store import generator
from askfirst.values import Floats, FrozenMap, Row

STEP = 1e-6  # of the finite differences, nats
SCALE = 0.37  # any factor that is not 1


def check(module: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> None:
    """Every contract of a loss, in turn."""
    matches_finite_differences(module, params)
    zero_off_the_mask(module, params)
    plain_gradient_at_ratio_one(module, params)
    adds_up_over_splits(module, params)


def matches_finite_differences(module: ModuleType, params: Mapping[str, Any]) -> None:
    """The derivative agrees with central differences in float64 within 1e-6."""
    row, policy = sample_row()
    slope = _apply(module, row, policy, params)[1]
    for token in np.flatnonzero(row.mask):
        up, down = policy.copy(), policy.copy()
        up[token] += STEP
        down[token] -= STEP
        measured = (_apply(module, row, up, params)[0] - _apply(module, row, down, params)[0]) / (2 * STEP)
        if abs(measured - slope[token]) > 1e-6:
            raise _broken(module, f"derivative at token {token} is {slope[token]}, finite differences say {measured}")


def zero_off_the_mask(module: ModuleType, params: Mapping[str, Any]) -> None:
    """Tokens off the mask have a derivative of exactly 0, and what stands there changes nothing."""
    row, policy = sample_row()
    value, slope = _apply(module, row, policy, params)
    if (slope[~row.mask] != 0.0).any():
        raise _broken(module, f"derivative off the mask is {slope[~row.mask].tolist()}, expected exact zeros")
    noise = np.where(row.mask, 0.0, 3.0)
    dirty = replace(row, advantages=row.advantages + noise, sampler_logprobs=row.sampler_logprobs + noise)
    value_dirty, slope_dirty = _apply(module, dirty, policy - noise, params)
    if value_dirty != value or (slope_dirty != slope).any():
        raise _broken(module, "values off the mask reach the loss")


def plain_gradient_at_ratio_one(module: ModuleType, params: Mapping[str, Any]) -> None:
    """Where policy and sampler agree the derivative is −A · scale, so that the first step is the policy gradient."""
    row, _ = sample_row()
    slope = _apply(module, row, row.sampler_logprobs.copy(), params)[1]
    wanted = np.where(row.mask, -SCALE * row.advantages, 0.0)
    if np.abs(slope - wanted).max() > 1e-12:
        raise _broken(module, f"derivative at ratio 1 is {slope.tolist()}, expected {wanted.tolist()}")


def adds_up_over_splits(module: ModuleType, params: Mapping[str, Any]) -> None:
    """A row cut in two has the same total value and the same derivatives within 1e-12."""
    row, policy = sample_row()
    value, slope = _apply(module, row, policy, params)
    middle = len(policy) // 2
    halves = [_apply(module, _cut(row, part), policy[part], params) for part in (slice(middle), slice(middle, None))]
    joined = np.concatenate([half[1] for half in halves])
    if abs(sum(half[0] for half in halves) - value) > 1e-12 or np.abs(joined - slope).max() > 1e-12:
        raise _broken(module, "the loss of a row is not the sum of the losses of its parts")


def sample_row() -> tuple[Row, Floats]:
    """A fixed row of 24 tokens with a mask that has gaps, and policy logprobs on both sides of any usual clip."""
    draw = generator("contract", "loss")
    count = 24
    mask = np.arange(count) % 5 != 0
    sampler = np.where(mask, -draw.uniform(0.1, 3.0, count), 0.0)
    advantages = np.where(mask, draw.choice([-2.0, -0.5, 0.5, 2.0], count), 0.0)
    policy = np.where(mask, sampler + draw.uniform(-1.5, 1.5, count), 0.0)
    row = Row(np.arange(count, dtype=np.int64), mask, sampler, sampler - 0.1 * mask, advantages)
    return row, policy


def _cut(row: Row, part: slice) -> Row:
    return Row(
        row.token_ids[part],
        row.mask[part],
        row.sampler_logprobs[part],
        row.reference_logprobs[part],
        row.advantages[part],
    )


def _apply(module: ModuleType, row: Row, policy: Floats, params: Mapping[str, Any]) -> tuple[float, Floats]:
    value, slope = module.loss(row, policy, SCALE, params)
    slope = np.asarray(slope, dtype=np.float64)
    if slope.shape != policy.shape or not np.isfinite(slope).all() or not np.isfinite(value):
        raise _broken(module, f"value {value} and derivative {slope.tolist()} must be finite, shape {policy.shape}")
    return float(value), slope


def _broken(module: ModuleType, message: str) -> PluginError:
    return PluginError(message, where=module.__name__)
