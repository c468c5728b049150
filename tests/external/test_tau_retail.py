"""The published retail data and what the published program answered, hashed and paid, row by row."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from askfirst.retail import folder
from askfirst.retail.database import Database
from askfirst.retail.published import SCRIPTS, Episode, gold, play
from askfirst.retail.tasks import Task
from askfirst.retail.tools import TOOLS, Kind, call
from askfirst.retail.world import World, thawed

DATA = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-retail"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/tau-bench-retail is not here")


@dataclass(frozen=True, slots=True)
class Published:
    """World and tasks of the folder."""

    world: World
    tasks: dict[str, tuple[Task, ...]]

    def task(self, name: str) -> Task:
        """The task of that id."""
        [found] = (task for task in self.tasks[name.split("-", maxsplit=1)[0]] if task.id == name)
        return found


@pytest.fixture(scope="module")
def data() -> Published:
    world = folder.published(DATA)
    return Published(world, {split: folder.tasks(DATA, split, world) for split in folder.SPLITS})


def rows(name: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in (DATA / name).read_text("utf-8").split("\n") if line)


def test_the_database_is_the_published_one(data: Published) -> None:
    world = data.world
    assert world.sha256 == folder.SHA256
    text = world.page.text.decode()
    assert len(text) == 1403379
    assert text.startswith("(('orders', (('#W1006327', (('address', (('address1', '593 Cedar Avenue'),")
    states = Counter(order["status"] for order in world.orders.values())
    assert states == {"pending": 423, "delivered": 373, "processed": 102, "cancelled": 102}
    variants = [variant for product in world.products.values() for variant in product["variants"].values()]
    assert (len(world.users), len(variants), sum(v["available"] for v in variants)) == (500, 591, 379)
    assert {split: len(tasks) for split, tasks in data.tasks.items()} == {"train": 500, "dev": 20, "test": 115}


def test_every_gold_replay(data: Published) -> None:
    wrong, count = [], 0
    for row in rows("goldens.jsonl"):
        count += 1
        task = data.task(row["id"])
        replay = gold(data.world, task)
        db, base = replay.database, row["base_db_sha256"]
        found = {
            "observations": [*replay.observations],
            "base_db_sha256": data.world.sha256,
            "gold_db_sha256": db.sha256(),
            "gold_db_unchanged": db.sha256() == base,
            "terminal_action_indices": [i for i, each in enumerate(task.actions) if TOOLS[each.name].kind is Kind.END],
            "error_action_indices": [i for i, text in enumerate(replay.observations) if text.startswith("Error")],
            "touched": {t: {key for table, key in db.touched if table == t} for t in ("users", "orders")},
            "after": {
                t: {key: thawed(db.record(t, key)) for table, key in db.touched if table == t}
                for t in ("users", "orders")
            },
        }
        row["touched"] = {table: {*keys} for table, keys in row["touched"].items()}
        wrong += [(row["id"], name) for name, value in found.items() if value != row[name]]
    assert wrong == []
    assert count == 175


def test_every_tool_case(data: Published) -> None:
    wrong, kinds = [], Counter[str]()
    for row in rows("tool_cases.jsonl"):
        kinds[row["kind"]] += 1
        db = Database(data.world)
        for each in row.get("setup", ()):
            assert not call(db, each["name"], each["arguments"]).startswith("Error")
        before = db.sha256()
        observation = call(db, row["tool"], row["arguments"])
        if row.get("python_text") and sys.version_info[:2] != (3, 11):  # the words of another interpreter
            observation, row["observation"] = (text[:7] for text in (observation, row["observation"]))
        found = (observation, db.sha256(), db.sha256() != before)
        if found != (row["observation"], row["db_sha256_after"], row["changed"]):
            wrong.append((row["id"], observation))
    assert wrong == []
    assert kinds == {"ok": 72, "error": 88, "exception": 6, "unknown_tool": 2}


def test_every_scored_episode(data: Published) -> None:
    wrong, count = [], 0
    for row in rows("reward_cases.jsonl"):
        count += 1
        episode, replies = Episode(data.world, data.task(row["task_id"])), iter(row["user_messages"][1:])
        for step in row["steps"]:
            if episode.ended is None and "call" in step:
                episode.call(**step["call"])
            elif episode.ended is None:
                episode.say(step["say"], next(replies))
        outcome = episode.outcome()
        scored = outcome.actions is not None
        found = {
            "n_steps": episode.steps,
            "tool_calls": [{"name": each.name, "arguments": dict(each.arguments)} for each in episode.calls],
            "agent_messages": episode.said,
            "ended_by": episode.ended,
            "reward": outcome.reward,
            "r_actions": outcome.actions,
            "r_outputs": all(outcome.outputs.values()) if outcome.outputs else None,
            "outputs_found": outcome.outputs,
            "final_db_sha256": episode.database.sha256(),
            "gold_db_sha256": gold(data.world, episode.task).database.sha256() if scored else None,
        }
        wrong += [(row["id"], name) for name, value in found.items() if value != row[name]]
    assert wrong == []
    assert count == 70


@pytest.mark.parametrize(
    ("script", "train", "dev", "test"),
    [
        ("gold calls and outputs", 500, 20, 115),
        ("gold writes blind", 500, 20, 115),
        ("do nothing", 5, 1, 7),
        ("transfer at once", 5, 1, 7),
    ],
)
def test_ceiling_and_floors(data: Published, script: str, train: int, dev: int, test: int) -> None:
    def paid(split: str) -> list[str]:
        tasks = data.tasks[split]
        return [t.id for t in tasks if play(data.world, t, SCRIPTS[script](t)).outcome().reward == 1.0]

    found = {split: paid(split) for split in folder.SPLITS}
    assert {split: len(tasks) for split, tasks in found.items()} == {"train": train, "dev": dev, "test": test}
    if test == 7:
        assert found["test"] == [f"test-{i}" for i in (10, 12, 25, 50, 57, 65, 106)]


def test_reciting_the_database_is_paid_11_times(data: Published) -> None:
    everything = json.dumps(thawed(data.world.tables)) + " ".join(map(str, range(200)))
    paid = sum(play(data.world, task, [everything]).outcome().reward for task in data.tasks["test"])
    assert paid == 11


def test_the_defects_that_are_listed(data: Published) -> None:
    """What docs/retail.md says of the published tasks."""
    world, tests = data.world, data.tasks["test"]
    replays = {task.id: gold(world, task) for tasks in data.tasks.values() for task in tasks}
    unchanged = {name for name, replay in replays.items() if not replay.database.touched}
    numbers = (10, 12, 24, 25, 50, 57, 62, 65, 67, 68, 106)
    assert unchanged == {
        *(f"test-{i}" for i in numbers),
        *(f"train-{i}" for i in (161, 214, 229, 288, 349)),
        "dev-17",
    }
    failing = {name for name, r in replays.items() if any(text.startswith("Error") for text in r.observations)}
    assert Counter(name.split("-")[0] for name in failing) == {"test": 19, "train": 19}
    writes = {
        task.id
        for task in tests
        for each, text in zip(task.actions, replays[task.id].observations, strict=True)
        if TOOLS[each.name].kind is Kind.WRITE and text.startswith("Error")
    }
    assert writes == {f"test-{i}" for i in (12, 13, 64, 106)}
    assert sum(bool(task.outputs) for task in tests) == 37
    assert not any(task.outputs for split in ("train", "dev") for task in data.tasks[split])
    users, trained = ({task.user_id for task in data.tasks[split]} for split in ("test", "train"))
    assert (len(users), len(users & trained)) == (53, 43)
    assert "pending (items modifed)" in world.policy
    same = [t.id for t in tests if Counter(x.instruction for x in tests)[t.instruction] > 1]
    assert same == ["test-93", "test-95"]
