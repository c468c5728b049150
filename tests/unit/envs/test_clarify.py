"""The environment: what is shown suffices to be optimal, pairs are minimal, splits share nothing, no habit pays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from askfirst import plugins
from askfirst.cases import play
from askfirst.clarify.calls import INFO, Call
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import PROCEED, Family, Field, resolve
from askfirst.clarify.optimum import optimum
from askfirst.clarify.oracle import ask, best_plan, optimal, propose
from askfirst.clarify.problem import DEFAULT, REQUEST, Hidden, Key, Problem, hidden_of
from askfirst.clarify.scenes import CLUELESS
from askfirst.contracts.policies import earnings, earns_in_full, keeps_caps
from askfirst.errors import InputError, RewardFault
from askfirst.matrix import sources
from askfirst.replies import SAID
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

ENV = plugins.load("envs", "clarify")
UTILITY = plugins.load("rewards", "utility")
EVEN = dict.fromkeys(ENV.STRATA, 1)
SPLITS = ("train", "dev", "sealed")


@cache
def drawn(split: str) -> tuple[Scenario, ...]:
    return tuple(ENV.scenarios(split, 150, 11, EVEN))


def score(scenario: Scenario, said: str | tuple[str, ...]) -> tuple[float, bool]:
    replies = (said,) * ENV.MAX_TURNS if isinstance(said, str) else said
    found = UTILITY.score(scenario, play(ENV, scenario, replies), FrozenMap())
    return found.total, found.passed


def facts(family: Family, text: str) -> dict[str, set[str]]:
    """Key → values that a request names, longest wordings first, no word counted twice."""
    ways = [(w, f.name, v) for f in (*family.fields, PROCEED) for v in f.values for w in f.ways(v)]
    found: dict[str, set[str]] = {}
    for way, name, value in sorted(ways, key=lambda each: -len(each[0])):
        pattern = re.compile(rf"(?<![\w#]){re.escape(way)}(?!\w)", re.IGNORECASE)
        if pattern.search(text):
            found.setdefault(name, set()).add(value)
            text = pattern.sub("~", text)
    return found


def chances(values: tuple[str, ...], named: set[str], notes: dict[str, tuple[str, str]]) -> tuple[float, ...]:
    """Chances by what the opening says, by the rules of `askfirst.clarify.scenes`."""
    usual, default, impossible = (notes.get(kind, ("", ""))[0] for kind in ("usually", "unless", "not"))
    possible = [v for v in values if v != impossible]
    named = named & set(possible)
    if named:
        return tuple(1 / len(named) if v in named else 0.0 for v in values)
    if default:
        return tuple(float(v == default) for v in values)
    if usual:
        share = int(notes["usually"][1]) / 100
        return tuple(share if v == usual else (1 - share) / (len(values) - 1) for v in values)
    return tuple(1 / len(possible) if v in possible else 0.0 for v in values)


def understood(scenario: Scenario) -> Problem:
    """The problem as a reader of the opening alone has it."""
    head, _, text = scenario.opening[0].content.rpartition(SAID)
    title = re.search(r"task: (.*)", head)
    family = next(f for f in FAMILIES.values() if title and f.title == title[1])
    price = re.search(r"a question: (\d+) \(6 left, (\d+)% answered\)", head)
    assert price
    named = facts(family, text)
    keys = []
    for name, cost, listed in re.findall(r"^(\w+) \((\d+)\): (.*)$", head, re.MULTILINE):
        values = tuple(listed.split(" | "))
        notes = {
            kind.split()[0]: (value, share)
            for kind, key, value, share in re.findall(r"^([\w ]+): (\w+) = (.*?)(?: \((\d+)%\))?$", head, re.MULTILINE)
            if key == name
        }
        noun = family.field(name).noun
        clueless = any(sentence.format(noun=noun) in text for sentence in CLUELESS)
        source = REQUEST if name in named else DEFAULT if "unless" in notes else ""
        keys.append(Key(name, values, chances(values, named.get(name, set()), notes), int(cost), not clueless, source))
    return Problem(family.name, tuple(keys), int(price[1]), int(price[2]) / 100, not named)


def plays(scenario: Scenario) -> tuple[str, ...]:
    """An episode of a policy that reads the opening and the answers and nothing else."""
    problem = understood(scenario)
    if problem.beyond:
        return (propose({"decline": "not my task"}),)
    said: tuple[str, ...] = ()
    truth = {key.name: key.known for key in problem.keys if key.known is not None}
    for name in optimum(problem).asks:
        field: Field = FAMILIES[problem.family].field(name)
        said += (ask(field.ask[-1]),)
        heard = play(ENV, scenario, (*said, propose({}))).messages[-2].content.split("\n")[0]
        value = resolve(field, heard)
        truth |= {name: value} if value else {}
    hidden = Hidden(problem, "", truth, {}, ())
    return (*said, propose(best_plan(hidden, tuple(truth))))


@pytest.mark.parametrize("split", SPLITS)
def test_who_reads_what_is_shown_can_be_optimal(split: str) -> None:
    for scenario in drawn(split):
        assert score(scenario, plays(scenario)) == (pytest.approx(1.0), True), scenario.opening[0].content


@pytest.mark.parametrize("split", SPLITS)
def test_the_optimum_earns_one_everywhere_and_asks_where_it_should(split: str) -> None:
    for scenario in drawn(split):
        total, passed = score(scenario, optimal(scenario))
        assert total >= 0.99
        assert passed
        assert bool(optimum(hidden_of(scenario).problem).asks) is scenario.ambiguous


def test_no_other_habit_pays() -> None:
    """The blind guesser, the one that asks and puts garbage, and all others stay under the caps that are stated."""
    found = earnings(UTILITY, ENV, ENV.scenarios("dev", 100, 4))
    assert set(ENV.habits()) == {"honest", *UTILITY.CAPS}
    assert {"first values", "ask and ignore the answers"} < set(UTILITY.CAPS)
    keeps_caps(found, UTILITY.CAPS, ENV.habits())
    without = {name: cap for name, cap in UTILITY.CAPS.items() if name != "ask and ignore the answers"}
    with pytest.raises(RewardFault, match="'ask and ignore the answers' has no cap"):
        keeps_caps(found, without, ENV.habits())


@pytest.mark.thorough
@pytest.mark.parametrize("split", SPLITS)
def test_the_optimum_earns_in_full_on_every_scenario_of_many(split: str) -> None:
    earns_in_full(UTILITY, ENV, ENV.scenarios(split, 600, 12, EVEN))
    keeps_caps(earnings(UTILITY, ENV, ENV.scenarios(split, 240, 5)), UTILITY.CAPS, ENV.habits())


def planted(**changes: Any) -> ModuleType:
    """The reward with some of what it defines replaced."""
    module = ModuleType("planted")
    module.__dict__.update({"score": UTILITY.score, "BOUNDS": UTILITY.BOUNDS, **changes})
    return module


def test_an_optimum_that_is_not_paid_in_full_is_found() -> None:
    """One state in which the honest policy earns little less is enough."""

    def mean(scenario: Scenario, episode: Trajectory, params: Mapping[str, Any]) -> Score:
        found: Score = UTILITY.score(scenario, episode, params)
        less = 0.02 if scenario.family.endswith(".priced") and found.passed else 0.0
        return replace(found, total=found.total - less, terms=FrozenMap({**found.terms, "less": -less}))

    scenarios = ENV.scenarios("dev", 20, 4, EVEN)
    earns_in_full(UTILITY, ENV, scenarios)
    with pytest.raises(RewardFault, match=r"the honest policy earns 0\.98 of 1 on \w+\.priced"):
        earns_in_full(planted(score=mean), ENV, scenarios)
    with pytest.raises(RewardFault, match="asked_in_vain"):
        earns_in_full(UTILITY, _env(honest=ENV.habits()["ask for everything"]), scenarios)


def _env(**habits: Any) -> ModuleType:
    module = ModuleType("planted")
    module.__dict__.update({name: getattr(ENV, name) for name in ENV.__all__})
    module.__dict__["habits"] = lambda: {**ENV.habits(), **habits}
    return module


def test_a_habit_that_pays_is_found() -> None:
    """Asking and then garbage, or guessing at once, by a reward that pays for having asked, or for any plan."""

    def pays(code: str) -> Callable[[Scenario, Trajectory, Mapping[str, Any]], Score]:
        def score(scenario: Scenario, episode: Trajectory, params: Mapping[str, Any]) -> Score:
            asked = any(code in message.content for message in episode.messages if message.role == "assistant")
            return Score(float(asked), FrozenMap({"pass": float(asked)}), asked, () if asked else ("no",), "planted@1")

        return score

    scenarios = ENV.scenarios("dev", 12, 4)
    for code, habit in (("whatever", "ask and ignore the answers"), ("propose_plan", "guess")):
        with pytest.raises(RewardFault, match=f"'{habit}' earns 1.00, cap"):
            keeps_caps(earnings(planted(score=pays(code)), ENV, scenarios), UTILITY.CAPS, ENV.habits())


def test_a_pair_differs_in_the_target_alone() -> None:
    ambiguous = {s.twin: s for s in ENV.scenarios("train", 80, 3, {"ambiguous": 1})}
    twins = ENV.scenarios("train", 80, 3, {"clear_twin": 1})
    for twin in twins:
        one, other = hidden_of(ambiguous[twin.twin]), hidden_of(twin)
        assert (one.truth, one.words, one.forgets) == (other.truth, other.words, other.forgets)
        differing = [a.name for a, b in zip(one.problem.keys, other.problem.keys, strict=True) if a != b]
        assert 1 <= len(differing) <= 2
        assert all(key.known is not None for key in other.problem.keys)
        assert one.state in ENV.PAIR_MIX


def test_the_other_states_have_twins_in_which_the_target_is_stated() -> None:
    others = ("inferable", "unknown", "priced", "out_of_scope")
    twins = {s.twin: s for s in ENV.scenarios("dev", 40, 3, {"other_twin": 1})}
    for state in others:
        found = ENV.scenarios("dev", 10, 3, {state: 1})
        assert {s.twin for s in found} <= set(twins)
        for one in found:
            other = twins[one.twin]
            hidden, clear = hidden_of(one), hidden_of(other)
            assert not optimum(clear.problem).asks
            assert not clear.problem.beyond
            assert all(key.known is not None for key in clear.problem.keys)
            assert (other.stratum, other.family.split(".")[1]) == ("other_twin", "full")
            assert [k.price for k in hidden.problem.keys] == [k.price for k in clear.problem.keys]
            if state != "out_of_scope":
                shown = [s.opening[0].content.rpartition(SAID) for s in (one, other)]
                assert shown[0][0] == shown[1][0]
                assert (hidden.truth, hidden.words) == (clear.truth, clear.words)
                differing = [a for a, b in zip(hidden.problem.keys, clear.problem.keys, strict=True) if a != b]
                assert len(differing) == 1


def test_hidden_values_follow_the_chances_that_are_shown() -> None:
    expected = hits = 0.0
    for scenario in ENV.scenarios("train", 400, 5, {"ambiguous": 1, "priced": 1, "unknown": 1}):
        hidden = hidden_of(scenario)
        for key in hidden.problem.keys:
            assert sum(key.chances) == pytest.approx(1.0)
            if key.known is None:
                likeliest = max(range(len(key.values)), key=lambda i: key.chances[i])
                expected += key.chances[likeliest]
                hits += hidden.truth[key.name] == key.values[likeliest]
    assert abs(hits - expected) < 3 * (expected * 0.5) ** 0.5


def test_every_family_and_state_is_drawn_and_two_only_for_evaluation() -> None:
    counts = {split: {s.family for s in ENV.scenarios(split, 450, 2, {**EVEN, "ambiguous": 5})} for split in SPLITS}
    unseen = {name for name, family in FAMILIES.items() if family.unseen}
    for split in SPLITS:
        wanted = {f for f in ENV.FAMILIES if split != "train" or f.split(".")[0] not in unseen}
        assert counts[split] == wanted


def test_prices_are_of_one_split() -> None:
    prices = {split: {v for s in drawn(split) for v in s.values if v.startswith("price")} for split in SPLITS}
    assert all(prices.values())
    assert not prices["train"] & prices["dev"]
    assert not prices["sealed"] & (prices["train"] | prices["dev"])


@pytest.mark.parametrize("weights", [{"colour": 1.0}, {"missing": 0.0}, {"missing": -1.0, "candidates": 2.0}])
def test_bad_weights_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(InputError, match="weights by state"):
        ENV.scenarios("train", 4, 0, {"ambiguous": 1}, weights)


def test_states_are_practised_by_weight() -> None:
    found = ENV.scenarios("train", 30, 0, {"ambiguous": 1}, {"destructive": 1.0})
    assert {s.family.split(".")[1] for s in found} == {"destructive"}


def test_what_was_not_asked_for_is_not_told() -> None:
    for scenario in drawn("dev"):
        hidden = hidden_of(scenario)
        family = FAMILIES[hidden.problem.family]
        last = ([key for key in hidden.problem.keys if key.known is not None] or hidden.problem.keys)[-1]
        said = (ask("Hm, what else?"), Call(INFO).text(), ask(family.field(last.name).ask[0]), propose({}))
        messages = play(ENV, scenario, said).messages
        heard = "\n".join(m.content for m in messages[1:] if m.role == "user").replace(scenario.opening[0].content, "")
        for name, words in hidden.words.items():
            if name != last.name:
                assert words.lower() not in heard.lower(), (name, heard)
                assert name not in heard


def test_a_lock_holds_what_environment_and_reward_share() -> None:
    found = sources({"envs/clarify": ENV, "rewards/utility": UTILITY})
    assert {"envs/clarify", "askfirst.clarify.user", "askfirst.clarify.families.pet_sitting"} <= set(found)
    assert set(sources({"envs/judgment": plugins.load("envs", "judgment")})) == {"envs/judgment"}
