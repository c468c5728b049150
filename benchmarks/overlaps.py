"""What the splits of an environment share, where only families may be: `python -m benchmarks.overlaps [ENV]`."""

from __future__ import annotations

import itertools
import sys

from askfirst import plugins
from askfirst.audit.shared import overlaps

DRAWN = 2000


def main(name: str = "clarify") -> int:
    """Print the table; exit 1 where anything but families is shared."""
    env = plugins.load("envs", name)
    drawn = {split: env.scenarios(split, DRAWN, 0) for split in ("train", "dev", "sealed")}
    print("| splits | kind | in the first | in the second | in both |\n|---|---|---|---|---|")
    bad = 0
    for one, other in itertools.combinations(drawn, 2):
        for each in overlaps(drawn[one], drawn[other]):
            print(f"| {one}, {other} | {each.kind} | {each.counts[0]} | {each.counts[1]} | {len(each.common)} |")
            bad += len(each.common) * (each.kind != "family")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
