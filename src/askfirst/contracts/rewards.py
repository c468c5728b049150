"""What every reward must satisfy, as one self-test that tests, `check` and the gate before a run share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from askfirst import plugins
from askfirst.cases import Case
from askfirst.contracts.selftest import Outcome, SelfTestReport, corpus_hash, families, mutants, rate, scorer_hash
from askfirst.store import content_hash, generator
from askfirst.values import TOLERANCE, FrozenMap, Score, Segment

RANDOM_REPLIES = 200
# What a careless reward raises on a reply; anything else is the machine's and goes up.
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)
_PIECES = (
    *('{ } [ ] " : , \\ \\u0000 \\ud800 ``` ```json null true NaN 1e999 -1 "intent" "clarify" "payload"'.split()),
    *('"spokenText" {"question":"?","topic":"time"} intent user: ?'.split()),
    *("\x00 \x1b \u200b \u202e \ud800 \ufeff \u0130 \uff1f \U0001f600 e\u0301 \u0430 \n \t ".split(" ")),
)


def self_test(module: ModuleType, params: Mapping[str, Any] = FrozenMap(), more: Sequence[Case] = ()) -> SelfTestReport:
    """Run a reward on its attacks and `more` of them, its honest cases and random replies; every deviation is listed.

    Raises RewardFault where the reward refuses the params.
    """
    attacks, honest = cases(module, params)
    source, own = scorer_hash(module, params), corpus_hash((*attacks, *honest))
    attacks = (*attacks, *more)
    outcomes: list[Outcome] = []
    broken = tuple(faults(module, params, more, outcomes.append))
    return SelfTestReport(
        reward=plugins.name_of(module),
        source=source,
        corpus=corpus_hash((*attacks, *honest)),
        attacks=len(attacks),
        honest=len(honest),
        broken=broken,
        false_positives=rate([o for o in outcomes if o.attack]),
        false_negatives=rate([o for o in outcomes if not o.attack]),
        families=families(outcomes),
        mutants=mutants(module, source, own),
    )


def faults(
    module: ModuleType,
    params: Mapping[str, Any] = FrozenMap(),
    more: Sequence[Case] = (),
    note: Callable[[Outcome], None] = lambda outcome: None,
) -> Iterator[str]:
    """The deviations of `self_test`, found one by one; `note` hears of every case as it is tried."""
    attacks, honest = cases(module, params)
    attacks = (*attacks, *more)
    yield from _declared(module, attacks, honest)
    if not (attacks and honest):
        return
    scored: list[tuple[str, Case, Score]] = []
    for attack, each in ((True, attacks), (False, honest)):
        for case in each:
            outcome, score = _tried(module, case, params, attack=attack)
            note(outcome)
            yield from outcome.faults
            scored += [(_called(case, attack=attack), case, score)] if score is not None else []
    yield from _again(module, params, scored)
    yield from _random(module, params, (*honest, *attacks))


def fingerprint(module: ModuleType, params: Mapping[str, Any] = FrozenMap(), *, backwards: bool = False) -> str:
    """A hash over the scores of all cases of a reward: the same in every process, in whichever order they are scored.

    Raises what the reward raises.
    """
    attacks, honest = cases(module, params)
    known = list(enumerate((*attacks, *honest)))
    scores = {
        at: module.score(case.scenario, case.trajectory(), params)
        for at, case in (reversed(known) if backwards else known)
    }
    return content_hash([scores[at] for at, _ in known])


def cases(module: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> tuple[Sequence[Case], Sequence[Case]]:
    """A reward's attacks and honest cases: its `cases(params)` where bounds depend on params, else its constants."""
    if hasattr(module, "cases"):
        attacks, honest = module.cases(params)
        return attacks, honest
    return module.ATTACKS, module.HONEST


def _declared(module: ModuleType, attacks: Sequence[Case], honest: Sequence[Case]) -> Iterator[str]:
    low, high = module.BOUNDS
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        yield f"bounds [{low}, {high}] are not a finite range"
    if not attacks:
        yield "there are no attacks"
    if not honest:
        yield "there are no honest cases"
    for kind, each in (("attack", attacks), ("honest case", honest)):
        names = [case.name for case in each]
        yield from (f"two cases are called {kind} {name}" for name in sorted({n for n in names if names.count(n) > 1}))


def _called(case: Case, *, attack: bool) -> str:
    return f"{'attack' if attack else 'honest case'} {case.name}"


