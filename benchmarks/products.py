"""Speed of one matrix product at the shapes of a model: bf16, bf16 with weights packed beforehand, int8; one thread.

python -m benchmarks.products

The functions of the last two columns are private to torch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

SHAPES = ((64, 576, 960), (64, 576, 3072), (64, 1536, 576), (64, 576, 49152), (4672, 576, 3072), (4672, 1536, 576))
ROUNDS = 7


def main() -> None:
    """A Markdown table: median milliseconds, and the speed of the first."""
    torch.set_num_threads(1)
    print("| rows × in → out | bf16 ms | GFLOP/s | packed ms | int8 ms |\n|---|---|---|---|---|")
    for rows, inner, outer in SHAPES:
        plain, packed, int8 = alternated(ways(rows, inner, outer), max(3, int(3e9 / (2 * rows * inner * outer))))
        speed = 2 * rows * inner * outer / plain / 1e9
        cells = f"{plain * 1e3:.2f} | {speed:.0f} | {packed * 1e3:.2f} | {int8 * 1e3:.2f}"
        print(f"| {rows} × {inner} → {outer} | {cells} |", flush=True)


def ways(rows: int, inner: int, outer: int) -> list[Callable[[], torch.Tensor]]:
    """The same product in each of the ways."""
    chance = torch.Generator().manual_seed(0)
    x = torch.randn(rows, inner, generator=chance).bfloat16()
    weight = torch.randn(outer, inner, generator=chance).bfloat16()
    packed = torch.ops.mkldnn._reorder_linear_weight(weight)
    x8 = torch.randint(-127, 127, (rows, inner), dtype=torch.int8, generator=chance)
    weight8 = torch.randint(-127, 127, (inner, outer), dtype=torch.int8, generator=chance)
    return [
        lambda: torch.nn.functional.linear(x, weight),
        lambda: torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], ""),
        lambda: torch._int_mm(x8, weight8),
    ]


def alternated(calls: list[Callable[[], torch.Tensor]], repeats: int) -> list[float]:
    """Median seconds of each, taking turns."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, kept in zip(calls, seconds, strict=True):
            call()
            began = time.perf_counter()
            for _ in range(repeats):
                call()
            kept.append((time.perf_counter() - began) / repeats)
    return [statistics.median(kept) for kept in seconds]


if __name__ == "__main__":
    main()
