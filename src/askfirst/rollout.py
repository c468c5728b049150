"""Scenarios × policy → groups of scored rollouts, and the one error boundary around plugins.

A reward that raises stops the run: a score is computed or the run stops. An environment that
raises while an episode runs drops the whole group: our fault is not the policy's lesson.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.errors import AskfirstError, EnvironmentFault, PluginError, RewardFault
from askfirst.judgement import Judgement
from askfirst.policy import Completion, Policy, SampleRequest, Sampling
from askfirst.store import seed_from
from askfirst.values import (
    TOLERANCE,
    Action,
    Ask,
    FrozenMap,
    Group,
    Message,
    Rollout,
    Scenario,
    Score,
    Segment,
    StopReason,
    Trajectory,
)

EMPTY = FrozenMap()
Reader = Callable[[Sequence[Rollout]], Sequence[Judgement]]  # a judgement of each episode, in their order
MAX_TURNS = 50  # of an episode of an environment that names no MAX_TURNS


@dataclass(frozen=True, slots=True)
class Scorer:
    """A reward with its parameters, guarded: what comes out is finite, in bounds and adds up.

    `beside` are further rewards, by name, that judge the replies of an evaluation too; nobody trains on them. `judge`
    reads whole episodes and says in words what went wrong; `held_out` does so for the report of an evaluation only.
    """

    module: ModuleType
    params: Mapping[str, Any] = EMPTY
    beside: Mapping[str, Scorer] = EMPTY
    judge: Reader | None = None
    held_out: Reader | None = None

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
        return replace(self, params=FrozenMap(schedule(self.params, step))) if schedule else self

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
        if not (math.isfinite(score.total) and low - TOLERANCE <= score.total <= high + TOLERANCE):
            raise RewardFault(
                f"reward {name!r} returned {score.total}, outside its bounds [{low}, {high}]",
                where=f"scenario {scenario.id}",
            )
        if abs(sum(score.terms.values()) - score.total) > TOLERANCE:
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


@dataclass(slots=True)
class _Episode:
    """An episode under way: what was said and its exact tokens; `stop` once it is over, `fault` if it broke."""

    scenario: Scenario
    index: int
    messages: tuple[Message, ...]
    segments: tuple[Segment, ...]
    stop: StopReason | None = None
    fault: EnvironmentFault | None = None

    @property
    def goes_on(self) -> bool:
        return self.stop is None and self.fault is None

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(itertools.chain.from_iterable(segment.token_ids for segment in self.segments))


def rollouts(stage: Stage, policy: Policy, scorer: Scorer, scenarios: Sequence[Scenario], draw: Draw) -> Batch:
    """Play `draw.group_size` episodes of each scenario, all of them turn by turn together, and score them."""
    groups: list[Group] = []
    faults: list[EnvironmentFault] = []
    for scenario, episodes in zip(scenarios, play(stage, policy, scenarios, draw), strict=True):
        broken = next((e.fault for e in episodes if e.fault), None)
        if broken:
            faults.append(broken)
            continue
        ended = [Trajectory(e.messages, e.segments, e.stop) for e in episodes if e.stop]
        # Many say the same, and a score is of what is said, by the contract of rewards: it is asked for once.
        known: dict[tuple[tuple[Message, ...], StopReason], tuple[Action, Score]] = {}
        done = []
        for index, trajectory in enumerate(ended):
            said = trajectory.messages, trajectory.stop
            if said not in known:
                known[said] = action_of(stage.env, trajectory), scorer.score(scenario, trajectory)
            done.append(Rollout(scenario, index, trajectory, *known[said]))
        groups.append(Group(scenario, tuple(done)))
    return Batch(_read(groups, scorer.judge), tuple(faults))


def _read(groups: Sequence[Group], judge: Reader | None) -> tuple[Group, ...]:
    """The groups with what the judge says of each rollout; all are handed over at once, for a model takes them so."""
    if judge is None:
        return tuple(groups)
    said = iter(judge([rollout for group in groups for rollout in group.rollouts]))
    return tuple(
        Group(group.scenario, tuple(replace(rollout, judgement=next(said)) for rollout in group.rollouts))
        for group in groups
    )


def trajectories(
    stage: Stage, policy: Policy, scenarios: Sequence[Scenario], draw: Draw
) -> list[tuple[Trajectory, ...]]:
    """The episodes of each scenario, unscored. Raises EnvironmentFault: a part of them is not a result."""
    found = []
    for episodes in play(stage, policy, scenarios, draw):
        for episode in episodes:
            if episode.fault:
                raise episode.fault
        found.append(tuple(Trajectory(e.messages, e.segments, e.stop) for e in episodes if e.stop))
    return found


def judged(env: ModuleType, scorer: Scorer, scenario: Scenario, index: int, trajectory: Trajectory) -> Rollout:
    """A trajectory with its action and its score."""
    return Rollout(scenario, index, trajectory, action_of(env, trajectory), scorer.score(scenario, trajectory))


def action_of(env: ModuleType, trajectory: Trajectory) -> Action:
    """What a trajectory comes to: its first question, and where it asks none its last reply."""
    actions: list[Action] = [env.parse(m.content) for m in trajectory.messages if m.role == "assistant"]
    return next((action for action in actions if isinstance(action, Ask)), actions[-1])


def play(stage: Stage, policy: Policy, scenarios: Sequence[Scenario], draw: Draw) -> list[list[_Episode]]:
    """The episodes of each scenario, over or broken."""
    groups = []
    for scenario in scenarios:
        prompt = stage.prompt(scenario)
        opening = Segment(policy.encode(prompt), sampled=False)
        groups.append([_Episode(scenario, i, prompt, (opening,)) for i in range(draw.group_size)])
    most: int = getattr(stage.env, "MAX_TURNS", MAX_TURNS)
    for turn in range(most):
        going = [e for group in groups for e in group if e.goes_on]
        if not going:
            break
        more = turn + 1 < most
        # Episodes that have said the same so far are continuations of one prompt.
        runs = [list(run) for _, run in itertools.groupby(going, key=lambda e: (e.scenario.id, e.token_ids))]
        requests = [SampleRequest(run[0].token_ids, tuple(_seed(e, draw, turn) for e in run)) for run in runs]
        completions = policy.sample(requests, stage.sampling, keep=more)
        for episode, completion in zip(going, itertools.chain.from_iterable(completions), strict=True):
            _take_turn(stage, policy, episode, completion, more)
    return groups


def _seed(episode: _Episode, draw: Draw, turn: int) -> int:
    return seed_from(draw.seed, draw.step, episode.scenario.id, episode.index, turn)


def _take_turn(stage: Stage, policy: Policy, episode: _Episode, completion: Completion, more: bool) -> None:
    """Add a sampled reply, and what the environment says to it; a reply that was cut off ends the episode."""
    episode.messages += (Message("assistant", policy.decode(completion.token_ids)),)
    episode.segments += (Segment(completion.token_ids, True, completion.logprobs),)
    try:
        answer = _answer(stage.env, episode, more)
    except EnvironmentFault as fault:
        episode.fault = fault
        return
    if answer is None or completion.stop is not StopReason.END:
        episode.stop = completion.stop
        return
    episode.messages += (answer,)
    episode.segments += (Segment(policy.encode_next(episode.messages), sampled=False),)


def _answer(env: ModuleType, episode: _Episode, more: bool) -> Message | None:
    """What the environment says. Raises EnvironmentFault where it raises, or speaks when no turn is left."""
    try:
        answer: Message | None = env.step(episode.scenario, episode.messages)
    except AskfirstError:
        raise
    except Exception as error:
        raise EnvironmentFault(
            f"environment raised {type(error).__name__}: {error}", where=f"scenario {episode.scenario.id}"
        ) from error
    if answer is not None and not more:
        raise EnvironmentFault(
            "the environment asks for another turn after its last",
            where=env.__name__,
            hint="raise its MAX_TURNS or end its episodes",
        )
    return answer
