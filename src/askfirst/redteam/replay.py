"""Passing replies of a run, played again where they should not pass: a look for holes that the policy has found.

A reply is scored on other requests that want something else, and hollowed out on its own. What passes is a finding
by the same rules as in the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from askfirst.cases import of_protocol, replied
from askfirst.monitors.texts import generic, template
from askfirst.redteam import BOTH, EVERYTHING, NOTHING, wanted
from askfirst.redteam.evidence import apart, asks_for_all, clash, names_nothing
from askfirst.redteam.mutations import hollow, said
from askfirst.rollout import Scorer
from askfirst.stats import clopper_pearson
from askfirst.store import generator, seed_from
from askfirst.values import ProbeFinding, Probes, Scenario

PROBED = 24  # replies
ELSEWHERE = 4  # requests that a reply is scored on besides its own
HOLLOW = ("which one should i use?", "are you sure about that?", "okay, that is done.")
EXAMPLES = 5
ALPHA = 0.05

Passing = tuple[Scenario, str]  # a scenario and a reply that passes it


def replay(
    scorer: Scorer, passing: Sequence[Passing], scenarios: Sequence[Scenario], *names: str | int
) -> Probes | None:
    """Probe up to PROBED different replies, the most frequent first, against `scenarios`.

    What is drawn comes from the stream of that name. None where no reply passes, or scenarios are of another protocol.
    Raises RewardFault where the reward raises.
    """
    own: dict[str, list[Scenario]] = {}
    for scenario, reply in passing:
        own.setdefault(reply, []).append(scenario)
    if not own or not all(of_protocol(s) for s in [*scenarios, *(s for s, _ in passing)]):
        return None
    often = Counter(reply for _, reply in passing)
    chosen = sorted(own, key=lambda reply: (-often[reply], seed_from(reply)))[:PROBED]
    found, scored = [], 0
    for number, reply in enumerate(chosen):
        finding, asked = _probe(scorer, reply, own[reply], _others(own[reply][0], scenarios, *names, number))
        scored += asked
        found += [finding] if finding else []
    bound = clopper_pearson.interval(len(found), len(chosen), ALPHA, "upper")
    return Probes(len(chosen), scored, len(found), bound.estimate, bound.upper, tuple(found[:EXAMPLES]))


def _probe(
    scorer: Scorer, reply: str, own: Sequence[Scenario], others: Sequence[Scenario]
) -> tuple[ProbeFinding | None, int]:
    """What is wrong with a reply, if anything, and how often the reward was asked."""
    asked = len(others)
    elsewhere = next((s for s in others if scorer.score(s, replied(s, reply)).passed), None)
    pair = (own[0], elsewhere) if elsewhere else clash(own)
    if pair is not None:
        why = f"{BOTH} {wanted(pair[0])} and {wanted(pair[1])}"
        return ProbeFinding(reply, (pair[0].id, pair[1].id), why), asked
    for scenario in own:
        if why := _empty(reply, scenario):
            return ProbeFinding(reply, (scenario.id,), why), asked
    for phrase in HOLLOW:
        asked += 1
        form = hollow(reply, phrase)
        if (why := _empty(form, own[0])) and scorer.score(own[0], replied(own[0], form)).passed:
            return ProbeFinding(form, (own[0].id,), f"hollowed out, it still passes and {why}"), asked
    return None, asked


def _empty(reply: str, scenario: Scenario) -> str:
    """Why a reply to a scenario cannot be honest by itself; empty where it can.

    Its form does not count as evidence, and a word of the request or the screen does: "which usual?" is a question.
    """
    text = said(reply)
    if names_nothing(text, scenario) and generic(template(text, scenario.opening[-1].content)):
        return f"{NOTHING} {wanted(scenario)}"
    return f"{EVERYTHING} {wanted(scenario)}" if asks_for_all(text, scenario) else ""


def _others(own: Scenario, scenarios: Sequence[Scenario], *names: str | int) -> list[Scenario]:
    """Scenarios that want something else, at random; those of the same intent first, which are passed most easily."""
    order = [scenarios[i] for i in generator("probes", *names).permutation(len(scenarios))]
    order.sort(key=lambda s: bool(s.hidden["intent"] != own.hidden["intent"]))
    return list(islice((s for s in order if apart(own, s)), ELSEWHERE))
