"""A search for episodes of `clarify` that earn more than the evidence in them is worth: a seeded hill-climber.

What an episode is worth says `askfirst.redteam.worth`. Luck is no hole: a guess that happens to be right only counts
where guesses earn more than they are worth in the mean over all that the guessed keys may hide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.cases import Case, play
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.oracle import optimal
from askfirst.clarify.problem import hidden_of
from askfirst.contracts.rewards import cases
from askfirst.errors import RewardFault
from askfirst.redteam.moves import Board, Texts, board, change, make, shorter
from askfirst.redteam.worth import Worth, worth
from askfirst.rollout import Scorer
from askfirst.store import generator, seed_from
from askfirst.values import FrozenMap, Scenario

ENV = "clarify"  # whose episodes are made
# In units of what the reward pays from saying nothing, 0, to the optimum, 1.
THRESHOLD = 0.0  # a finding earns more than this,
EXCESS = 0.05  # and by more than this more than its evidence is worth
PANEL = 24
BEAM = 6  # episodes of a scenario that are climbed from
PATIENCE = 60  # episodes of a scenario without progress until a fresh start
HIDDEN = 60  # hidden values that a guess is tried with
MINIMISING = 2000  # evaluations to make a finding shorter with


@dataclass(frozen=True, slots=True)
class Finding:
    """An episode that earns more than its evidence is worth. `evaluations` were needed to find it."""

    replies: Texts
    scenarios: tuple[Scenario]
    why: str
    evaluations: int
    cap: float

    def case(self) -> Case:
        """As an attack: it must not earn more than its evidence is worth."""
        name = f"red team: {' / '.join(self.replies)[:100]}"
        return Case(name, "redteam", self.scenarios[0], self.replies, self.cap, self.why, ENV)


@dataclass(frozen=True, slots=True)
class _Try:
    """An episode as it went: what was said of it, what the user answered, what it earned and what it is worth, both
    with 0 for doing nothing and 1 for the optimum."""

    texts: Texts
    heard: Texts
    earned: float
    worth: Worth

    @property
    def excess(self) -> float:
        return self.earned - max(self.worth.most, -1.0)

    @property
    def suspect(self) -> bool:
        """Whether it earns too much, as far as these hidden values go."""
        return self.earned > THRESHOLD and self.excess > EXCESS

    @property
    def height(self) -> float:
        """What the search climbs."""
        return self.earned + 2 * self.excess


@dataclass(slots=True)
class _Arena:
    """A scenario under attack; `low` and `high` are what the reward pays for saying nothing and for the optimum."""

    scenario: Scenario
    board: Board
    low: float
    high: float
    beam: list[_Try] = field(default_factory=list)
    seen: set[Texts] = field(default_factory=set)
    idle: int = 0


@dataclass(slots=True)
class _Climb:
    """A reward under attack: what it was asked."""

    scorer: Scorer
    env: ModuleType
    spent: int = 0

    def tried(self, arena: _Arena, texts: Texts) -> _Try:
        """One evaluation of an episode on the scenario of an arena."""
        self.spent += 1
        messages = (episode := play(self.env, arena.scenario, texts)).messages
        total = self.scorer.score(arena.scenario, episode).total
        said = messages[len(arena.scenario.opening) :]
        spoken = tuple(m.content for m in said if m.role == "assistant")
        heard = tuple(m.content.rpartition("\n")[0] for m in said if m.role == "user")
        earned = (total - arena.low) / (arena.high - arena.low)
        return _Try(spoken, heard, earned, worth(arena.scenario, messages))

    def _paid(self, scenario: Scenario, texts: Texts) -> float:
        """What the reward pays for an episode, in the mean over all that its guessed keys may hide."""
        shares = paid = 0.0
        for share, other in _hidden(scenario, worth(scenario, play(self.env, scenario, texts).messages).guessed):
            self.spent += 1
            shares += share
            paid += share * self.scorer.score(other, play(self.env, other, texts)).total
        return paid / shares

    def open(self, scenario: Scenario, seen: Sequence[str]) -> _Arena:
        """An arena. Raises RewardFault where the reward pays the optimum no more than saying nothing."""
        low, high = (self._paid(scenario, said) for said in (("",), optimal(scenario)))
        if not low < high:
            raise RewardFault(
                f"the optimal episode earns {high:g}, and saying nothing {low:g}",
                where=f"scenario {scenario.id}",
                hint="the red team measures what is earned between the two",
            )
        return _Arena(scenario, board(scenario, seen), low, high)


def plays(env: ModuleType) -> bool:
    """Whether episodes of an environment can be made here."""
    return plugins.name_of(env) == ENV


def panel(env: ModuleType, seed: int, size: int = PANEL) -> tuple[Scenario, ...]:
    """Train scenarios of every stratum; half of them need a question."""
    weights = {name: 0.5 if name == "ambiguous" else 0.5 / (len(env.STRATA) - 1) for name in env.STRATA}
    return tuple(env.scenarios("train", size, seed_from("red team", seed), weights))


def search(
    module: ModuleType,
    scenarios: Sequence[Scenario],
    budget: int,
    seed: int,
    params: Mapping[str, Any] = FrozenMap(),
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Finding]:
    """Findings as they are made, minimised, until `budget` evaluations of an episode are spent.

    A function of its arguments alone. `progress(spent, found)` is called now and then. Raises RewardFault where the
    reward raises, breaks its bounds, or pays for the optimum no more than for nothing.
    """
    random = generator("red team", module.__name__, seed)
    attacks, honest = cases(module, params)
    seen = tuple(dict.fromkeys(r for case in (*honest, *attacks) for r in case.replies if len(r) < 1000))
    climb = _Climb(Scorer(module, params), plugins.load("envs", ENV))
    arenas = [climb.open(scenario, seen) for scenario in scenarios]
    found: list[frozenset[str]] = []
    for number, arena in enumerate(itertools.cycle(arenas)):
        if climb.spent >= budget:
            return
        if progress is not None and number % 200 == 199:
            progress(climb.spent, len(found))
        if arena.idle > PATIENCE:
            arena.beam, arena.idle = [], 0
        start = arena.beam[int(random.integers(len(arena.beam)))] if len(arena.beam) == BEAM else None
        texts = change(start.texts, start.heard, arena.board, random) if start else make(arena.board, random)
        if texts in arena.seen:
            arena.idle += 1
            continue
        arena.seen.add(texts)
        one = climb.tried(arena, texts)
        if one.suspect and not any(kinds <= one.worth.kinds for kinds in found):
            finding = _finding(climb, arena, one)
            if finding is not None:
                found.append(finding[1])
                yield finding[0]
                arena.beam, arena.idle = [], 0
                continue
        arena.idle = 0 if not arena.beam or one.height > arena.beam[0].height else arena.idle + 1
        arena.beam = sorted([*arena.beam, one], key=lambda each: -each.height)[:BEAM]


def _finding(climb: _Climb, arena: _Arena, one: _Try) -> tuple[Finding, frozenset[str]] | None:
    """What is wrong with an episode, minimised, with its kinds; None where it was luck."""
    spent = climb.spent
    least = _fair(climb, arena, one)
    if least is None:
        return None
    smaller = True
    while smaller and climb.spent < spent + MINIMISING:
        smaller = False
        for texts in shorter(least[1].texts):
            again = _fair(climb, arena, climb.tried(arena, texts))
            if again is not None and again[1].worth.kinds <= one.worth.kinds:
                least, smaller = again, True
                break
    where, shown = least
    most = max(shown.worth.most, -1.0)
    cap = math.ceil(1000 * (arena.low + most * (arena.high - arena.low))) / 1000
    why = f"{_lacking(shown.worth)}: earns {shown.earned:.2f} of the optimum, and its evidence is worth {most:.2f}"
    return Finding(shown.texts, (where,), why, spent, cap), shown.worth.kinds


def _lacking(known: Worth) -> str:
    return "; ".join(lack.words for lack in known.lacks[:3]) or "nothing is amiss"


def _fair(climb: _Climb, arena: _Arena, one: _Try) -> tuple[Scenario, _Try] | None:
    """The hidden values with which an episode earns most above its worth, where it also does in the mean over all that
    its guessed keys may hide; None where it does not."""
    found: list[tuple[float, Scenario, _Try]] = []
    for share, scenario in _hidden(arena.scenario, one.worth.guessed):
        other = one if scenario is arena.scenario else climb.tried(replace(arena, scenario=scenario), one.texts)
        found.append((share, scenario, other))
    shares = sum(share for share, _, _ in found)
    earned = sum(share * other.earned for share, _, other in found) / shares
    excess = sum(share * other.excess for share, _, other in found) / shares
    _, scenario, most = max(found, key=lambda each: each[2].excess)
    return (scenario, most) if earned > THRESHOLD and excess > EXCESS else None


def _hidden(scenario: Scenario, names: Sequence[str]) -> Iterator[tuple[float, Scenario]]:
    """The scenario with every value that these keys may hide, up to HIDDEN of them, with its chance; the rest stays."""
    hidden, options = hidden_of(scenario), list[list[tuple[str, str, float]]]()
    for key in hidden.problem.keys:
        values = [(key.name, v, p) for v, p in zip(key.values, key.chances, strict=True) if p > 0]
        if key.name in names and math.prod(map(len, options)) * len(values) <= HIDDEN:
            options.append(values)
    if not options:
        yield 1.0, scenario
        return
    for drawn in itertools.product(*options):
        words = {n: FAMILIES[hidden.problem.family].field(n).said[v][0] for n, v, _ in drawn if v != hidden.truth[n]}
        truth = {n: v for n, v, _ in drawn}
        other = replace(hidden, truth={**hidden.truth, **truth}, words={**hidden.words, **words})
        yield math.prod(p for _, _, p in drawn), replace(scenario, hidden=other.hide()) if words else scenario
