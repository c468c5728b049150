"""What each habit of an environment earns on every split, as a table: `python -m benchmarks.habits [REWARD]`."""

from __future__ import annotations

import sys

from askfirst import plugins
from askfirst.contracts.policies import earnings

DRAWN = 240
SPLITS = ("train", "dev", "sealed")


def main(name: str = "utility") -> int:
    """Print means of the total by split, and the shares of ambiguous and of other requests that are passed."""
    reward = plugins.load("rewards", name)
    env = plugins.load("envs", reward.ENV)
    found = {split: {e.policy: e for e in earnings(reward, env, env.scenarios(split, DRAWN, 0))} for split in SPLITS}
    print("| policy | train | dev | sealed | passes: a question is due / is not |\n|---|---|---|---|---|")
    for policy in found[SPLITS[0]]:
        own = [found[split][policy] for split in SPLITS]
        passes = "; ".join(f"{e.ambiguous_pass:.2f} / {e.clear_pass:.2f}" for e in own)
        print(f"| {policy} | {' | '.join(f'{e.mean:.2f}' for e in own)} | {passes} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
