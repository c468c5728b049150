"""Contenders in turn, each in a process of its own, round after round; medians and ratios as a table.

python -m benchmarks.compare --rounds 3 [--shape JSON] [askfirst_step generate trl_grpo llama_cpp]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.shapes import Shape, model_folder

SAMPLERS = frozenset({"generate", "llama_cpp"})  # contenders that make rollouts and learn nothing
CONTENDERS = ("askfirst_step", "generate", "trl_grpo")


@dataclass(slots=True)
class Results:
    """What a contender's processes reported."""

    seconds: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    peak_mib: list[float] = field(default_factory=list)


def main() -> None:
    """Alternate the contenders and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contenders", nargs="*", default=list(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shape", default="{}", help="fields of Shape as JSON")
    given = parser.parse_args()
    shape = Shape(**json.loads(given.shape))
    results = {name: Results() for name in given.contenders}
    speeds = []
    for _ in range(given.rounds):
        speeds.append(matrix_speed(shape))
        for name, result in results.items():
            add(result, run(name, shape))
            print(f"{name} {result.seconds[-1]:.1f} s", file=sys.stderr, flush=True)
    print(table(results, shape, statistics.median(speeds)))


def run(name: str, shape: Shape) -> dict[str, Any]:
    """One process of a contender; its last line is its report."""
    command = [sys.executable, "-m", f"benchmarks.contenders.{name}", "--shape", shape.as_json()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def add(result: Results, found: dict[str, Any]) -> None:
    """Collect a report."""
    result.seconds += found["seconds"]
    result.peak_mib.append(float(found["peak_mib"]))
    for part in found["parts"]:
        for name, seconds in part.items():
            result.parts.setdefault(name, []).append(seconds)


def matrix_speed(shape: Shape, size: int = 1536, seconds: float = 2.0) -> float:
    """FLOP/s of matrix products of this machine now, in the dtype of the model's weights."""
    dtype = torch.bfloat16 if shape.dtype == "bf16" else torch.float32
    left, right = torch.randn(size, size, dtype=dtype), torch.randn(size, size, dtype=dtype)
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        torch.mm(left, right)
        count += 1
    return count * 2.0 * size**3 / (time.perf_counter() - start)


def floors(shape: Shape, speed: float) -> dict[str, float]:
    """Seconds that the matrix products of weights alone need, prompts counted once a group.

    Forward 2 FLOP a weight and token; backward through frozen weights as much again; logits for
    completion tokens only, and no output embedding in the prompt.
    """
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(model_folder(shape))
    head = model.get_output_embeddings().weight.numel()
    inside = sum(p.numel() for p in model.parameters() if p.ndim > 1) - head
    prompt = shape.prompts * shape.prompt_tokens
    new = shape.prompts * shape.group * shape.new_tokens
    rollout = 2.0 * (inside * (prompt + new) + head * new)
    train = 4.0 * (inside * (prompt + new) + head * new)
    return {"rollout": rollout / speed, "train": train / speed, "step": (rollout + train) / speed}


def table(results: dict[str, Results], shape: Shape, speed: float) -> str:
    """A Markdown table of medians, and each step against the floor and against askfirst."""
    floor = floors(shape, speed)
    lines = [
        f"{shape.as_json()}; matrix products {speed / 1e9:.0f} GFLOP/s; "
        f"floor {floor['step']:.1f} s (rollout {floor['rollout']:.1f}, train {floor['train']:.1f})",
        "",
        "| contender | seconds | min – max | rollout | train | peak MiB | × askfirst | × floor |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        parts = {k: statistics.median(v) for k, v in result.parts.items()}
        median, only_samples = statistics.median(result.seconds), name in SAMPLERS
        cells = [
            name,
            _shown(median),
            f"{min(result.seconds):.1f} – {max(result.seconds):.1f}",
            _shown(parts.get("rollout")),
            _shown(parts.get("train")),
            f"{statistics.median(result.peak_mib):.0f}",
            _shown(median / ours if (ours := _ours(results, only_samples)) else None, 2),
            _shown(median / floor["rollout" if only_samples else "step"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _ours(results: dict[str, Results], only_samples: bool) -> float | None:
    """What a contender is measured against: askfirst's rollouts for those that only sample, else its step."""
    if "askfirst_step" not in results:
        return None
    mine = results["askfirst_step"]
    return statistics.median(mine.parts["rollout"] if only_samples else mine.seconds)


def _shown(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
