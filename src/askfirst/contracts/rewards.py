"""What every reward must satisfy, as one self-test that tests, `check` and the gate before a run share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from askfirst import plugins
from askfirst.cases import Case, replied
from askfirst.store import content_hash, generator
from askfirst.values import FrozenMap, Score, Segment

RANDOM_REPLIES = 200
TOLERANCE = 1e-9
# What a careless reward raises on a reply; anything else is the machine's and goes up.
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)
_PIECES = (
    *('{ } [ ] " : , \\ \\u0000 \\ud800 ``` ```json null true NaN 1e999 -1 "intent" "clarify" "payload"'.split()),
    *('"spokenText" {"question":"?","topic":"time"} intent user: ?'.split()),
    *("\x00 \x1b \u200b \u202e \ud800 \ufeff \u0130 \uff1f \U0001f600 e\u0301 \u0430 \n \t ".split(" ")),
)


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """What the self-test of a reward found. `broken` says in words which cases failed; empty is green.

    `source` is the hash of the reward's source, `corpus` that of its cases: a report speaks for exactly these.
    """

    attacks: int
    honest: int
    broken: tuple[str, ...]
    reward: str = ""
    source: str = ""
    corpus: str = ""


def self_test(module: ModuleType, params: Mapping[str, Any] = FrozenMap(), more: Sequence[Case] = ()) -> SelfTestReport:
    """Run a reward on its attacks and `more` of them, its honest cases and random replies; every deviation is listed.

    Raises RewardFault where the reward refuses the params.
    """
    attacks, honest = cases(module, params)
    attacks = (*attacks, *more)
    broken = tuple(faults(module, params, more))
    corpus = content_hash(
        [
            (c.name, c.scenario.id, c.reply.encode("utf-8", "backslashreplace").hex(), c.bound)
            for c in (*attacks, *honest)
        ]
    )
    name = module.__name__.rsplit(".", 1)[-1]
    return SelfTestReport(len(attacks), len(honest), broken, name, plugins.source_hash(module), corpus)


def faults(module: ModuleType, params: Mapping[str, Any] = FrozenMap(), more: Sequence[Case] = ()) -> Iterator[str]:
    """The deviations of `self_test`, found one by one."""
    attacks, honest = cases(module, params)
    attacks = (*attacks, *more)
    yield from _declared(module, attacks, honest)
    if not (attacks and honest):
        return
    scored: list[tuple[Case, Score]] = []
    for attack, each in ((True, attacks), (False, honest)):
        for case in each:
            yield from _case(module, case, params, scored, attack=attack)
    yield from _again(module, params, scored)
    yield from _random(module, params, (*honest, *attacks))


def fingerprint(module: ModuleType, params: Mapping[str, Any] = FrozenMap(), *, backwards: bool = False) -> str:
    """A hash over the scores of all cases of a reward: the same in every process, in whichever order they are scored.

    Raises what the reward raises.
    """
    attacks, honest = cases(module, params)
    known = list(enumerate((*attacks, *honest)))
    scores = {
        at: module.score(case.scenario, replied(case.scenario, case.reply), params)
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


def _case(
    module: ModuleType, case: Case, params: Mapping[str, Any], scored: list[tuple[Case, Score]], *, attack: bool
) -> Iterator[str]:
    """The faults of a case; its score is put down in `scored`."""
    name = f"{'attack' if attack else 'honest case'} {case.name}"
    try:
        score = module.score(case.scenario, replied(case.scenario, case.reply), params)
        stated = module.intent_of(case.reply) if hasattr(module, "intent_of") else None
    except RAISED as error:
        yield f"{name} raised {type(error).__name__}: {error}"
        return
    scored.append((case, score))
    yield from (f"{name} {fault}" for fault in _malformed(module, score))
    if stated is not None and stated != case.scenario.hidden.get("intent", stated) and not attack:
        yield f"{name} states the intent {stated!r} according to intent_of"
    if not isinstance(stated, str | None):
        yield f"{name}: intent_of returned {type(stated).__name__}, not a text"
    if not isinstance(score, Score):
        return
    if attack and score.total > case.bound + TOLERANCE:
        yield f"{name} earned {score.total:g}, cap {case.bound:g}: {case.why}"
    if not attack and score.total < case.bound - TOLERANCE:
        yield f"{name} earned {score.total:g}, floor {case.bound:g}: {', '.join(score.failures) or case.why}"


def _again(module: ModuleType, params: Mapping[str, Any], scored: Sequence[tuple[Case, Score]]) -> Iterator[str]:
    """Cases that score otherwise a second time, from last to first and with the tokens of another policy."""
    for case, score in reversed(scored):
        plain = replied(case.scenario, case.reply)
        spoken = replace(plain, segments=(Segment((0, 1), False), Segment((7, 2), True, (-0.5, -1.5))))
        try:
            other = module.score(case.scenario, spoken, params)
            again = other if other == score else module.score(case.scenario, plain, params)
        except RAISED as error:
            yield f"case {case.name} raised {type(error).__name__} the second time: {error}"
            continue
        if again != score:
            yield f"case {case.name} scored differently the second time, in another order"
        elif other != score:
            yield f"case {case.name} scored differently with other tokens and logprobs, which are the policy's own"


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
        reply = _noise(rng, number) if number % 4 else _damaged(rng, case.reply)
        try:
            score = module.score(case.scenario, replied(case.scenario, reply), params)
        except RAISED as error:
            broken.append(f"random reply {reply[:60]!a} raised {type(error).__name__}: {error}")
            continue
        broken += [f"random reply {reply[:60]!a} {fault}" for fault in _malformed(module, score)]
        if number % 4 and isinstance(score, Score) and score.total >= best:
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
