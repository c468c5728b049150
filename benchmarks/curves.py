"""How the cost of a step of askfirst grows with group size, lengths and turns; medians as a table.

python -m benchmarks.curves --rounds 3 [group prompt_tokens turns new_tokens]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import replace

from benchmarks.compare import Results, add, run
from benchmarks.shapes import Shape

BASE = Shape(prompts=4)
CURVES: dict[str, list[Shape]] = {
    "group": [replace(BASE, group=n, prompt_tokens=1000, prompts=2) for n in (1, 2, 4, 8, 16, 32)],
    "prompt_tokens": [replace(BASE, prompt_tokens=n) for n in (50, 200, 500, 1500)],
    # The same tokens in each episode but the first, which has only those that are sampled.
    "turns": [
        replace(BASE, group=8),
        replace(BASE, new_tokens=88),
        *(replace(BASE, turns=n, said=40 // (n - 1)) for n in (2, 3, 6)),
    ],
    "new_tokens": [replace(BASE, new_tokens=n) for n in (16, 48, 128, 256)],
}


def main() -> None:
    """Alternate the points of each curve and print a table a curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves", nargs="*", default=list(CURVES))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for name in given.curves:
        print(curve(name, given.rounds), flush=True)


def label(name: str, shape: Shape) -> str:
    """What the points of a curve differ in."""
    if name == "turns":
        return f"{shape.turns} × {shape.new_tokens // shape.turns}, {shape.said} said between"
    return str(getattr(shape, name))


def curve(name: str, rounds: int) -> str:
    """One curve as a Markdown table; `×` is the ratio to the row before."""
    results = [(shape, Results()) for shape in CURVES[name]]
    for _ in range(rounds):
        for shape, result in results:
            add(result, run("askfirst_step", shape))
            print(f"{name} {label(name, shape)}: {result.seconds[-1]:.1f} s", file=sys.stderr, flush=True)
    lines = [f"| {name} | seconds | min – max | × | peak MiB |", "|---|---|---|---|---|"]
    before = None
    for shape, result in results:
        median = statistics.median(result.seconds)
        ratio = f"{median / before:.2f}" if before else ""
        spread = f"{min(result.seconds):.1f} – {max(result.seconds):.1f}"
        peak = statistics.median(result.peak_mib)
        lines.append(f"| {label(name, shape)} | {median:.1f} | {spread} | {ratio} | {peak:.0f} |")
        before = median
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
