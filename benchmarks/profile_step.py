"""Where a step of askfirst spends its time: self time of torch's operations by kind, rollouts and training apart.

python -m benchmarks.profile_step [--shape JSON]

The profiler itself costs a tenth; the share of each kind is what to read.
"""

from __future__ import annotations

import time

from torch.profiler import ProfilerActivity, profile

from benchmarks.contenders.askfirst_step import opened, play, update
from benchmarks.shapes import Shape

KINDS = {
    "matrix products of weights and adapters": ("aten::mm", "aten::addmm", "aten::addmm_", "mkldnn::_linear_pointwise"),
    "products of attention": ("aten::bmm", "aten::baddbmm", "aten::baddbmm_"),
    "copies and changes of dtype": ("aten::copy_", "aten::cat", "aten::clone", "aten::fill_", "aten::zero_"),
}
OTHER = "everything else"


def main() -> None:
    """One step that is not profiled, one that is, and a Markdown table of seconds."""
    shape = Shape.from_arguments()
    policy, tokenizer = opened(shape)
    update(policy, play(policy, tokenizer, shape, 0))
    began = time.perf_counter()
    with profile(activities=[ProfilerActivity.CPU]) as rollouts:
        episodes = play(policy, tokenizer, shape, 1)
    middle = time.perf_counter()
    with profile(activities=[ProfilerActivity.CPU]) as training:
        update(policy, episodes)
    ended = time.perf_counter()
    parts = {"rollouts": by_kind(rollouts), "training": by_kind(training)}
    print("| | " + " | ".join(parts) + " |\n|---|" + "---|" * len(parts))
    for kind in (*KINDS, OTHER):
        print(f"| {kind} | " + " | ".join(f"{seconds[kind]:.1f}" for seconds in parts.values()) + " |")
    print(f"| wall, with the profiler | {middle - began:.1f} | {ended - middle:.1f} |")


def by_kind(measured: profile) -> dict[str, float]:
    """Seconds of self time of each kind of operation."""
    kind_of = {name: kind for kind, names in KINDS.items() for name in names}
    seconds = dict.fromkeys((*KINDS, OTHER), 0.0)
    for event in measured.key_averages():
        seconds[kind_of.get(event.key, OTHER)] += event.self_cpu_time_total / 1e6
    return seconds


if __name__ == "__main__":
    main()
