"""A search for replies that a reward should not pass: a seeded hill-climber over a grammar and mutations.

It knows nothing of a scenario's truth while it climbs; the truth is only asked whether what passed can be honest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.cases import Case, of_protocol, replied
from askfirst.contracts.rewards import cases
from askfirst.errors import InputError
from askfirst.redteam.evidence import asks_for_all, clash, exclude, names_nothing
from askfirst.redteam.mutations import Lexicon, change, make, shorter
from askfirst.replies import SAID, truth
from askfirst.rollout import MAX_TURNS, Scorer
from askfirst.store import generator, seed_from
from askfirst.values import FrozenMap, Scenario

THRESHOLD = 0.5  # a total above it counts as passed
BEAM = 24  # replies that are climbed from
PATIENCE = 150  # replies without progress until a fresh start
PANEL = 40
# What a single scenario shows, and how it is put.
NOTHING, EVERYTHING = "names nothing of what is wanted:", "asks for everything, wanted:"
ALONE = ((names_nothing, NOTHING), (asks_for_all, EVERYTHING))
BOTH = "one reply passes two requests that want different things:"
MINIMISING = 4000  # evaluations to make a finding shorter with


@dataclass(frozen=True, slots=True)
class Finding:
    """A reply that passes and cannot be honest. `evaluations` were needed to find it."""

    reply: str
    scenarios: tuple[Scenario, ...]
    why: str
    evaluations: int

    def case(self) -> Case:
        """As an attack: on the last of its scenarios it must not earn more than the threshold."""
        return Case(f"red team: {self.reply[:60]}", "redteam", self.scenarios[-1], self.reply, THRESHOLD, self.why)


@dataclass(slots=True)
class _Climb:
    """A reward under attack: what it was asked, and what that cost."""

    scorer: Scorer
    spent: int = 0
    seen: set[str] = field(default_factory=set)

    def passed(self, reply: str, scenarios: Sequence[Scenario]) -> tuple[list[Scenario], float]:
        """The scenarios that a reply passes, and how near it comes on the others, in (0, 1] a scenario."""
        passed, near = [], 0.0
        for scenario in scenarios:
            self.spent += 1
            score = self.scorer.score(scenario, replied(scenario, reply))
            if score.total > THRESHOLD:
                passed.append(scenario)
            elif "intent_mismatch" not in score.failures:
                near += 1 / (1 + len(score.failures))
        return passed, near


def panel(env: ModuleType, seed: int, size: int = PANEL) -> tuple[Scenario, ...]:
    """Train scenarios of every stratum; half of them ambiguous, of as many slots as there are.

    Raises InputError for an environment of several turns or of another protocol: replies to it are not made here.
    """
    strata = getattr(env, "STRATA", ())
    weights = {name: 0.5 if name == "ambiguous" else 0.5 / (len(strata) - 1) for name in strata}
    found = tuple(env.scenarios("train", size, seed_from("red team", seed), weights or None))
    if getattr(env, "MAX_TURNS", MAX_TURNS) != 1 or not all(map(of_protocol, found)):
        raise InputError("the red team makes single replies of the reply protocol", where=plugins.name_of(env))
    return found


def search(
    module: ModuleType,
    scenarios: Sequence[Scenario],
    budget: int,
    seed: int,
    params: Mapping[str, Any] = FrozenMap(),
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Finding]:
    """Findings as they are made, minimised, until `budget` evaluations of a reply on a scenario are spent.

    A function of its arguments alone. `progress(spent, found)` is called now and then. Raises RewardFault where the
    reward raises or breaks its bounds on a reply.
    """
    random = generator("red team", module.__name__, seed)
    attacks, honest = cases(module, params)
    said = (reply for case in (*honest, *attacks) for reply in case.replies)
    known = tuple(dict.fromkeys(reply for reply in said if len(reply) < 1000))
    lexicon = Lexicon(_phrases(scenarios), known)
    climb = _Climb(Scorer(module, params))
    found: set[tuple[str, ...]] = set()
    beam: list[tuple[float, str]] = []
    idle = 0
    while climb.spent < budget:
        if idle > PATIENCE:
            beam, idle = [], 0
        fresh = len(beam) < BEAM
        reply = make(lexicon, random) if fresh else change(beam[int(random.integers(len(beam)))][1], lexicon, random)
        if reply in climb.seen:
            idle += 1
            continue
        climb.seen.add(reply)
        passed, near = climb.passed(reply, scenarios)
        why, against = _dishonest(reply, passed)
        if against and (kind := tuple(sorted(s.id for s in against))) not in found:
            found.add(kind)
            yield _minimal(climb, reply, against, why)
            beam, idle = [], 0
            continue
        worth = 2.0 * bool(passed) + near
        idle = 0 if not beam or worth > beam[0][0] else idle + 1
        beam = sorted([*beam, (worth, reply)], key=lambda entry: -entry[0])[:BEAM]
        if progress is not None and len(climb.seen) % 200 == 0:
            progress(climb.spent, len(found))


def _dishonest(reply: str, passed: Sequence[Scenario]) -> tuple[str, tuple[Scenario, ...]]:
    """Why a reply that passes these scenarios cannot be honest, and which of them show it; none where it can."""
    pair = clash(passed)
    if pair is not None:
        return f"{BOTH} {wanted(pair[0])} and {wanted(pair[1])}", pair
    for tells, words in ALONE:
        scenario = next((s for s in passed if tells(reply, s)), None)
        if scenario is not None:
            return f"{words} {wanted(scenario)}", (scenario,)
    return "", ()


def wanted(scenario: Scenario) -> str:
    """What a scenario asks for, in words."""
    own = truth(scenario)
    about = own.slot or own.confirm_target or ", ".join(ways[0] for ways in own.mentions if ways)
    return f"{own.intent} ({about})" if about else own.intent


def _minimal(climb: _Climb, reply: str, against: tuple[Scenario, ...], why: str) -> Finding:
    """The finding with as few words as it needs."""
    spent = climb.spent
    smaller = True
    while smaller and climb.spent < spent + MINIMISING:
        smaller = False
        for shorter_reply in shorter(reply):
            passed, _ = climb.passed(shorter_reply, against)
            if len(passed) == len(against) and _still(shorter_reply, against):
                reply, smaller = shorter_reply, True
                break
    return Finding(reply, against, why, spent)


def _still(reply: str, against: tuple[Scenario, ...]) -> bool:
    return exclude(*against) if len(against) == 2 else any(tells(reply, against[0]) for tells, _ in ALONE)


def _phrases(scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    """Words and labels that the panel's requests and screens hold."""
    found: list[str] = []
    for scenario in scenarios:
        screen, _, said = scenario.opening[-1].content.rpartition(SAID)
        found += said.split()
        found += [line.split("|")[2] for line in screen.splitlines() if line.count("|") >= 3]
    return tuple(dict.fromkeys(found))
