"""The scores of rewards in a process of its own: another seed of the builtin hash, cases from last to first.

What depends on the order of a set, on what was scored before or on anything else of a process differs there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from askfirst import plugins
from askfirst.contracts.rewards import fingerprint
from askfirst.errors import RewardFault


def fingerprints(rewards: Sequence[str], hash_seed: int, *, backwards: bool) -> dict[str, str]:
    """Reward → `contracts.rewards.fingerprint` as another process finds it. Raises RewardFault where that one fails."""
    command = [sys.executable, "-m", "askfirst.cli.apart", "backwards" if backwards else "forwards", *rewards]
    ways = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": ways, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise RewardFault(f"scoring in another process ended with exit code {done.returncode}: {last[0]}")
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def _print() -> None:
    way, *rewards = sys.argv[1:]
    found = {name: fingerprint(plugins.load("rewards", name), backwards=way == "backwards") for name in rewards}
    print(json.dumps(found))


if __name__ == "__main__":
    _print()
