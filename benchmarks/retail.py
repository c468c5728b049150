"""What an episode of the published retail data costs: set-up, hash, look-ups, gold replay and reward.

Each figure is the least of some repetitions; where tasks differ, the mean and the most over the tasks of a split.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from askfirst.retail import folder
from askfirst.retail.database import Database
from askfirst.retail.published import gold, judge
from askfirst.retail.tools import call


def milliseconds(work: Callable[[], object], repetitions: int = 20) -> float:
    """The least wall time of some repetitions, in milliseconds."""
    least = float("inf")
    for _ in range(repetitions):
        began = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - began)
    return 1000 * least


def say(what: str, times: Sequence[float]) -> None:
    """One line: the mean and the most."""
    print(f"{what:34} {sum(times) / len(times):9.4f} ms   at most {max(times):9.4f} ms")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of the published data")
    parser.add_argument("--split", default="test", choices=folder.SPLITS)
    given = parser.parse_args()
    say("read and check the folder", [milliseconds(lambda: folder.published(given.data), 3)])
    world = folder.published(given.data)
    say("text form of the base, once", [milliseconds(lambda: world.page, 1)])
    tasks = folder.tasks(given.data, given.split, world)
    ends = [gold(world, task).database for task in tasks]
    say("set up an episode", [milliseconds(lambda: Database(world))])
    say("hash after the gold calls", [milliseconds(end.sha256) for end in ends])
    both = list(zip(tasks, ends, strict=True))
    say("replay the gold calls", [milliseconds(lambda t=task: gold(world, t)) for task in tasks])
    say("published reward", [milliseconds(lambda t=task, e=end: judge(t, e, ["Done."])) for task, end in both])
    last = {table: [*records][-1] for table, records in world.tables.items()}
    for name, arguments in (
        ("find_user_id_by_email", {"email": "nobody"}),
        ("get_user_details", {"user_id": last["users"]}),
        ("get_order_details", {"order_id": last["orders"]}),
        ("get_product_details", {"product_id": last["products"]}),
    ):
        say(name, [milliseconds(lambda n=name, a=arguments: call(Database(world), n, a))])


if __name__ == "__main__":
    main()
