"""A load test of a server: many sessions at once, and every message of every episode is the one of plain Python.

What is lost, mixed up between sessions or said too much is therefore a difference; a score is compared to the bit.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from askfirst.desk import REPLY, Desk, verdict_on
from askfirst.errors import Fault
from askfirst.store import seed_from

PATIENCE = 120.0  # seconds for an answer


@dataclass(frozen=True, slots=True)
class Load:
    """How many episodes are played, over how many sessions at once; `split` names their tasks."""

    episodes: int
    sessions: int
    split: str = "train"


@dataclass(frozen=True, slots=True)
class Report:
    """What was played and how long it took; `total` is the sum of the scores."""

    episodes: int
    messages: int
    wall_seconds: float
    total: float
    slowest_seconds: float


def drive(url: str, desk: Desk, load: Load) -> Report:
    """Play episodes against the WebSocket of a server. Raises Fault for the first message that is not as expected."""
    return asyncio.run(_drive(url, desk, load))


def said_in(desk: Desk, split: str, seed: int) -> tuple[str, ...]:
    """What the policy of an episode says: an optimal one, or one of the habits of the environment."""
    habits = [policy for _, policy in sorted(desk.env.habits().items())]
    said = habits[seed_from("load", split, seed) % len(habits)](desk.task(split, seed))
    return (said,) if isinstance(said, str) else tuple(said)


def expected(desk: Desk, split: str, seed: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each message of an episode and the answer to it. The last is the score so far where the episode does not end."""
    scenario = desk.task(split, seed)
    session = desk.open(scenario)
    opening = {
        "task": session.task,
        "instructions": desk.env.NATIVE_INSTRUCTIONS,
        "system_prompt": desk.env.SYSTEM_PROMPT,
    }
    reset = {"seed": seed, "split": split, "episode_id": f"{split}-{seed}"}
    yield {"type": "reset", "data": reset}, _observation({**opening, "metadata": {}}, None, False)
    steps = 0
    for text in said_in(desk, split, seed):
        step = {"type": "call_tool", "tool_name": REPLY, "arguments": {"text": text}}
        answer, steps = session.say(text), steps + 1
        known: dict[str, Any] = {"tool_name": REPLY, "error": None, "metadata": {}}
        if not session.over:
            yield {"type": "step", "data": step}, _observation({**known, "result": answer}, 0.0, False)
            continue
        score = session.score()
        verdict = verdict_on(scenario, score)
        last = _observation({**known, "result": "The task is over.", "metadata": verdict}, score.total, True)
        last["data"]["metadata"] = verdict
        yield {"type": "step", "data": step}, last
        break
    state = {"episode_id": f"{split}-{seed}", "step_count": steps, "done": session.over}
    yield {"type": "state"}, {"type": "state", "data": state}


def _observation(observation: dict[str, Any], reward: float | None, done: bool) -> dict[str, Any]:
    return {"type": "observation", "data": {"observation": observation, "reward": reward, "done": done}}


async def _drive(url: str, desk: Desk, load: Load) -> Report:
    waiting, begun = iter(range(load.episodes)), time.perf_counter()
    reports = await asyncio.gather(*(_session(url, desk, load.split, waiting) for _ in range(load.sessions)))
    wall = time.perf_counter() - begun
    played = sum(report.episodes for report in reports)
    if played != load.episodes:
        raise Fault(f"{played} of {load.episodes} episodes were played")
    return Report(
        played,
        sum(report.messages for report in reports),
        wall,
        sum(report.total for report in reports),
        max(report.slowest_seconds for report in reports),
    )


async def _session(url: str, desk: Desk, split: str, waiting: Iterator[int]) -> Report:
    """Episodes over one connection, until none is waiting."""
    episodes, messages, total, slowest, begun = 0, 0, 0.0, 0.0, time.perf_counter()
    async with connect(url, proxy=None, open_timeout=PATIENCE, ping_timeout=PATIENCE) as socket:
        for seed in waiting:
            for message, wanted in expected(desk, split, seed):
                sent = time.perf_counter()
                found = await _exchange(socket, message)
                slowest = max(slowest, time.perf_counter() - sent)
                if found != wanted:
                    raise Fault(f"expected {wanted}, found {found}", where=f"task {split}/{seed}")
                messages += 1
                total += found["data"].get("reward") or 0.0
            episodes += 1
    return Report(episodes, messages, time.perf_counter() - begun, total, slowest)


async def _exchange(socket: ClientConnection, message: dict[str, Any]) -> Any:
    await socket.send(json.dumps(message))
    async with asyncio.timeout(PATIENCE):
        return json.loads(await socket.recv())
