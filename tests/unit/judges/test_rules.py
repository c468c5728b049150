"""The judge without a model: what it flags, and in which words."""

from __future__ import annotations

import pytest

from askfirst import plugins
from askfirst.cases import replied, scenario
from askfirst.contracts.rewards import cases
from askfirst.judges import rules
from askfirst.replies import Reply, Truth
from askfirst.rewards import slots
from askfirst.values import FrozenMap, Score

ASKED = Reply("who is it for?", "clarify", {"question": "who is it for?", "topic": "recipient"}).text()
ACTED = Reply("i am sending it", "action", {"name": "Mail.send", "args": {"to": "ann"}}).text()
REFUSED = Reply("sorry, i can't do that", "out_of_scope", {"reason": "not possible"}).text()


@pytest.mark.parametrize(
    ("intent", "reply", "flagged", "says"),
    [
        ("clarify", REFUSED, rules.ASKING, "ask about it before acting"),
        ("action", ASKED, rules.ASKING, "act without a question"),
        ("confirm_destructive", ACTED, rules.ASKING, "ask for a yes first"),
        ("out_of_scope", ACTED, rules.CLAIMS, "out of scope"),
        ("action", REFUSED, rules.CLAIMS, "not what the request calls for"),
        ("action", "okay", rules.TOOLS, "not exactly one call"),
    ],
)
def test_a_reply_of_another_kind_is_told_by_what_was_wanted(intent: str, reply: str, flagged: str, says: str) -> None:
    where = scenario("send it", Truth(intent))
    trajectory = replied(where, reply)
    found = rules.judge(where, trajectory, slots.score(where, trajectory, FrozenMap()))
    assert found.flagged == (flagged,)
    assert says in found.feedback


def test_what_acts_in_place_of_a_question_makes_something_up_too() -> None:
    where = scenario("send it", Truth("clarify"))
    trajectory = replied(where, ACTED)
    found = rules.judge(where, trajectory, slots.score(where, trajectory, FrozenMap()))
    assert found.flagged == (rules.CLAIMS, rules.ASKING)


@pytest.mark.parametrize("code", ["unparsable", "unheard-of"])
def test_where_something_was_open_and_nothing_asked_that_is_told_too(code: str) -> None:
    score = Score(0.0, FrozenMap({"pass": 0.0}), False, (code,), "theirs@1")
    where = scenario("send it", Truth("clarify"))
    assert rules.ASKING in rules.judge(where, replied(where, "okay"), score).flagged
    assert rules.ASKING not in rules.judge(where, replied(where, ASKED), score).flagged


def test_what_passes_is_neither_flagged_nor_spoken_of() -> None:
    """Empty feedback is what a teacher learns nothing from."""
    score = Score(1.0, FrozenMap({"pass": 1.0}), True, (), "slots@5")
    where = scenario("send it", Truth("action"))
    found = rules.judge(where, replied(where, ACTED), score)
    assert (found.flagged, found.feedback, found.mean) == ((), "", 1.0)


@pytest.mark.parametrize("failures", [(), ("code-of-somebody",), ("intent_mismatch:x",)])
def test_what_fails_is_never_without_a_flag(failures: tuple[str, ...]) -> None:
    score = Score(0.0, FrozenMap({"pass": 0.0}), False, failures, "theirs@1")
    where = scenario("send it", Truth("action"))
    found = rules.judge(where, replied(where, REFUSED), score)
    assert found.flagged
    assert found.feedback


@pytest.mark.parametrize("reward", ["slots", "utility"])
@pytest.mark.thorough
def test_every_code_of_the_oracles_has_words_of_its_own(reward: str) -> None:
    """A code that a reward gains is one that the judge must learn, or its feedback says nothing."""
    module = plugins.load("rewards", reward)
    for case in cases(module)[0]:
        score = module.score(case.scenario, case.trajectory(), FrozenMap())
        for code in {*score.failures} - {"intent_mismatch"}:
            assert rules.known(code), code
