"""How well a model tells requests that need a question from their clear twins: ask rates and their AUC by family.

python -m benchmarks.ask_rates MODEL [--checkpoint FOLDER] [--pairs 100] [--samples 24]
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from askfirst import plugins
from askfirst.policy import ModelSpec, SampleRequest, Sampling

SEED = 31


def main() -> None:
    """A Markdown table for train and dev, sampled at temperature 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--samples", type=int, default=24)
    given = parser.parse_args()
    env, policy = (
        plugins.load("envs", "judgment"),
        plugins.load("backends", "hf").open_policy(ModelSpec(given.model), 0),
    )
    if given.checkpoint:
        policy.load(given.checkpoint)
    print("| split | family | pairs | asks when unclear | asks when clear | AUC |\n|---|---|---|---|---|---|")
    for split in ("train", "dev"):
        rates: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        for side, stratum in enumerate(("ambiguous", "clear_twin")):
            scenarios = env.scenarios(split, given.pairs, SEED, {stratum: 1.0})
            seeds = tuple(range(given.samples))
            found = policy.sample([SampleRequest(policy.encode(env.start(s)), seeds) for s in scenarios], Sampling(40))
            for scenario, group in zip(scenarios, found, strict=True):
                asked = float(np.mean(['"clarify"' in policy.decode(c.token_ids) for c in group]))
                rates[scenario.template.split(".")[0].split("/")[0]][side].append(asked)
        for family, (unclear, clear) in rates.items():
            one, other = np.array(unclear)[:, None], np.array(clear)[None]
            auc = float(np.mean((one > other) + 0.5 * (one == other)))
            means = f"{np.mean(unclear):.2f} | {np.mean(clear):.2f}"
            print(f"| {split} | {family} | {len(unclear)} | {means} | {auc:.2f} |", flush=True)


if __name__ == "__main__":
    main()
