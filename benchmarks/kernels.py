"""What oneDNN's kernels hold where shapes change from step to step: python -m benchmarks.kernels

Forward and backward passes of `nano` in bf16 on dialogues of the generated shop, for each number of kernels that oneDNN
may keep in either of its two caches, and on one shape again and again: resident memory in MiB, after what malloc holds
back was given back. Linux with glibc alone.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import torch
from torch import Tensor

from askfirst.backends._chat import Chat
from askfirst.backends.hf import models, nano, widening
from askfirst.cli.kernels import KERNELS
from askfirst.specialists import RETAIL
from askfirst.specialists.core import dialogues

CAPACITIES = ("1024", "64", "0")
STEPS, EVERY = 45, 15


def main() -> None:
    """Print a Markdown table, one process a row."""
    print(f"| kernels kept | shapes | {' | '.join(f'step {s}' for s in range(EVERY, STEPS + 1, EVERY))} |")
    print("|---|---|" + "---|" * (STEPS // EVERY))
    for capacity, shapes in [*((c, "many") for c in CAPACITIES), ("1024", "one")]:
        # At least 1 in one of them: 0 has no meaning there.
        bounds = {name: capacity if name.startswith("ONEDNN") else str(max(1, int(capacity))) for name in KERNELS}
        command = [sys.executable, "-m", "benchmarks.kernels", shapes]
        done = subprocess.run(command, env={**os.environ, **bounds}, capture_output=True, text=True, check=True)
        print(f"| {capacity} | {shapes} | {done.stdout.strip()} |", flush=True)


def measure(shapes: str) -> None:
    """Take the steps in this process and print what is resident now and then."""
    torch.set_num_threads(1)
    model, tokenizer = widening.widened(models.NANO, RETAIL.parts)
    model = model.to(torch.bfloat16).train()
    model.set_attn_implementation("eager")
    found = []
    for step, (ids, replies) in enumerate(batches(Chat(tokenizer, "nano"), shapes), start=1):
        model.zero_grad()
        torch.autograd.backward(nano.reply_loss(model, ids, replies, int(replies.sum())))
        if step % EVERY == 0:
            ctypes.CDLL("libc.so.6").malloc_trim(0)
            found.append(psutil.Process().memory_info().rss >> 20)
        if step == STEPS:
            break
    print(" | ".join(map(str, found)))


def batches(chat: Chat, shapes: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of dialogues, or the first of them for ever."""
    recipe = RETAIL.recipe
    drawn = nano.batches(chat, iter(dialogues(RETAIL, recipe)), nano.NanoTraining(recipe.steps, recipe.batch))
    first = next(drawn)
    while True:
        yield first
        first = first if shapes == "one" else next(drawn)


if __name__ == "__main__":
    measure(sys.argv[1]) if sys.argv[1:] else main()
