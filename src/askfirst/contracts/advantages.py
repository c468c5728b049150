"""What every credit rule must satisfy; each function raises PluginError, naming what was found.

The laws of a rule follow from its NEEDS: those of a group rule where it takes rewards alone, those of a teacher's
where it takes no rewards, and of a rule that takes both each half with the other held at nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from askfirst.credit import ALTERNATIVES, REWARDS, TEACHER, Advantages, Evidence
from askfirst.errors import PluginError
from askfirst.store import generator
from askfirst.values import Floats, FrozenMap

# Small groups of rewards as environments give them: on a lattice, skewed, and with a lone success.
GROUPS: tuple[tuple[float, ...], ...] = (
    (0.0, 1.0),
    (1.0, 0.3, 0.0, -0.5),
    (0.0,) * 7 + (1.0,),
    (0.3, 0.3, 1.0, 1.0, 0.0),
)
LENGTHS = (1, 4, 3)  # sampled tokens of the rollouts of a taught group
VOCABULARY = 6
FAR = 30.0  # nats that a teacher may be from the policy


def check(rule: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> None:
    """Every contract that a rule's NEEDS call for, in turn."""
    unknown = sorted(rule.NEEDS - {REWARDS, TEACHER, ALTERNATIVES})
    if unknown or not rule.NEEDS & {REWARDS, TEACHER}:
        raise _broken(rule, f"NEEDS is {sorted(rule.NEEDS)}: rewards, teacher or both, and perhaps alternatives")
    if REWARDS in rule.NEEDS:
        zero_for_equal_rewards(rule, params)
        mean_zero(rule, params)
        shift_invariant(rule, params)
        keeps_order(rule, params)
        refuses_bad_rewards(rule, params)
    if TEACHER in rule.NEEDS:
        zero_for_an_equal_teacher(rule, params)
        follows_the_teacher(rule, params)
        keeps_to_the_clip(rule, params)
        refuses_bad_teachers(rule, params)


