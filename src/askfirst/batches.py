"""What a training step learns from: which scenarios, and the rows made of their rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askfirst import kl
from askfirst.credit import Evidence
from askfirst.curriculum import Seen, choose
from askfirst.errors import EnvironmentFault, InputError
from askfirst.plan import Plan, clear_scenarios
from askfirst.sections import OptimiserSection, TrainSection
from askfirst.store import generator, seed_from
from askfirst.values import Floats, Group, Rollout, Row, Scenario

TWINS = "clear_twin"  # the stratum of clear twins, in every environment


NOTHING = Seen()


def draw_scenarios(env: ModuleType, plan: Plan, seed: int, step: int, seen: Seen = NOTHING) -> list[Scenario]:
    """The scenarios of a step: ambiguous ones, and the plan's share of clear ones, many of them clear twins.

    An informative curriculum chooses within each stratum, by what it has seen, and leaves their shares alone. Raises
    EnvironmentFault when the environment returns another mix than was asked for.
    """
    total, chosen = plan.train.scenarios_per_step, list[Scenario]()
    informative = plan.curriculum.mode == "informative"
    for part in (_one_by_one if informative else _at_once)(env, plan, seed, step):
        pool = part.drawn(env, plan.curriculum.pool if informative else 1)
        if informative:
            weights = [seen.worth(scenario, plan.curriculum, plan.train.group_size) for scenario in pool]
            stream = generator(part.name, "curriculum", *part.strata)
            try:
                pool = [pool[at] for at in choose(pool, part.count, weights, stream)]
            except ValueError as error:
                raise EnvironmentFault(f"step {step}: {error}", where=env.__name__) from error
        chosen += pool
    fraction = sum(not s.ambiguous for s in chosen) / len(chosen)
    low, high = plan.env.clear_fraction
    if len(chosen) != total or not low - 1e-9 <= fraction <= high + 1e-9:
        raise EnvironmentFault(
            f"step {step}: {len(chosen)} scenarios with {fraction:.0%} clear; "
            f"the plan wants {total} with {low:.0%} to {high:.0%}",
            where=env.__name__,
        )
    return chosen


def drawable(env: ModuleType, plan: Plan, seed: int, step: int) -> list[Scenario]:
    """Every scenario that a step might practise: those drawn, or all that an informative curriculum chooses from."""
    if plan.curriculum.mode == "static":
        return draw_scenarios(env, plan, seed, step)
    return [s for part in _one_by_one(env, plan, seed, step) for s in part.drawn(env, plan.curriculum.pool)]


@dataclass(frozen=True, slots=True)
class _Part:
    """So many scenarios of some strata (with their weights), drawn under one name."""

    name: int
    count: int
    strata: Mapping[str, float]
    kinds: tuple[Mapping[str, float], ...]

    def drawn(self, env: ModuleType, times: int) -> list[Scenario]:
        return list(env.scenarios("train", self.count * times, self.name, self.strata, *self.kinds))


def _at_once(env: ModuleType, plan: Plan, seed: int, step: int) -> list[_Part]:
    """The ambiguous scenarios of a step, and all clear ones."""
    total, clear = plan.train.scenarios_per_step, clear_scenarios(plan)
    name = seed_from(seed, "batch", step)
    mix = clear_mix(env.CLEAR_MIX, plan.env.twin_fraction)
    shares = np.array(list(mix.values()), dtype=np.float64)
    counts = generator(name, "strata").multinomial(clear, shares / shares.sum())
    wanted = {stratum: float(n) for stratum, n in zip(mix, counts, strict=True) if n}
    kinds, twin_kinds = (_kinds(env, given) for given in (plan.env.kinds, plan.env.twin_kinds))
    parts = [_Part(name, total - clear, {"ambiguous": 1.0}, kinds), _Part(name, clear, wanted, twin_kinds)]
    return [part for part in parts if part.count or part.strata == {"ambiguous": 1.0}]


def _one_by_one(env: ModuleType, plan: Plan, seed: int, step: int) -> list[_Part]:
    """The same, one stratum at a time."""
    parts = _at_once(env, plan, seed, step)
    split = [(part, stratum, n) for part in parts for stratum, n in part.strata.items()]
    return [
        _Part(part.name, part.count if stratum == "ambiguous" else int(n), {stratum: 1.0}, part.kinds)
        for part, stratum, n in split
    ]


def _kinds(env: ModuleType, given: Mapping[str, float] | None) -> tuple[Mapping[str, float], ...]:
    """The weights as a further argument of `scenarios`. Raises InputError where the environment knows no such kinds."""
    if given is None:
        return ()
    known: Mapping[str, float] = getattr(env, "PAIR_MIX", {})
    unknown = sorted(set(given) - set(known))
    if unknown or not given:
        raise InputError(
            f"the environment knows no kind of ambiguity called {', '.join(unknown) or 'nothing'}",
            where="env.kinds",
            hint=f"it knows: {', '.join(known) or 'none'}",
        )
    return (given,)


def clear_mix(own: Mapping[str, float], twins: float | None) -> dict[str, float]:
    """Weights of the clear strata: the environment's own, or with a share of twins and the others in proportion."""
    if twins is None:
        return dict(own)
    others = {name: weight for name, weight in own.items() if name != TWINS}
    rest = (1.0 - twins) / sum(others.values()) if others else 0.0
    return {TWINS: twins, **{name: weight * rest for name, weight in others.items()}}


