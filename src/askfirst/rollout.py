"""Scenarios × policy → groups of scored rollouts, and the one error boundary around plugins.

A reward that raises stops the run: a score is computed or the run stops. An environment that
raises while an episode runs drops the whole group: our fault is not the policy's lesson.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.errors import AskfirstError, EnvironmentFault, PluginError, RewardFault
from askfirst.policy import Completion, Policy, SampleRequest, Sampling
from askfirst.store import seed_from
from askfirst.values import FrozenMap, Group, Message, Rollout, Scenario, Score, Segment, Trajectory

EMPTY = FrozenMap()


@dataclass(frozen=True, slots=True)
class Scorer:
    """A reward with its parameters, guarded: what comes out is finite, in bounds and adds up."""

    module: ModuleType
    params: Mapping[str, Any] = EMPTY

    @classmethod
    def named(cls, name: str, params: Mapping[str, Any] = EMPTY) -> Scorer:
        """The reward plugin of that name. Raises PluginError for unknown parameters."""
        module = plugins.load("rewards", name)
        known = getattr(module, "DEFAULTS", EMPTY)
        unknown = sorted(set(params) - set(known))
        if unknown:
            raise PluginError(
                f"reward {name!r} has no parameter {', '.join(unknown)}", hint=f"it takes: {', '.join(known) or 'none'}"
            )
        return cls(module, FrozenMap(params))

    def at_step(self, step: int) -> Scorer:
        """The reward as its declared schedule has it at a step."""
        schedule = getattr(self.module, "at_step", None)
        return Scorer(self.module, FrozenMap(schedule(self.params, step))) if schedule else self

    def score(self, scenario: Scenario, trajectory: Trajectory) -> Score:
        """The score of a trajectory. Raises RewardFault when the reward raises or breaks its bounds."""
        name = self.module.__name__.rsplit(".", 1)[-1]
        try:
            score = self.module.score(scenario, trajectory, self.params)
        except AskfirstError:
            raise
        except Exception as error:
            raise RewardFault(
                f"reward {name!r} raised {type(error).__name__}: {error}", where=f"scenario {scenario.id}"
            ) from error
        if not isinstance(score, Score):
            raise RewardFault(f"reward {name!r} returned {type(score).__name__}, not a Score")
        low, high = self.module.BOUNDS
        if not (math.isfinite(score.total) and low - 1e-9 <= score.total <= high + 1e-9):
            raise RewardFault(
                f"reward {name!r} returned {score.total}, outside its bounds [{low}, {high}]",
                where=f"scenario {scenario.id}",
            )
        if abs(sum(score.terms.values()) - score.total) > 1e-9:
            raise RewardFault(f"reward {name!r}: the terms do not add up to the total", where=f"scenario {scenario.id}")
        return score


@dataclass(frozen=True, slots=True)
class Stage:
    """What every episode of a run shares: the environment, the system prompt and the sampling."""

    env: ModuleType
    system: str
    sampling: Sampling

    def prompt(self, scenario: Scenario) -> tuple[Message, ...]:
        """The messages the policy sees before its first reply."""
        system = (Message("system", self.system),) if self.system else ()
        return system + tuple(self.env.start(scenario))


@dataclass(frozen=True, slots=True)
class Draw:
    """Names the random streams of a batch: rollout `i` of a scenario draws from H(seed, step, scenario, i)."""

    seed: int
    step: int
    group_size: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Groups in the order of their scenarios, and those dropped for a fault that was not the policy's."""

    groups: tuple[Group, ...]
    faults: tuple[EnvironmentFault, ...]


def rollouts(stage: Stage, policy: Policy, scorer: Scorer, scenarios: Sequence[Scenario], draw: Draw) -> Batch:
    """Sample `draw.group_size` episodes of each scenario and score them."""
    groups: list[Group] = []
    faults: list[EnvironmentFault] = []
    prompts = [stage.prompt(s) for s in scenarios]
    encoded = [policy.encode(p) for p in prompts]
    requests = [SampleRequest(ids, _seeds(s, draw)) for ids, s in zip(encoded, scenarios, strict=True)]
    completions = policy.sample(requests, stage.sampling)
    for scenario, prompt, ids, samples in zip(scenarios, prompts, encoded, completions, strict=True):
        try:
            episodes = [_episode(stage, policy, scenario, (prompt, ids), c) for c in samples]
        except EnvironmentFault as fault:
            faults.append(fault)
            continue
        done = [
            Rollout(scenario, i, t, stage.env.parse(t.reply), scorer.score(scenario, t)) for i, t in enumerate(episodes)
        ]
        groups.append(Group(scenario, tuple(done)))
    return Batch(tuple(groups), tuple(faults))


def _seeds(scenario: Scenario, draw: Draw) -> tuple[int, ...]:
    turn = 0
    return tuple(seed_from(draw.seed, draw.step, scenario.id, index, turn) for index in range(draw.group_size))


def _episode(
    stage: Stage,
    policy: Policy,
    scenario: Scenario,
    prompt: tuple[tuple[Message, ...], tuple[int, ...]],
    completion: Completion,
) -> Trajectory:
    """The trajectory of a sampled reply. Raises EnvironmentFault when the environment raises or wants another turn."""
    messages, ids = prompt
    spoken = (*messages, Message("assistant", policy.decode(completion.token_ids)))
    try:
        reply = stage.env.step(scenario, spoken)
    except AskfirstError:
        raise
    except Exception as error:
        raise EnvironmentFault(
            f"environment raised {type(error).__name__}: {error}", where=f"scenario {scenario.id}"
        ) from error
    if reply is not None:
        raise EnvironmentFault(
            "this version runs episodes of one turn, and the environment asked for another", where=stage.env.__name__
        )
    segments = (Segment(ids, sampled=False), Segment(completion.token_ids, True, completion.logprobs))
    return Trajectory(spoken, segments, completion.stop)
