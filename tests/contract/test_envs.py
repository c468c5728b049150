"""Every environment keeps the contract, and the contract catches environments that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from askfirst import plugins
from askfirst.contracts import envs as contract
from askfirst.errors import EnvironmentFault
from askfirst.values import Answer, Demonstration, FrozenMap, Message, Scenario, Tally

JUDGMENT = plugins.load("envs", "judgment")
CONTRACTS = [
    contract.refuses_unknown_splits,
    contract.deterministic,
    contract.distinct,
    contract.splits_disjoint,
    contract.twins_match,
    contract.demonstrations_parse,
    contract.keeps_secrets,
    contract.ends_in_time,
    contract.parses_anything,
    contract.composes_batches,
    contract.measures_what_it_notes,
]


@pytest.mark.parametrize("check", CONTRACTS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", plugins.names("envs"))
def test_contract(name: str, check: Callable[[ModuleType], None]) -> None:
    check(plugins.load("envs", name))


def planted(**changes: Any) -> ModuleType:
    """The judgment environment with some of its functions replaced."""
    module = ModuleType("planted")
    for name in ("FAMILIES", "STRATA", "MAX_TURNS", "scenarios", "start", "parse", "step", "demonstrations"):
        setattr(module, name, changes.get(name, getattr(JUDGMENT, name)))
    for name in changes.keys() & {"facts", "tallies"}:
        setattr(module, name, changes[name])
    return module


def altered(change: Callable[[Scenario, str], Scenario]) -> Callable[..., list[Scenario]]:
    def scenarios(split: str, n: int, seed: int, strata: Any = None) -> list[Scenario]:
        return [change(s, split) for s in JUDGMENT.scenarios(split, n, seed, strata)]

    return scenarios


def any_split(split: str, n: int, seed: int, strata: Any = None) -> list[Scenario]:
    return JUDGMENT.scenarios(split if split in contract.SPLITS else "train", n, seed, strata)


def drifting() -> Callable[..., list[Scenario]]:
    calls = iter(range(1000))
    return lambda split, n, seed, strata=None: JUDGMENT.scenarios(split, n, next(calls), strata)


def same_seed(split: str, n: int, seed: int, strata: Any = None) -> list[Scenario]:
    return JUDGMENT.scenarios(split, n, 0, strata)


def doubled(split: str, n: int, seed: int, strata: Any = None) -> list[Scenario]:
    return (JUDGMENT.scenarios(split, n // 2, seed, strata) * 2)[:n]


def one_truth_each(scenario: Scenario, split: str) -> Scenario:
    return replace(scenario, opening=(Message("user", "user said: hello"),))


def leak(scenario: Scenario, messages: Any) -> Message | None:
    told = str(scenario.hidden["intent"])
    return Message("user", f"i expected {told}") if len(messages) < 3 else None


def tallies(items: Any) -> list[Tally]:
    """Counts tuples, which a record reads back as lists."""
    hit = [isinstance(getattr(item, "facts", {}).get("x"), tuple) for item in items]
    return [Tally("a", (), FrozenMap({"tuples": ((float(each), 1.0),)})) for each in hit]


PLANTED: list[tuple[Callable[[ModuleType], None], dict[str, Any], str]] = [
    (contract.refuses_unknown_splits, {"scenarios": any_split}, "expected a SplitError"),
    (contract.deterministic, {"scenarios": drifting()}, "differ"),
    (contract.deterministic, {"scenarios": same_seed}, "the same scenarios"),
    (contract.distinct, {"scenarios": doubled}, "asked for"),
    (contract.distinct, {"FAMILIES": ("vague",)}, "not in FAMILIES"),
    (contract.distinct, {"scenarios": altered(lambda s, _: replace(s, split="suite"))}, "of another split"),
    (contract.distinct, {"scenarios": altered(one_truth_each)}, "judged differently"),
    (contract.splits_disjoint, {"scenarios": altered(lambda s, _: replace(s, id=s.id[:1]))}, "id '"),
    (contract.splits_disjoint, {"scenarios": altered(one_truth_each)}, "opening 'user said: hello'"),
    (contract.splits_disjoint, {"scenarios": altered(lambda s, _: replace(s, template="one"))}, "template 'one'"),
    (contract.splits_disjoint, {"scenarios": altered(lambda s, _: replace(s, values=("Ada",)))}, "value 'ada'"),
    (contract.twins_match, {"scenarios": altered(lambda s, _: replace(s, twin=s.id))}, "no clear twin"),
    (contract.twins_match, {"scenarios": altered(lambda s, _: replace(s, ambiguous=True))}, "one clear"),
    (contract.twins_match, {"scenarios": altered(one_truth_each)}, "exactly what was missing"),
    (contract.demonstrations_parse, {"demonstrations": lambda s, seed=0: ()}, "no honest demonstration"),
    (contract.demonstrations_parse, {"demonstrations": lambda s, seed=0: (Demonstration("{}", False),)}, "is invalid"),
    (contract.demonstrations_parse, {"parse": Answer}, "honest reply"),
    (contract.keeps_secrets, {"step": leak, "MAX_TURNS": 2}, "without being asked"),
    (
        contract.keeps_secrets,
        {"start": lambda s: (Message("user", f"{s.hidden['intent']} {s.opening}"),)},
        "the opening of",
    ),
    (contract.ends_in_time, {"step": lambda s, m: Message("user", "go on")}, "has not ended after 1 turns"),
    (contract.parses_anything, {"parse": Answer}, "expected Invalid"),
    (
        contract.composes_batches,
        {"scenarios": lambda split, n, seed, strata=None: JUDGMENT.scenarios(split, n, seed)},
        "hold",
    ),
    (contract.measures_what_it_notes, {"facts": lambda s, t: {}}, "without the other"),
    (contract.measures_what_it_notes, {"facts": lambda s, t: {"x": {1}}, "tallies": tallies}, "do not go into"),
    (contract.measures_what_it_notes, {"facts": lambda s, t: {"x": (1,)}, "tallies": tallies}, "read back"),
    (contract.measures_what_it_notes, {"facts": lambda s, t: {}, "tallies": lambda items: ()}, "or are none"),
    (contract.measures_what_it_notes, {"facts": lambda s, t: {}, "tallies": lambda i: tallies((1,))}, "no items"),
]


@pytest.mark.parametrize(("check", "changes", "found"), PLANTED)
def test_a_planted_fault_is_found(check: Callable[[ModuleType], None], changes: dict[str, Any], found: str) -> None:
    with pytest.raises(EnvironmentFault, match=found) as raised:
        check(planted(**changes))
    assert raised.value.where == "planted"


def test_an_environment_without_strata_is_held_to_the_rest() -> None:
    def plain(split: str, n: int, seed: int) -> list[Scenario]:
        return JUDGMENT.scenarios(split, n, seed)

    module = planted(scenarios=plain)
    del module.STRATA
    contract.check(module)
    module.demonstrations = lambda scenario, seed=0: ()
    with pytest.raises(EnvironmentFault, match="no honest demonstration"):
        contract.check(module)


def test_what_the_policy_may_be_told_after_asking() -> None:
    ambiguous = JUDGMENT.scenarios("dev", 1, 0, {"ambiguous": 1})[0]
    secret = replace(ambiguous, hidden=FrozenMap({"answer": "wednesday at noon"}))

    def answer(scenario: Scenario, messages: Any) -> Message | None:
        return Message("user", "wednesday at noon") if len(messages) < 3 else None

    module = planted(scenarios=lambda *_: [secret], step=answer, MAX_TURNS=2)
    asks = [d for d in JUDGMENT.demonstrations(ambiguous) if not d.guess]
    module.demonstrations = lambda scenario, seed=0: asks
    del module.STRATA
    contract.keeps_secrets(module)
    module.demonstrations = lambda scenario, seed=0: [d for d in JUDGMENT.demonstrations(ambiguous) if d.guess]
    with pytest.raises(EnvironmentFault, match="wednesday at noon"):
        contract.keeps_secrets(module)