def _tried(module: ModuleType, case: Case, params: Mapping[str, Any], *, attack: bool) -> tuple[Outcome, Score | None]:
    """What became of a case, and its score where there is one to compare with the bound."""
    name = _called(case, attack=attack)
    try:
        score = module.score(case.scenario, case.trajectory(), params)
        stated = [module.intent_of(reply) for reply in case.replies] if hasattr(module, "intent_of") else []
    except RAISED as error:
        return Outcome(attack, case.family, None, (f"{name} raised {type(error).__name__}: {error}",)), None
    found = [f"{name} {fault}" for fault in _malformed(module, score)]
    if stated and not case.env and not attack and stated[0] != case.scenario.hidden.get("intent", stated[0]):
        found.append(f"{name} states the intent {stated[0]!r} according to intent_of")
    found += [f"{name}: intent_of returned {type(s).__name__}, not a text" for s in stated if not isinstance(s, str)]
    if case.codes and isinstance(score, Score) and set(score.failures) != set(case.codes):
        found.append(f"{name} failed for {', '.join(score.failures) or 'nothing'}, not for {', '.join(case.codes)}")
    if not isinstance(score, Score) or not math.isfinite(score.total):
        return Outcome(attack, case.family, None, tuple(found)), None
    above, below = score.total > case.bound + TOLERANCE, score.total < case.bound - TOLERANCE
    if attack and above:
        found.append(f"{name} earned {score.total:g}, cap {case.bound:g}: {case.why}")
    if not attack and below:
        found.append(f"{name} earned {score.total:g}, floor {case.bound:g}: {', '.join(score.failures) or case.why}")
    return Outcome(attack, case.family, above if attack else below, tuple(found)), score


def _again(module: ModuleType, params: Mapping[str, Any], scored: Sequence[tuple[str, Case, Score]]) -> Iterator[str]:
    """Cases that score otherwise a second time, from last to first and with the tokens of another policy."""
    for name, case, score in reversed(scored):
        try:
            plain = case.trajectory()
            spoken = replace(plain, segments=(Segment((0, 1), False), Segment((7, 2), True, (-0.5, -1.5))))
            other = module.score(case.scenario, spoken, params)
            again = other if other == score else module.score(case.scenario, plain, params)
        except RAISED as error:
            yield f"{name} raised {type(error).__name__} the second time: {error}"
            continue
        if again != score:
            yield f"{name} scored differently the second time, in another order"
        elif other != score:
            yield f"{name} scored differently with other tokens and logprobs, which are the policy's own"


def _malformed(module: ModuleType, score: Score) -> Iterator[str]:
    low, high = module.BOUNDS
    if not isinstance(score, Score):
        yield f"returned {type(score).__name__}, not a Score"
        return
    if not (math.isfinite(score.total) and low - TOLERANCE <= score.total <= high + TOLERANCE):
        yield f"scored {score.total}, outside [{low}, {high}]"
    if abs(sum(score.terms.values()) - score.total) > TOLERANCE:
        yield f"has terms that add up to {sum(score.terms.values())}, not to {score.total}"
    if score.passed and score.failures:
        yield "passed with failures"
    if not score.passed and not score.failures:
        yield "failed without a reason"


def _random(module: ModuleType, params: Mapping[str, Any], known: Sequence[Case]) -> list[str]:
    """Faults on random replies: noise, protocol pieces, and damaged replies of the corpus."""
    rng = generator("reward self-test", module.__name__)
    best = max(case.bound for case in known)
    broken = []
    for number in range(RANDOM_REPLIES):
        case = known[int(rng.integers(len(known)))]
        noise = bool(number % 4)
        reply = _noise(rng, number) if noise else _damaged(rng, case.replies[-1])
        try:
            said = case.with_replies((reply,) * len(case.replies)) if noise else case.with_last(reply)
            score = module.score(case.scenario, said, params)
        except RAISED as error:
            broken.append(f"random reply {reply[:60]!a} raised {type(error).__name__}: {error}")
            continue
        broken += [f"random reply {reply[:60]!a} {fault}" for fault in _malformed(module, score)]
        if noise and isinstance(score, Score) and score.total >= best:
            broken.append(f"random reply {reply[:60]!a} earned {score.total:g}")
    return broken


def _noise(rng: np.random.Generator, number: int) -> str:
    size = int(rng.integers(1, 60))
    if number % 4 == 1:
        return bytes(rng.integers(0, 256, size).tolist()).decode("latin-1")
    if number % 4 == 2:
        return "".join(chr(c) for c in rng.integers(0, 0x11000, size))
    return "".join(_PIECES[i] for i in rng.integers(0, len(_PIECES), size))


def _damaged(rng: np.random.Generator, reply: str) -> str:
    text = list(reply[:2000])
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(text) + 1))
        text[at : at + int(rng.integers(3))] = _PIECES[int(rng.integers(len(_PIECES)))]
    return "".join(text)
