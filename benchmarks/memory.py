"""Memory told before the first step against the peak of the process after it, for several shapes.

python -m benchmarks.memory [--shape JSON …]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from dataclasses import replace

from benchmarks.shapes import Shape, prompt_ids

SHAPES = [
    Shape(),
    Shape(prompt_tokens=600, new_tokens=100),
    Shape(group=16, new_tokens=128),
    Shape(prompts=2, group=32, prompt_tokens=1000),
    Shape(dtype="fp32"),
    Shape(model="nano", dtype="fp32", prompt_tokens=300, new_tokens=64, group=16),
]


def main() -> None:
    """One process a shape; a Markdown table, MiB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", action="append", help="fields of Shape as JSON")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(Shape(**json.loads(given.one)))))
        return
    shapes = [replace(Shape(), **json.loads(text)) for text in given.shape or ()] or SHAPES
    print("| shape | told | peak | told / peak |\n|---|---|---|---|")
    for shape in shapes:
        command = [sys.executable, "-m", "benchmarks.memory", "--one", shape.as_json()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        told, peak = json.loads(done.stdout.splitlines()[-1])
        print(f"| {shape.as_json()} | {told:.0f} | {peak:.0f} | {told / peak:.2f} |", flush=True)


def one(shape: Shape) -> tuple[float, float]:
    """MiB told, and the peak after two steps."""
    from benchmarks.contenders.askfirst_step import opened, step

    policy, tokenizer = opened(shape)
    told = policy.footprint(prompt_ids(shape, tokenizer, 0), shape.group, shape.new_tokens).peak
    for number in range(2):
        step(policy, tokenizer, shape, number)
    return told / 2**20, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


if __name__ == "__main__":
    main()
