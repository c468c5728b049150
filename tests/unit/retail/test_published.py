"""The published episode and reward on a tiny world: what it pays for, what it cannot see, and how episodes end."""

from __future__ import annotations

from typing import Any

import pytest

from askfirst.retail.database import Database
from askfirst.retail.published import SCRIPTS, STEPS, STOP, Ending, Episode, Outcome, gold, judge, play
from askfirst.retail.tasks import Call, Task
from askfirst.retail.tools import call
from askfirst.retail.world import World
from askfirst.values import FrozenMap


def made(name: str, **arguments: Any) -> Call:
    return Call(name, FrozenMap(arguments))


CANCEL = made("cancel_pending_order", order_id="#4", reason="no longer needed")
FAILING = made("cancel_pending_order", order_id="#3", reason="no longer needed")
LOOK = made("get_order_details", order_id="#4")
TRANSFER = made("transfer_to_human_agents", summary="")
TASK = Task("dev-0", "bob", "You are Bob.", (LOOK, FAILING, CANCEL), ("1234.5", "IL"))
PLAIN = Task("dev-1", "bob", "You are Bob.", (CANCEL,), ())
NOTHING = Task("dev-2", "bob", "You are Bob.", (LOOK, FAILING, TRANSFER), ())


def after(world: World, *calls: Call) -> Database:
    db = Database(world)
    for each in calls:
        call(db, each.name, each.arguments)
    return db


def test_gold_is_replayed_whatever_its_calls_answer(world: World) -> None:
    replay = gold(world, NOTHING)
    assert replay.observations[1:] == ("Error: non-pending order cannot be cancelled", "Transfer successful")
    assert replay.database.touched == ()
    assert gold(world, TASK).database.touched == (("orders", "#4"),)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (["it is 1,234.50 and will be there"], (True, True)),
        (["1234", ".5 il"], (False, True)),
        (["Bill 1234.5"], (True, True)),
        (["1234,5"], (False, False)),
        ([], (False, False)),
    ],
)
def test_outputs_are_looked_for_in_each_message(world: World, said: list[str], found: tuple[bool, bool]) -> None:
    outcome = judge(TASK, after(world, CANCEL), said)
    assert outcome == Outcome(float(all(found)), True, {"1234.5": found[0], "IL": found[1]})
    assert judge(TASK, after(world), said).reward == 0.0


def test_only_the_end_of_the_database_counts(world: World) -> None:
    other = made("cancel_pending_order", order_id="#1", reason="no longer needed")
    assert judge(PLAIN, after(world, CANCEL), []) == Outcome(1.0, True, None)
    assert judge(PLAIN, after(world, FAILING, LOOK, CANCEL, CANCEL), []).reward == 1.0
    assert judge(PLAIN, after(world, CANCEL, other), []) == Outcome(0.0, False, None)
    assert judge(NOTHING, after(world), []).reward == 1.0


def test_scoring_twice_is_scoring_once(world: World) -> None:
    db = after(world)
    assert judge(PLAIN, db, []) == judge(PLAIN, db, []) == Outcome(0.0, False, None)
    assert db.touched == ()


def test_the_user_ends_an_episode_and_the_agent_cannot(world: World) -> None:
    episode = Episode(world, PLAIN)
    episode.say(STOP, "###stop###")
    assert episode.call("think", {"thought": STOP}) == ""
    assert episode.call(CANCEL.name, CANCEL.arguments) == call(Database(world), CANCEL.name, CANCEL.arguments)
    with pytest.raises(ValueError, match="has not ended"):
        episode.outcome()
    episode.say("Bye.", f"Thanks. {STOP} Bye.")
    assert (episode.ended, episode.steps, episode.said) == (Ending.USER_STOP, 4, [STOP, "Bye."])
    assert episode.outcome().reward == 1.0
    for go_on in (lambda: episode.say("?", ""), lambda: episode.call("think", {"thought": ""})):
        with pytest.raises(ValueError, match="has ended: user_stop"):
            go_on()


@pytest.mark.parametrize("arguments", [{"summary": ""}, {}])
def test_a_transfer_ends_an_episode_however_it_is_called(world: World, arguments: dict[str, Any]) -> None:
    episode = Episode(world, NOTHING)
    episode.call("transfer_to", {})
    assert episode.ended is None
    episode.call("transfer_to_human_agents", arguments)
    assert episode.ended is Ending.TERMINAL_TOOL
    assert episode.outcome().reward == 1.0


def test_the_limit_of_steps_pays_nothing_but_a_stop_on_it_does(world: World) -> None:
    for reply, ending, outcome in (
        ("Go on.", Ending.STEP_LIMIT, Outcome(0.0, None, None)),
        (STOP, Ending.USER_STOP, Outcome(1.0, True, None)),
    ):
        episode = Episode(world, NOTHING)
        for _ in range(STEPS - 1):
            episode.call("think", {"thought": ""})
        assert episode.ended is None
        episode.say("Done.", reply)
        assert (episode.ended, episode.outcome()) == (ending, outcome)


def test_scripts(world: World) -> None:
    def earned(name: str) -> list[float]:
        return [play(world, task, SCRIPTS[name](task)).outcome().reward for task in (TASK, PLAIN, NOTHING)]

    assert earned("gold calls and outputs") == [1.0, 1.0, 1.0]
    assert earned("gold writes blind") == [1.0, 1.0, 1.0]
    assert earned("do nothing") == [0.0, 0.0, 1.0]
    assert earned("transfer at once") == [0.0, 0.0, 1.0]
    blind = play(world, TASK, SCRIPTS["gold writes blind"](TASK))
    assert blind.calls == [FAILING, CANCEL]
    assert play(world, PLAIN, [TRANSFER, CANCEL]).calls == [TRANSFER]
