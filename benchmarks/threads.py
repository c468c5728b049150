"""What threads are worth to `nano`: a step's sampling and update, quiet and beside a process that is never idle.

python -m benchmarks.threads --steps 7
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

CASES = (("1", {}), ("2", {}), ("2", {"OMP_WAIT_POLICY": "passive"}), ("2", {"GOMP_SPINCOUNT": "1000"}))


def main() -> None:
    """Each case in a process of its own, first quiet, then busy; a Markdown table of medians in seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)  # what a case's own process is told
    given = parser.parse_args()
    if given.threads:
        print(*measure(given.threads, given.steps))
        return
    print("| machine | threads | environment | sample 8 × 8, s | update, s |\n|---|---|---|---|---|")
    for machine in ("quiet", "busy"):
        for threads, variables in CASES:
            row = (machine, threads, " ".join(f"{k}={v}" for k, v in variables.items()))
            print(f"| {' | '.join(row)} | {' | '.join(case(row, variables, given.steps))} |", flush=True)


def case(row: tuple[str, str, str], variables: dict[str, str], steps: int) -> list[str]:
    """The two figures of a case, as its process prints them."""
    machine, threads, _ = row
    spin = [sys.executable, "-c", "import time; end = time.monotonic() + 600\nwhile time.monotonic() < end: pass"]
    beside = subprocess.Popen(spin) if machine == "busy" else None
    command = [sys.executable, "-m", "benchmarks.threads", "--threads", threads, "--steps", str(steps)]
    try:
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    finally:
        if beside is not None:
            beside.kill()
    return done.stdout.split()[-2:]


def measure(threads: int, steps: int) -> tuple[str, str]:
    """Median seconds to sample 8 groups of 8 and to learn from them; the first step is not counted."""
    import torch

    from askfirst import plugins
    from askfirst.policy import ModelSpec, SampleRequest, Sampling, StepSettings
    from askfirst.warmstart import CrossEntropy, demonstration_row

    env = plugins.load("envs", "judgment")
    policy = plugins.load("backends", "hf").open_policy(ModelSpec("nano"), 0)
    torch.set_num_threads(threads)
    sampling, updating = [], []
    for step in range(steps + 1):
        began = time.perf_counter()
        prompts = [policy.encode(env.start(s)) for s in env.scenarios("train", 8, step)]
        found = policy.sample([SampleRequest(p, tuple(range(8))) for p in prompts], Sampling(64))
        middle = time.perf_counter()
        rows = [demonstration_row(p, c.token_ids) for p, group in zip(prompts, found, strict=True) for c in group]
        policy.update(rows, CrossEntropy(rows), StepSettings(0.0))
        sampling.append(middle - began)
        updating.append(time.perf_counter() - middle)
    return f"{statistics.median(sampling[1:]):.2f}", f"{statistics.median(updating[1:]):.2f}"


if __name__ == "__main__":
    main()