Alternatives = NDArray[np.int64] | None  # (n, K) tokens in the place of the n sampled ones


def make_rows(
    groups: Sequence[Group],
    credit: ModuleType,
    params: Mapping[str, Any],
    evidence: Sequence[Evidence] | None = None,
    alternatives: Sequence[Alternatives] | None = None,
) -> list[Row]:
    """One row per rollout, in the order of groups and rollouts, with the advantages that the rule gives it.

    `evidence`, one a group, and `alternatives`, one a rollout, are what a teacher's rule needs; without them the rule
    sees the rewards.
    """
    rows: list[Row] = []
    for group, seen in zip(groups, evidence or [Evidence(g.rewards) for g in groups], strict=True):
        found = credit.advantages(seen, params)
        for i, (rollout, advantage) in enumerate(zip(group.rollouts, found, strict=True)):
            beside = alternatives[len(rows)] if alternatives and np.ndim(advantage) == 2 else None
            if beside is not None:
                rows.append(_wide_row(rollout, advantage, beside, seen.policy[i]))
            else:
                rows.append(make_row(rollout, advantage if np.ndim(advantage) < 2 else advantage[:, 0]))
    return rows


def make_row(rollout: Rollout, advantage: float | Floats) -> Row:
    """A rollout as a training sequence, with one advantage on every sampled token, or one for each, shape (n,)."""
    parts = rollout.trajectory.segments
    ids = np.concatenate([np.array(part.token_ids, dtype=np.int64) for part in parts])
    mask = np.repeat([part.sampled for part in parts], [len(part.token_ids) for part in parts])
    sampler, advantages = np.zeros(len(ids)), np.zeros(len(ids))
    sampler[mask] = np.concatenate([part.logprobs for part in parts if part.sampled])
    advantages[mask] = advantage
    return Row(ids, mask, sampler, np.zeros(0), advantages)


def probe_rows(groups: Sequence[Group]) -> list[Row]:
    """Every rollout with a made-up advantage, −1 and ½ in turn: of both signs, and more than nothing for a policy that
    always says the same."""
    every = [rollout for group in groups for rollout in group.rollouts]
    return [make_row(rollout, -1.0 + 1.5 * (i % 2)) for i, rollout in enumerate(every)]


def _wide_row(rollout: Rollout, advantages: Floats, alternatives: NDArray[np.int64], policy: Floats) -> Row:
    """The same with advantages (n, 1 + K) for the sampled tokens and their alternatives (n, K); `policy` (n, 1 + K) are
    the trainer's logprobs, which nobody sampled the alternatives by."""
    row = make_row(rollout, 0.0)
    sampler, wide = (np.zeros((len(row.mask), policy.shape[1])) for _ in range(2))
    sampler[row.mask], wide[row.mask] = policy, advantages
    sampler[:, 0] = row.sampler_logprobs
    beside = np.zeros((len(row.mask), alternatives.shape[1]), dtype=np.int64)
    beside[row.mask] = alternatives
    return replace(row, sampler_logprobs=sampler, advantages=wide, alternatives=beside)


def own(values: Floats) -> Floats:
    """Of values (T,) or (T, 1 + K) those of the tokens themselves, (T,)."""
    return values if values.ndim == 1 else values[:, 0]


def bare(row: Row) -> Row:
    """A row without its alternatives and what they are worth."""
    if row.alternatives is None:
        return row
    sampler, advantages = own(row.sampler_logprobs), own(row.advantages)
    return replace(row, sampler_logprobs=sampler, advantages=advantages, alternatives=None)


def with_reference(rows: Sequence[Row], reference: Sequence[Floats], train: TrainSection) -> list[Row]:
    """The rows with reference logprobs; a KL penalty placed in the reward is taken off the advantages here."""
    changed = []
    for row, logprobs in zip(rows, reference, strict=True):
        advantages = row.advantages
        if train.kl.place == "reward":
            penalty = np.where(row.mask, kl.penalty(own(row.sampler_logprobs), logprobs, train.kl.beta), 0.0)
            advantages = advantages.copy()
            own(advantages)[:] += penalty
        changed.append(replace(row, reference_logprobs=logprobs, advantages=advantages))
    return changed


@dataclass(frozen=True, slots=True)
class Scales:
    """The weight of each row's tokens in the loss, from the masks of the whole optimiser step."""

    rows: tuple[float, ...]


def scales(rows: Sequence[Row], optimiser: OptimiserSection, max_tokens: int) -> Scales:
    """token_mean 1/Σn, sequence_mean 1/(N·nᵢ), fixed 1/(N·L_max), sum 1 (rl-literature names in docs/training.md)."""
    lengths = [int(row.mask.sum()) for row in rows]
    total, count = sum(lengths), len(rows)
    match optimiser.normaliser:
        case "token_mean":
            return Scales((1.0 / total,) * count)
        case "sequence_mean":
            return Scales(tuple(1.0 / (count * n) for n in lengths))
        case "fixed":
            return Scales((1.0 / (count * max_tokens),) * count)
        case "sum":
            return Scales((1.0,) * count)


def moves(row: Row) -> bool:
    """Whether any advantage of the row is not zero; the test is on advantages, not on the spread of rewards."""
    return bool(np.any(row.advantages != 0.0))
