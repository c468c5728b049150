"""Whether memory stays constant over a long run: resident memory of a nano run, step by step.

python -m benchmarks.steady [--steps 2000]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import psutil

from askfirst import matrix, variants
from askfirst import plan as plans
from askfirst.events import Event
from askfirst.runfolder import RunFolder

PLAN = Path(__file__).parents[1] / "examples" / "quickstart.toml"
MIB = 2**20


def main() -> None:
    """Train small steps in this process and print resident memory in ten places, MiB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    steps: int = parser.parse_args().steps
    sets = [
        f"train.steps={steps}",
        f"evaluation.every={steps // 4}",
        "evaluation.dev_items=24",
        "evaluation.sealed_items=800",
        "train.scenarios_per_step=5",
        "train.group_size=4",
        "train.lr=1e-5",
        "train.sampling.max_tokens=32",
        "matrix.seeds=[0]",
        "arm=[{ name = 'anchored' }]",
        "gate=[]",
        "budget.wall_minutes=600",
    ]
    seen: list[float] = []
    process = psutil.Process()

    def listen(event: Event) -> None:
        if event.kind == "step":
            seen.append(process.memory_info().rss / MIB)
            if len(seen) % max(1, steps // 10) == 0:
                print(f"step {len(seen)}: {seen[-1]:.0f} MiB", flush=True)

    with tempfile.TemporaryDirectory() as name:
        plan = plans.load(PLAN, sets)
        secrets = (PLAN.with_suffix(".seed"),)
        job = variants.Run(plan, RunFolder(Path(name)), PLAN.read_text("utf-8"), tuple(sets), secrets, listen, _never)
        matrix.run(job)
    tenth = len(seen) // 10
    early, late = max(seen[tenth : 2 * tenth]), max(seen[-tenth:])
    print(f"{len(seen)} steps; most in the second tenth {early:.0f} MiB, in the last {late:.0f}: {late / early:.3f}")


def _never() -> bool:
    return False


if __name__ == "__main__":
    main()
