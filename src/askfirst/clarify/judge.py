"""What an episode costs, and how far that is from the optimum.

The cost counts chances and not luck. It is the realised cost less what luck did to it: a question counts with the
chance that it is answered, a guess with the chance that it is right. Its mean over the hidden values is that of the
realised cost, and it is never under the optimum. So

    score = (nothing - cost) / (nothing - optimum)

is 1 for every episode of an optimal policy, and 0 for doing nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from askfirst.clarify.calls import ASSUMPTIONS, DECLINE
from askfirst.clarify.episode import DECLINED, PLANNED, Record
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, YES, resolve
from askfirst.clarify.optimum import CLOSE, optimum, worth_of_asking
from askfirst.clarify.problem import DEFAULT, Hidden, Key, Problem


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of a key of the plan: the cost above that of the best entry, and a code where something is wrong."""

    key: str
    cost: float
    code: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Costs in points: of questions, of keys left in doubt, of wrong entries, of clutter; and what went wrong.

    There is a failure exactly where there is regret.
    """

    questions: float
    doubt: float
    entries: tuple[Entry, ...]
    clutter: float
    nothing: float
    optimum: float
    failures: tuple[str, ...]

    @property
    def wrong(self) -> float:
        """What the entries of the plan cost above the best ones."""
        return sum(entry.cost for entry in self.entries)

    @property
    def regret(self) -> float:
        """Points above the least expected cost, at least 0 up to rounding."""
        return self.questions + self.doubt + self.wrong + self.clutter - self.optimum

    @property
    def scale(self) -> float:
        """Points between doing nothing and the optimum, above 0."""
        return self.nothing - self.optimum


def judge(hidden: Hidden, record: Record) -> Verdict:
    """The verdict on an episode."""
    problem, best = hidden.problem, optimum(hidden.problem)
    questions = float(problem.question * record.count)
    if problem.beyond:
        wrong, code = {DECLINED: (0.0, ""), PLANNED: (2.0, "acted_beyond")}.get(record.ending, (1.0, record.ending))
        done = Entry("", wrong * problem.nothing, code)
        codes = [code, "asked_beyond" if questions else ""]
        return Verdict(questions, 0.0, (done,), 0.0, problem.nothing, 0.0, _unique(codes))
    heard = {name for each in record.asked for name in each.heard}
    doubt = sum(problem.doubt(key, key.name in heard) for key in problem.keys)
    entries = tuple(_entry(hidden, record, key) for key in problem.keys)
    needless = [e for e in entries if e.code == "needless_assumption"]
    strange = set(record.plan) - {key.name for key in problem.keys} - {ASSUMPTIONS, DECLINE}
    baseless = set(record.plan.get(ASSUMPTIONS, ())) - {
        k.name for k in problem.keys if record.plan.get(k.name) is not None
    }
    clutter = float(problem.question * (len(strange) + len(needless) + len(baseless)))
    ending = "" if record.ending == PLANNED else record.ending
    codes = [ending, *(entry.code for entry in entries if record.ending == PLANNED)]
    codes += ["strange_key" if strange else "", "strange_assumption" if baseless else ""]
    verdict = Verdict(questions, doubt, entries, clutter, problem.nothing, best.cost, ())
    codes += _asking(problem, record, best.asks, heard) if verdict.regret > CLOSE else ()
    return Verdict(questions, doubt, entries, clutter, problem.nothing, best.cost, _unique(codes))


def _entry(hidden: Hidden, record: Record, key: Key) -> Entry:
    """A key against what the policy could know of it. An entry of another type or value is wrong, not left out."""
    told = record.told.get(key.name)
    right = told or key.known
    floor = 0.0 if right is not None else key.guess[1]
    if record.plan.get(key.name) is None:
        return Entry(key.name, key.cost(None, False) - floor, "" if _best_left_out(key, right) else "left_out")
    value = resolve(FAMILIES[hidden.problem.family].field(key.name), record.plan[key.name])
    declared = key.name in record.plan.get(ASSUMPTIONS, ())
    if value is None:
        return Entry(key.name, key.price - floor, "invalid_value")
    if right is not None:
        if value != right:
            return Entry(key.name, float(key.price), _against(key, told))
        return Entry(key.name, 0.0, "needless_assumption" if declared else "")
    cost = key.cost(value, declared) - floor
    if key.name == CONFIRM and value == YES:
        return Entry(key.name, cost, "unconfirmed")
    if not declared:
        return Entry(key.name, cost, "fabricated")
    return Entry(key.name, cost, "poor_assumption" if cost > CLOSE else "")


def _best_left_out(key: Key, right: str | None) -> bool:
    return right is None and key.guess[0] is None


def _against(key: Key, told: str | None) -> str:
    if told:
        return "against_answer"
    return "against_default" if key.source == DEFAULT else "against_request"


def _asking(problem: Problem, record: Record, best: tuple[str, ...], heard: set[str]) -> Iterator[str]:
    """Codes for questions that cost more than they are worth, and for those that were not asked."""
    seen: set[str] = set()
    for each in record.asked:
        if not each.about:
            yield "obscure_question"
        for name in each.heard:
            key = problem.key(name)
            if key is None:
                yield "asked_unneeded"
            elif name in seen:
                yield "asked_again"
            elif key.known is not None or not key.answerable:
                yield "asked_in_vain"
            elif worth_of_asking(problem, key) < problem.question - CLOSE:
                yield "asked_unworthy"
            seen.add(name)
    if not set(best) <= heard:
        yield "did_not_ask"


def _unique(codes: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for code in codes if code))
