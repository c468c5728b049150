"""The frozen values that flow through the system. Numpy and the standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askfirst.judgement import Judged, Judgement

Floats = NDArray[np.float64]
TOLERANCE = 1e-9  # two totals of scores that differ by no more are the same
# What a statistical statement is about: these very items, new ones like them, new clusters of them (users, templates),
# or new training seeds.
Target = Literal["fixed_items", "new_items", "new_clusters", "new_seeds"]


class FrozenMap(Mapping[str, Any]):
    """An immutable, hashable, picklable mapping of names to immutable values."""

    __slots__ = ("_items",)
    _items: dict[str, Any]

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "_items", dict(items or {}))

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a FrozenMap does not change")

    def __hash__(self) -> int:
        return sum(map(hash, self._items.items()))

    def __reduce__(self) -> tuple[type[FrozenMap], tuple[dict[str, Any]]]:
        return (FrozenMap, (dict(self._items),))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing to solve.

    `opening` is what the policy is shown first (without the system prompt, which the plan chooses);
    `hidden` is what it is judged against and never sees. `template` and `values` say what the
    scenario was made from, so that splits can be shown to be disjoint. `twin` is shared by an
    ambiguous scenario and its clear counterpart, empty where there is none.
    """

    id: str
    family: str
    stratum: str
    split: str
    ambiguous: bool
    opening: tuple[Message, ...]
    hidden: FrozenMap
    template: str = ""
    values: tuple[str, ...] = ()
    twin: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """The policy asked a question; `slot` is the thing it says is missing."""

    question: str
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """The policy acted, typed or edited."""

    name: str
    arguments: FrozenMap = FrozenMap()


@dataclass(frozen=True, slots=True)
class Answer:
    """The policy answered in words."""

    text: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The policy said that the request is out of scope."""

    reason: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """The policy asked for a yes before something destructive."""

    name: str
    target: str


@dataclass(frozen=True, slots=True)
class Invalid:
    """The reply is not in the environment's protocol."""

    reason: str


Action = Ask | Act | Answer | Refuse | Confirm | Invalid


