"""The environment: what is shown suffices, pairs are minimal, splits share nothing, habits stay under their caps."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from askfirst import plugins
from askfirst.backends.scripted import Line, Scripted
from askfirst.cases import play
from askfirst.contracts.policies import earnings, earns_in_full, keeps_caps, prefers_honesty
from askfirst.errors import EnvironmentFault, InputError, PluginError
from askfirst.policy import Sampling
from askfirst.replies import SAID
from askfirst.retail import generated, tools
from askfirst.retail.calls import INSTRUCTIONS, Call, parse_call
from askfirst.retail.database import Database
from askfirst.retail.facts import facts
from askfirst.retail.generated import TOOL
from askfirst.retail.oracle import optimal, tell
from askfirst.retail.scene_cases import Scene
from askfirst.retail.simulated import SimulatedUser, dialogue_of
from askfirst.retail.task import MAX_TURNS, hidden_of
from askfirst.retail.wordings import REASONS
from askfirst.values import FrozenMap, Message, Scenario, StopReason

ENV = plugins.load("envs", "retail")
REWARD = plugins.load("rewards", "retail")
EVEN = dict.fromkeys(ENV.STRATA, 1)
SPLITS = ("train", "dev", "sealed")


@cache
def drawn(split: str) -> tuple[Scenario, ...]:
    return tuple(ENV.scenarios(split, 40, 11, EVEN))


def test_scenarios_of_all_families_and_slots_come() -> None:
    found = Counter(s.family for s in ENV.scenarios("train", 400, 3, EVEN))
    assert len(found) >= 0.9 * len(ENV.FAMILIES)
    assert {f.rpartition(".")[2] for f in found} == {*ENV.PAIR_MIX, "full", "inferable", "beyond"}


@pytest.mark.parametrize("split", SPLITS)
def test_who_serves_as_one_should_earns_all_and_asks_where_only_the_user_knows(split: str) -> None:
    earns_in_full(REWARD, ENV, drawn(split))
    for scenario in drawn(split):
        asked = [text for text in optimal(scenario) if '"ask_question"' in text]
        assert len(asked) == len(hidden_of(scenario).open) == int(scenario.ambiguous)
        assert len(optimal(scenario)) <= MAX_TURNS - 4, "there is room for a mistake"


@pytest.mark.thorough
def test_what_is_confirmed_and_written_can_be_read_off_the_dialogue() -> None:
    """Every value in a call of an optimal episode stands in what was shown before it, or is of the protocol."""
    known = {*TOOL.values(), *REASONS, "USA", "", "beyond my tools", "It is done."}
    for scenario in (s for split in SPLITS for s in drawn(split)):
        said = optimal(scenario)
        shown = scenario.opening[0].content
        for at, text in enumerate(said):
            call = parse_call(text)
            values = [] if call.name == "ask_question" else list(leaves(call.arguments))
            for value in values:
                told = value.removeprefix("It is ").removesuffix(".")
                assert value in known or told.lower() in shown.lower(), (value, shown)
            answer = ENV.step(scenario, (*scenario.opening, *(Message("assistant", t) for t in said[: at + 1])))
            shown += f"\n{answer.content}" if answer else ""


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict | FrozenMap):
        return [each for part in value.values() for each in leaves(part)]
    return [each for part in value for each in leaves(part)] if isinstance(value, list | tuple) else [str(value)]


def test_a_pair_differs_in_what_is_open_alone() -> None:
    pairs = zip(
        ENV.scenarios("train", 60, 3, {"ambiguous": 1}), ENV.scenarios("train", 60, 3, {"clear_twin": 1}), strict=True
    )
    twins = {s.twin: s for _, s in pairs}
    for one in ENV.scenarios("train", 60, 3, {"ambiguous": 1}):
        other = twins[one.twin]
        mine, theirs = hidden_of(one), hidden_of(other)
        assert mine.world.orders == theirs.world.orders
        assert (mine.wanted, mine.answers) == (theirs.wanted, theirs.answers)
        assert optimal(one)[-1] == optimal(other)[-1]


@pytest.mark.parametrize("slot", [slot for slot in ENV.PAIR_MIX if slot not in ("identity", "reason", "address")])
def test_what_is_open_has_more_than_one_value_that_the_tool_takes(slot: str) -> None:
    """Without the answer there are at least two changes, or two answers, that fit the request."""
    for scenario in ENV.scenarios("dev", 40, 5, {"ambiguous": 1}, {slot: 1}):
        hidden = hidden_of(scenario)
        if not hidden.wanted:
            user = hidden.world.users[hidden.customer]
            assert (
                len({str(hidden.world.orders[order]["payment_history"][0]["amount"]) for order in user["orders"]}) > 1
            )
            continue
        other = Scene(scenario, hidden).wrong
        assert other.arguments != dict(hidden.wanted[0].arguments)
        answer = tools.call(Database(hidden.world), other.name, dict(other.arguments))
        assert not answer.startswith("Error"), (scenario.opening[0].content, other, answer)


def test_what_the_database_fills_has_one_value() -> None:
    for scenario in ENV.scenarios("dev", 60, 5, {"inferable": 1}):
        hidden = hidden_of(scenario)
        user = hidden.world.users[hidden.customer]
        orders = [hidden.world.orders[each] for each in user["orders"]]
        if "#W" not in scenario.opening[0].content and hidden.wanted:
            fit = "delivered" if hidden.family in ("return", "exchange") else "pending"
            assert sum(order["status"] == fit for order in orders) == 1
        elif "#W" not in scenario.opening[0].content:
            assert len(orders) == 1
        else:
            most = 2 if hidden.family == "modify_payment" else 1
            assert len(user["payment_methods"]) == most


def test_families_are_chosen_in_every_split_and_the_others_stay_as_they_are() -> None:
    short = plugins.environment("retail", families=("paid", "cancel"))
    for split in SPLITS:
        found = {s.family.partition(".")[0] for s in short.scenarios(split, 60, 3, EVEN)}
        assert found == {"cancel", "paid", "beyond"}
    prompt = short.system_prompt("compact")
    assert TOOL["cancel"] in prompt
    assert not [tool for family, tool in TOOL.items() if family != "cancel" and tool in prompt]
    assert set(prompt.split("\n")) < set(ENV.system_prompt("compact").split("\n"))
    assert plugins.environment("retail", families=("cancel", "paid")).scenarios("dev", 20, 1) == short.scenarios(
        "dev", 20, 1
    )
    assert plugins.environment("retail", families=generated.ANY).scenarios("dev", 20, 1) == ENV.scenarios("dev", 20, 1)


def test_families_that_cannot_be_chosen_are_said() -> None:
    with pytest.raises(InputError, match="no family is called 'refund'"):
        plugins.environment("retail", families=("refund",))
    with pytest.raises(PluginError, match="does not choose families"):
        plugins.environment("judgment", families=("missing",))
    with pytest.raises(PluginError, match="no families"):
        plugins.environment("retail", data="folder", families=("paid",))
    with pytest.raises(InputError, match="none of paid leaves open"):
        plugins.environment("retail", families=("paid",)).scenarios("train", 4, 1, {"ambiguous": 1.0}, {"reason": 1.0})


def test_splits_share_no_customer_order_or_wording() -> None:
    seen = {split: {v for s in drawn(split) for v in (*s.values, *hidden_of(s).world.users)} for split in SPLITS}
    words = {split: {s.template for s in drawn(split)} for split in SPLITS}
    for one, other in (("train", "dev"), ("train", "sealed"), ("dev", "sealed")):
        assert seen[one].isdisjoint(seen[other])
        assert {w.rpartition(".")[0] for w in words[one]}.isdisjoint(w.rpartition(".")[0] for w in words[other])


@pytest.mark.thorough
def test_habits_stay_under_their_caps_and_far_below_honesty() -> None:
    found = earnings(REWARD, ENV, ENV.scenarios("dev", 100, 4))
    assert set(ENV.habits()) == {"honest", *REWARD.CAPS}
    keeps_caps(found, REWARD.CAPS, ENV.habits())
    prefers_honesty(found, REWARD.BOUNDS)


@pytest.mark.thorough
def test_the_published_reward_pays_who_never_asks() -> None:
    """Floors of both rewards side by side: what the published one cannot see."""
    published = plugins.load("rewards", "retail_published")
    earned = {e.policy: e for e in earnings(published, ENV, ENV.scenarios("dev", 100, 4))}
    for habit in ("honest", "never ask", "ask for everything", "gold writes blind"):
        if habit == "never ask":
            assert earned[habit].ambiguous_pass >= 0.9
        else:
            assert earned[habit].ambiguous_pass == 1.0, habit
    assert earned["do nothing"].ambiguous_pass == 0.0


# What a user says whom a model plays, by what is in its prompt.
LINES = (
    Line("It is done.", "###STOP###"),
    Line("Please confirm", "Yes, do that."),
    Line("Why do you ask", "I do not know."),
    Line("", "I want something."),
)


def simulated(*lines: Line) -> ModuleType:
    return ENV.with_user(SimulatedUser(Scripted(lines), Sampling(40)))


def clear_change(env: ModuleType) -> Scenario:
    return next(s for s in env.scenarios("dev", 30, 1, {"clear_twin": 1}) if hidden_of(s).wanted)


def test_a_model_can_play_the_user_and_the_record_is_the_same() -> None:
    env = simulated(*LINES)
    scenario = clear_change(env)
    assert env.start(scenario) == (Message("user", f"{SAID}I want something."),)
    episode = play(env, scenario, optimal(scenario))
    assert Message("user", f"{SAID}Yes, do that.") in episode.messages
    assert episode.stop is StopReason.END
    for name in ("retail", "retail_published"):
        assert plugins.load("rewards", name).score(scenario, episode, FrozenMap()).passed
    assert facts(scenario, episode)["ending"] == "served"
    idle = play(env, scenario, (tell("It is done.").text(),))
    assert idle.stop is StopReason.END
    assert facts(scenario, idle)["ending"] == "left"
    assert "left_waiting" in REWARD.score(scenario, idle, FrozenMap()).failures


def test_a_model_as_user_hears_the_agent_and_no_tool_and_agrees_to_nothing_by_itself() -> None:
    env = simulated(*LINES)
    scenario = clear_change(env)
    wrong = Call("ask_confirmation", {"action": "modify_user_address", "arguments": {}}).text()
    said = [*optimal(scenario)[:-3], wrong, *optimal(scenario)[-2:]]
    episode = play(env, scenario, said)
    assert {"refused_confirmation", "unconfirmed_write"} == set(REWARD.score(scenario, episode, FrozenMap()).failures)
    heard = dialogue_of(episode.messages)
    assert [message.role for message in heard] == ["user", "assistant"] * 2
    assert "find_user_id" not in " ".join(message.content for message in heard)


def test_a_silent_model_is_our_fault() -> None:
    with pytest.raises(EnvironmentFault, match="said nothing"):
        simulated(Line("", " ")).start(clear_change(ENV))


def test_prompts_are_short_or_whole() -> None:
    assert ENV.system_prompt("compact") == INSTRUCTIONS
    assert len(INSTRUCTIONS) < 2000
    full = ENV.system_prompt("full")
    assert all(tool.name in full for tool in ENV.TOOLS)
    assert ENV.system_prompt("form") == INSTRUCTIONS.partition("\n")[0]
    with pytest.raises(InputError, match="no system prompt") as raised:
        ENV.system_prompt("wiki")
    assert raised.value.hint == "write compact, full, form, or file:PATH"


def test_data_from_a_folder_is_for_environments_that_can(tmp_path: Path) -> None:
    assert plugins.environment("retail") is ENV
    with pytest.raises(PluginError, match="plays no data"):
        plugins.environment("judgment", str(tmp_path))
    with pytest.raises(InputError, match="cannot read"):
        plugins.environment("retail", str(tmp_path))
