"""The metamorphic laws, on replies of every kind to requests of every kind; each law is shown to find its fault."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.cases import replied, scenario
from askfirst.contracts import laws
from askfirst.contracts.rewards import cases
from askfirst.pairs import read_pairs
from askfirst.replies import Reply, Truth, parse_reply
from askfirst.rollout import Scorer
from askfirst.store import generator
from askfirst.values import FrozenMap, Scenario, Score

ENV = plugins.load("envs", "judgment")
SLOTS = plugins.load("rewards", "slots")
PAIRS = Path(__file__).parents[2] / "examples" / "pairs-judgment.jsonl"
NEVER_BREAK = ("slots", "shaped")


def known(reward: ModuleType) -> tuple[laws.Subject, ...]:
    """A reward's own cases, and both replies of the pairs."""
    own = [(case.scenario, case.reply) for side in cases(reward) for case in side]
    return (*own, *((pair.scenario, reply) for pair in read_pairs(PAIRS) for reply in (pair.chosen, pair.rejected)))


@cache
def pool() -> tuple[laws.Subject, ...]:
    """Demonstrations and pairs of judgment, the attacks and the honest cases of slots."""
    return (*known(SLOTS), *laws.subjects(ENV, ENV.scenarios("dev", 100, 3)))


@settings(max_examples=150)
@given(st.sampled_from(laws.LAWS), st.integers(0, 10**6), st.integers(0, 10**6))
def test_rewards_that_are_trained_on_keep_every_law(law: laws.Law, place: int, seed: int) -> None:
    where, reply = pool()[place % len(pool())]
    changed = law.change(where, reply, generator("test", seed))
    if changed is not None:
        for name in NEVER_BREAK:
            found = laws.breach(Scorer(plugins.load("rewards", name)), law, (where, reply), changed)
            assert found is None, str(found)


@pytest.mark.parametrize("name", NEVER_BREAK)
def test_they_ask_for_no_exception(name: str) -> None:
    assert laws.exceptions(plugins.load("rewards", name)) == FrozenMap()


@pytest.mark.parametrize("name", ["lenient", "strict"])
def test_the_published_scorers_break_what_they_say_and_nothing_else(name: str) -> None:
    reward = plugins.load("rewards", name)
    declared = laws.exceptions(reward)
    tried = laws.survey(reward, known(reward), len(known(reward)))
    assert {each.law for each in tried if each.breaches} == set(declared) != set()
    assert list(laws.faults(reward, tried)) == []
    shaped = plugins.load("rewards", "shaped")
    assert laws.exceptions(shaped, {"base": name}) == declared


@given(st.sampled_from(laws.LAWS), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_change_is_a_function_of_its_seed_and_changes_something(law: laws.Law, place: int, seed: int) -> None:
    where, reply = pool()[place % len(pool())]
    changed = law.change(where, reply, generator("test", seed))
    assert changed == law.change(where, reply, generator("test", seed))
    if changed is not None and law.name == "provenance":
        assert changed[0].hidden == where.hidden
        assert changed[0].opening == where.opening
    if changed is not None and law.name in {"distractor", "provenance"}:
        assert changed[0] != where


def test_order_moves_elements_with_their_numbers_and_the_references_to_them() -> None:
    where = scenario("open it", Truth("clarify"), elements=("[0] row|1,1|Kofi|", "[1] row|1,2|Ines|"))
    reply = Reply("kofi is [0] and ines is [1]", "answer", {"text": "two"}).text()
    seen = set()
    for seed in range(20):
        changed = laws.order(where, reply, generator("test", seed))
        assert changed is not None
        lines = changed[0].opening[0].content.split("\n")[1:3]
        numbers = {line.split("|")[2].lower(): line.split(" ")[0] for line in lines}
        assert parse_reply(changed[1]).spoken == f"kofi is {numbers['kofi']} and ines is {numbers['ines']}"
        seen.add(tuple(line.split("|")[2] for line in lines))
    assert seen == {("Kofi", "Ines"), ("Ines", "Kofi")}


def spoken(reply: str) -> str:
    return parse_reply(reply).spoken


def passes(where: Scenario, reply: str) -> bool:
    return bool(SLOTS.score(where, replied(where, reply), {}).passed)


def planted(fault: Callable[[Scenario, str], bool], reasons: dict[str, str] | None = None) -> ModuleType:
    """A reward that passes what `fault` says, and nothing of another protocol."""

    def score(where: Scenario, trajectory: SimpleNamespace, params: object) -> Score:
        try:
            passed = fault(where, trajectory.reply)
        except ValueError:
            passed = False
        return Score(float(passed), FrozenMap({"pass": float(passed)}), passed, () if passed else ("no",), "planted@1")

    module = ModuleType("planted")
    module.__dict__.update(score=score, BOUNDS=(0.0, 1.0), LAW_EXCEPTIONS=reasons or {})
    return module


FAULTS: dict[str, Callable[[Scenario, str], bool]] = {
    "case": lambda where, reply: passes(where, reply) and spoken(reply).islower(),
    "white space": lambda where, reply: passes(where, reply) and not spoken(reply).startswith((" ", "\t", "\n")),
    "paraphrase": lambda where, reply: passes(where, reply) and not spoken(reply).startswith("okay"),
    "poorer": lambda where, reply: passes(where, reply) or "spokenText" not in reply,
    "richer": lambda where, reply: passes(where, reply) or spoken(reply).count("?") > 1,
    "order": lambda where, reply: passes(where, reply) and "[0] file" in where.opening[0].content,
    "distractor": lambda where, reply: passes(where, reply) and len(where.opening[0].content) < 100,
    "provenance": lambda where, reply: passes(where, reply) or where.split == "train",
}


@pytest.mark.parametrize("law", laws.BY_NAME)
def test_a_reward_that_breaks_a_law_is_found(law: str) -> None:
    reward = planted(FAULTS[law])
    [tried] = laws.survey(reward, pool(), 60, only=(law,))
    assert tried.breaches
    [words] = laws.faults(reward, (tried,))
    assert words.startswith(f"law {law!r} is broken: ")


def test_a_sound_reward_breaks_none() -> None:
    tried = laws.survey(planted(passes), pool(), 40)
    assert [each.law for each in tried if each.breaches or each.count < 40] == []


def test_an_exception_needs_a_law_and_a_reason_and_hides_nothing() -> None:
    excused = planted(FAULTS["case"], {"case": "capitals are shouted"})
    [case] = laws.survey(excused, pool(), 30, only=("case",))
    assert list(laws.faults(excused, (case,))) == []
    assert case.breaches
    assert case.exception == "capitals are shouted"
    assert any("no reason" in words for words in laws.faults(planted(passes, {"case": " "}), ()))
    assert any("no law 'cases'" in words for words in laws.faults(planted(passes, {"cases": "x"}), ()))


def test_a_scenario_of_another_protocol_is_left_out() -> None:
    where, reply = pool()[0]
    strange = Scenario("x", "f", "", "dev", True, where.opening, FrozenMap({"colour": "red"}))
    assert {each.count for each in laws.survey(planted(passes), [(strange, reply)], 5)} == {0}
