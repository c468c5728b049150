"""Long replies that a scorer of text could take for ever over, and the time that it may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from askfirst.cases import Case
from askfirst.contracts.rewards import RAISED, cases
from askfirst.replies import Reply, ReplyError, parse_reply
from askfirst.values import FrozenMap, Scenario, Trajectory

SECONDS = 1.0  # for one reply, whatever is in it
REPEATS = 3  # of a reply that took longer: the shortest counts, so that a busy machine is not the reward's fault
HOPELESS = 5.0  # times SECONDS: no machine is that busy
LONG = 1_000  # characters of a reply that is long but that a protocol would still let in, in each of its texts
LONGEST = 20_000
# What parsers and patterns are slow on when it comes again and again.
UNITS = (
    *("{", "[", '"', "\\", "`", "?", ". ", "   ", "\n", "-", "1.", "a", "e\u0301", "\uff57", "\u200b"),
    *("which ", "what time ", "who, ", "and ", "not ", "the ", "okay ", "is it a or b ", "i've ", "i just just "),
    *("it's ", "can't ", "won't ask ", "'a", "a|", '{"intent": '),
)


@dataclass(frozen=True, slots=True)
class Growing:
    """A case whose last reply has more and more of one unit in it."""

    unit: str
    case: Case
    replies: tuple[str, ...]


def growing(known: Sequence[Case]) -> Iterator[Growing]:
    """For every unit a case whose texts it fills, small first: what doubles with every repetition shows before it
    hangs. The cases, one for each intent or family, take turns.
    """
    firsts = tuple({str(case.scenario.hidden.get("intent", case.family)): case for case in known}.values())
    for number, unit in enumerate(UNITS):
        case = firsts[number % len(firsts)]
        counts = [*range(4, 33, 4)]
        while 2 * counts[-1] * len(unit) < LONG:
            counts.append(2 * counts[-1])
        counts += [LONG // len(unit), LONGEST // len(unit)]
        replies = (*(_filled(case.replies[-1], unit * count) for count in counts), unit * (LONGEST // len(unit)))
        yield Growing(unit, case, replies)


def shortest(score: Callable[[Scenario, Trajectory, Mapping[str, Any]], object], *given: Any) -> float:
    """The seconds that a score takes: those of the first, or the least of a few where that one was over the limit."""
    found: list[float] = []
    while not found or (len(found) < REPEATS and SECONDS < min(found) < HOPELESS * SECONDS):
        began = time.perf_counter()
        score(*given)
        found.append(time.perf_counter() - began)
    return min(found)


def slow(module: ModuleType, params: Mapping[str, Any] = FrozenMap()) -> Iterator[str]:
    """Long replies that a reward takes too long over, or raises on; of each kind the shortest, in words."""
    for each in growing(cases(module, params)[1]):
        for reply in each.replies:
            words = f"a reply of {len(reply)} characters, {each.unit!a} again and again,"
            try:
                seconds = shortest(module.score, each.case.scenario, each.case.with_last(reply), params)
            except RAISED as error:
                yield f"{words} raised {type(error).__name__}: {str(error)[:80]}"
                break
            if seconds > SECONDS:
                yield f"{words} took {seconds:.1f} s, limit {SECONDS:g} s"
                break


def _filled(reply: str, text: str) -> str:
    """A reply with the text in place of every one that it says, or the text alone where it is none of the protocol."""
    try:
        told = parse_reply(reply)
    except ReplyError:
        return text
    kept = {"topic", "name", "action"}  # a wrong one of these would be refused before anything is read
    payload = {
        key: value if key in kept else text if isinstance(value, str) else {"text": text} if key == "args" else value
        for key, value in told.payload.items()
    }
    return Reply(text, told.intent, payload).text()