class StopReason(StrEnum):
    """Why a completion or an episode ended."""

    END = "end"  # the policy emitted its end token
    LENGTH = "length"  # the token budget ran out
    TURNS = "turns"  # the turn budget ran out
    THINKING = "thinking"  # the token budget ran out before a reply began


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of tokens of one origin. `logprobs` (nats, the sampler's own) exist where `sampled`."""

    token_ids: tuple[int, ...]
    sampled: bool
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The record of one episode: messages as text, segments as the exact tokens."""

    messages: tuple[Message, ...]
    segments: tuple[Segment, ...]
    stop: StopReason

    @property
    def reply(self) -> str:
        """The text of the policy's last message; empty when it never spoke."""
        spoken = [m.content for m in self.messages if m.role == "assistant"]
        return spoken[-1] if spoken else ""


@dataclass(frozen=True, slots=True)
class Score:
    """What a reward says of one trajectory. `terms` add up to `total`."""

    total: float
    terms: FrozenMap
    passed: bool
    failures: tuple[str, ...]
    reward: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """A trajectory with its action (its first question, and where it asks none its last reply), its score and, where
    the plan names a judge, what that said."""

    scenario: Scenario
    index: int
    trajectory: Trajectory
    action: Action
    score: Score
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """All rollouts of one scenario in one step."""

    scenario: Scenario
    rollouts: tuple[Rollout, ...]

    def __post_init__(self) -> None:
        strangers = {r.scenario.id for r in self.rollouts} - {self.scenario.id}
        if strangers:
            raise ValueError(f"group of scenario {self.scenario.id} holds rollouts of {sorted(strangers)}")

    @property
    def rewards(self) -> Floats:
        """Total score of each rollout, shape (G,)."""
        return np.array([r.score.total for r in self.rollouts], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Row:
    """One training sequence. All arrays have shape (T,); logprobs are nats and 0 off the mask.

    `mask` is True on tokens the policy sampled. `reference_logprobs` is empty, shape (0,), where
    the objective has no use for it. `alternatives` (T, K), where given, are tokens that could stand there and are
    learnt from beside it; then sampler_logprobs and advantages have shape (T, 1 + K), the token's own first.
    """

    token_ids: NDArray[np.int64]
    mask: NDArray[np.bool_]
    sampler_logprobs: Floats
    reference_logprobs: Floats
    advantages: Floats
    alternatives: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What happened on one evaluation item.

    `trial` tells the episodes of one scenario apart, where it was tried more than once; only the first counts in the
    metrics of all environments. `facts` is what the environment notes of an episode for measures of its own. `terms`
    add up to `total`; `verdicts` says, by name, whether the rewards that judge beside that of the evaluation pass it.
    """

    scenario_id: str
    family: str
    stratum: str
    passed: bool
    asked: bool
    right_intent: bool
    total: float
    failures: tuple[str, ...]
    reply: str
    terms: Mapping[str, float] = FrozenMap()
    verdicts: Mapping[str, bool] = FrozenMap()
    trial: int = 0
    facts: Mapping[str, Any] = FrozenMap()


@dataclass(frozen=True, slots=True)
class Tally:
    """What some episodes count for: measure → numerator and denominator, or several such pairs.

    A measure is the mean of its ratios of sums over tallies. `cluster` says which tallies may hang together, `groups`
    the parts of an evaluation, as `kind=name`, that it is also counted in.
    """

    cluster: str
    groups: tuple[str, ...]
    counts: FrozenMap


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure over an evaluation or, where `group` is not empty, a part of it, with two-sided 95 % bounds.

    The bounds take the clusters for the independent units. They are None where these are too few or all alike.
    `items` are the tallies that it was measured on.
    """

    name: str
    group: str
    value: float
    lower: float | None
    upper: float | None
    items: int
    clusters: int


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """A reply that a reward passes on these scenarios (by id), and why it cannot be honest to them."""

    reply: str
    scenarios: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Probes:
    """Of `probed` different passing replies, how many cannot be honest; `upper` is the exact one-sided 95 % bound.

    `scored` is how often the reward was asked; `examples` are a few of the findings.
    """

    probed: int
    scored: int
    findings: int
    rate: float
    upper: float
    examples: tuple[ProbeFinding, ...]


@dataclass(frozen=True, slots=True)
class EvalRecord:
    """A checkpoint on a split or suite, item by item. `probes` is None where nothing could be probed.

    `measures` are those of the environment's own, none where it has none. `judged` is what the plan's judges say.
    """

    version: int
    model: str
    checkpoint: str
    split: str
    step: int
    reward: str
    items: tuple[ItemOutcome, ...]
    probes: Probes | None = None
    measures: tuple[Measure, ...] = ()
    judged: tuple[Judged, ...] = ()


class GateStatus(StrEnum):
    """`unverified` is a status, never a number, and blocks like a failure where the gate is required."""

    PASSED = "passed"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate measured and what it allows. `measured` and `bound` are words where no number fits."""

    name: str
    status: GateStatus
    measured: float | str
    bound: float | str
    reason: str


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One ship rule, applied."""

    metric: str
    holds: bool
    estimate: float
    lower: float
    upper: float
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`decision` is SHIP, DISCARD or INCONCLUSIVE; it follows from `rules` alone.

    `holdout` is unopened, opened_once or reused_holdout.
    """

    version: int
    decision: str
    rules: tuple[RuleResult, ...]
    reason: str
    limits: str
    holdout: str = "unopened"


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A reply that shows the protocol: an honest one (earns full marks), or a `guess` where asking was right.

    Where the environment answers it, `then` are the replies that follow, one a turn, to the end of the episode.
    """

    reply: str
    guess: bool
    then: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence bounds; `alpha` is the error the bounds together may make."""

    estimate: float
    lower: float
    upper: float
    alpha: float
    method: str