def zero_for_equal_rewards(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """Equal rewards give exactly 0, whatever the rounding of their mean."""
    for reward in (0.1, 1.0, -0.5, 1 / 3, 1e9 + 0.1):
        for size in (2, 3, 7, 10):
            found = _apply(rule, np.full(size, reward), params)
            if (found != 0.0).any():
                raise _broken(rule, f"{size} rewards of {reward} give {found.tolist()}, expected exact zeros")


def mean_zero(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """The advantages of a group sum to 0 within 1e-9."""
    for rewards in GROUPS:
        found = _apply(rule, np.array(rewards), params)
        if abs(found.sum()) > 1e-9:
            raise _broken(rule, f"advantages of {rewards} sum to {found.sum()}, expected 0")


def shift_invariant(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """Adding a constant to every reward changes nothing beyond 1e-9."""
    for rewards in GROUPS:
        plain = _apply(rule, np.array(rewards), params)
        moved = _apply(rule, np.array(rewards) + 5.0, params)
        if np.abs(plain - moved).max() > 1e-9:
            raise _broken(rule, f"rewards {rewards} plus 5 give {moved.tolist()}, expected {plain.tolist()}")


def keeps_order(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """A higher reward has a higher advantage, and equal rewards have equal ones."""
    for rewards in GROUPS:
        values = np.array(rewards)
        found = _apply(rule, values, params)
        wanted = np.sign(values[:, None] - values[None, :])
        if (np.sign(found[:, None] - found[None, :]) != wanted).any():
            raise _broken(rule, f"advantages {found.tolist()} are not in the order of rewards {rewards}")


def refuses_bad_rewards(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """NaN, infinity, one reward or none raise ValueError."""
    for rewards in ((0.0, float("nan")), (0.0, float("inf")), (1.0,), ()):
        try:
            found = rule.advantages(_untaught(rule, np.array(rewards, dtype=np.float64)), params)
        except ValueError:
            continue
        raise _broken(rule, f"rewards {rewards} give {found}, expected a ValueError")


def zero_for_an_equal_teacher(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """A teacher that agrees with the policy gives exactly 0 at every token, whatever it is asked about."""
    evidence = _taught(rule, params, 0.0)
    found = _rows(rule, evidence, params)
    if any((each != 0.0).any() for each in found):
        raise _broken(rule, f"a teacher equal to the policy gives {[a.tolist() for a in found]}, expected exact zeros")


def follows_the_teacher(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """What the teacher finds likelier than the policy has a higher advantage than what it finds less likely.

    For a rule of alternatives, among those of one token: the teacher's distribution is the target of a step.
    """
    evidence = _taught(rule, params, 0.7)
    for found, policy, teacher in zip(_rows(rule, evidence, params), evidence.policy, evidence.teacher, strict=True):
        gap = teacher - policy
        if ALTERNATIVES in rule.NEEDS:
            pairs = zip((found / np.exp(policy))[:, 1:], gap[:, 1:], strict=True)
        else:
            pairs = zip(found.reshape(1, -1), gap[:, 0].reshape(1, -1), strict=True)
        for own, wanted in pairs:
            order = np.argsort(wanted)
            if (np.diff(own[order]) < -1e-12).any() or (np.ptp(wanted) > 0.1 and not np.ptp(own) > 0):
                raise _broken(rule, f"advantages {own.tolist()} do not follow the teacher's {wanted.tolist()}")


def keeps_to_the_clip(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """A teacher 30 nats away moves a token by no more than the rule's `clip` (twice that between alternatives), in
    finite numbers; and where clipping is off, by more."""
    bounds = {"clip": float({**rule.DEFAULTS, **params}["clip"])} if "clip" in rule.DEFAULTS else {}
    if not bounds:
        raise _broken(rule, "a rule with a teacher has a clip among its DEFAULTS, 0 for none")
    evidence = _taught(rule, params, FAR)
    most = bounds["clip"] * (2.0 if ALTERNATIVES in rule.NEEDS else 1.0)
    held = max(float(np.abs(a).max()) for a in _rows(rule, evidence, params))
    free = max(float(np.abs(a).max()) for a in _rows(rule, evidence, {**params, "clip": 0.0}))
    if (most and held > most + 1e-12) or (most and not free > held):
        raise _broken(
            rule, f"advantages reach {held:.3f} with a clip and {free:.3f} without, at most {most:.3f} wanted"
        )


def refuses_bad_teachers(rule: ModuleType, params: Mapping[str, Any]) -> None:
    """No teacher at all, one of other tokens, and logprobs that are not finite raise ValueError."""
    good = _taught(rule, params, 0.3)
    shorter = tuple(t[:-1] for t in good.teacher)
    broken = (np.full_like(good.teacher[0], -np.inf), *good.teacher[1:])
    for teacher in ((), good.teacher[:-1], shorter, broken):
        try:
            found = rule.advantages(Evidence(good.rewards, good.policy, teacher), params)
        except ValueError:
            continue
        raise _broken(
            rule, f"teachers of {len(teacher)} of {len(good.rewards)} rollouts give {found}, not a ValueError"
        )


def _untaught(rule: ModuleType, rewards: Floats) -> Evidence:
    """Rewards, and, where the rule wants a teacher, one that agrees with the policy on a token of each rollout."""
    same = tuple(np.full((1, 1), -1.0) for _ in rewards) if TEACHER in rule.NEEDS else ()
    return Evidence(rewards, same, same)


def _taught(rule: ModuleType, params: Mapping[str, Any], far: float) -> Evidence:
    """Rollouts with equal rewards, and a teacher up to `far` nats from the policy, over VOCABULARY tokens."""
    draw, count = generator("contract", "advantages", str(far)), 0
    if ALTERNATIVES in rule.NEEDS:
        count = min(rule.alternatives(params), VOCABULARY - 2)
    policy, teacher = [], []
    for length in LENGTHS:
        logits = draw.normal(size=(length, VOCABULARY))
        own = _log_softmax(logits)
        other = _log_softmax(logits + far * draw.uniform(-1.0, 1.0, size=logits.shape)) if far else own.copy()
        order = np.argsort(-own, axis=1)[:, [0, *range(count)]]
        policy.append(np.take_along_axis(own, order, axis=1))
        teacher.append(np.take_along_axis(other, order, axis=1))
    return Evidence(np.full(len(LENGTHS), 0.3), tuple(policy), tuple(teacher))


def _log_softmax(logits: Floats) -> Floats:
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), dtype=np.float64)


def _apply(rule: ModuleType, rewards: Floats, params: Mapping[str, Any]) -> Floats:
    """One number for each rollout, shape (G,)."""
    raw: Advantages = rule.advantages(_untaught(rule, rewards.copy()), params)
    parts = [np.asarray(each, dtype=np.float64).ravel() for each in raw]
    if any(len(part) != 1 for part in parts):
        raise _broken(rule, f"rewards {rewards.tolist()} of rollouts of one token give {raw}")
    found = np.concatenate(parts) if parts else np.zeros(0)
    if found.shape != rewards.shape or not np.isfinite(found).all():
        raise _broken(rule, f"rewards {rewards.tolist()} give {found.tolist()}, expected as many finite numbers")
    return found


def _rows(rule: ModuleType, evidence: Evidence, params: Mapping[str, Any]) -> list[Floats]:
    """The advantages of each rollout, of shape (n,) or (n, 1 + K), all finite."""
    found = [np.asarray(each, dtype=np.float64) for each in rule.advantages(evidence, params)]
    fits = len(found) == len(evidence.policy) and all(
        each.shape in (policy.shape, policy.shape[:1]) and np.isfinite(each).all()
        for each, policy in zip(found, evidence.policy, strict=True)
    )
    if not fits:
        raise _broken(rule, f"advantages of shapes {[a.shape for a in found]} for {[p.shape for p in evidence.policy]}")
    return found


def _broken(rule: ModuleType, message: str) -> PluginError:
    return PluginError(message, where=rule.__name__)
