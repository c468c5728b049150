"""Speed of the model's products by their numbers' type, on this processor: python -m benchmarks.dtypes

Hidden states times a weight matrix of SmolLM2's, in fp32 and bf16 by turns: GFLOP/s, median and range of ROUNDS.
"""

from __future__ import annotations

import statistics
import time

import torch
from torch import Tensor

from askfirst.backends.hf.models import DTYPES, multiplies_bf16

ROWS, SHAPE = 1024, (1536, 576)
ROUNDS, SECONDS = 7, 0.5


def main() -> None:
    """Print a Markdown table and what the library thinks of the processor."""
    found: dict[str, list[float]] = {name: [] for name in DTYPES}
    for _ in range(ROUNDS):
        for name, dtype in DTYPES.items():
            found[name].append(_speed(torch.randn(ROWS, SHAPE[1]).to(dtype), torch.randn(SHAPE).to(dtype)))
    print("| dtype | GFLOP/s | range |\n|---|---|---|")
    for name, speeds in found.items():
        print(f"| {name} | {statistics.median(speeds):.0f} | {min(speeds):.0f} – {max(speeds):.0f} |")
    print(f"\nproducts in bf16: {'yes' if multiplies_bf16() else 'no'}; {torch.get_num_threads()} threads")


def _speed(rows: Tensor, weight: Tensor) -> float:
    done, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < SECONDS:
        rows @ weight.t()
        done += 1
    return 2 * rows.numel() * len(weight) * done / spent / 1e9


if __name__ == "__main__":
    main()
