"""How much memory a step will take, told before the first one.

What the backward pass needs is counted in a forward pass that keeps none of it; the rest follows from shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef

from askfirst.backends.hf.batching import Ids, MicroBatch, micro_batches
from askfirst.backends.hf.network import Network
from askfirst.backends.hf.trainer import LOGITS_AT_ONCE, predicting_states
from askfirst.values import Row

# Tensors of (rows, vocabulary) that live while a token is drawn: logits, scaled, weights, and padded in blocks.
DRAWN = 4
FP32 = 4
# By the peaks of benchmarks/memory.py: what passes through a backward pass beside what is kept for it, as a share of
# that, and what code, threads and the first use of kernels take.
PASSING, UNSEEN = 0.2, 100 << 20
IDENTITY: Any = StorageWeakRef  # of a storage, kept from being given to another one, but not its memory


CGROUP = Path("/sys/fs/cgroup")  # where Linux says what a container may have


def held(device: torch.device) -> int:
    """Bytes that this process holds on a device now."""
    if device.type == "cuda":
        return int(torch.cuda.memory_allocated(device))
    return int(psutil.Process().memory_info().rss)


def free(device: torch.device, cgroup: Path = CGROUP) -> int:
    """Bytes that it could have besides: free on the device, and within the container's limit if it has one."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    left = int(psutil.virtual_memory().available)
    try:
        limit, used = ((cgroup / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return max(0, min(left, int(limit) - int(used)))
    except (OSError, ValueError):  # no such files, or a limit of "max"
        return left


def sampling_bytes(network: Network, prompts: Sequence[Ids], copies: int, new: int, most: int) -> int:
    """What decoding holds: keys and values of prompts and rows, and the logits of one token of every row.

    At most `most` rows are decoded together, `copies` of each prompt, `new` tokens each.
    """
    rows = min(most, len(prompts) * copies)
    together = sorted(map(len, prompts))[-max(1, rows // copies) :]
    config = network.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    token = 2 * config.num_hidden_layers * heads * size * network.itemsize
    # Prompts pass through a packed line, padded parts and the whole: two of these at a time.
    cache = token * (2 * len(together) * max(together) + rows * new)
    return int(cache + rows * config.vocab_size * (DRAWN * FP32 + network.itemsize))


def learning_bytes(network: Network, prompts: Sequence[Ids], copies: int, new: int, budget: int) -> int:
    """What an update holds at most: what is kept for the backward pass, what passes through it, one block of logits and
    its gradients."""
    ids = np.zeros(new, dtype=np.int64)
    none = np.zeros(0)
    rows = [
        Row(np.concatenate([prompt, ids]), np.arange(len(prompt) + new) >= len(prompt), none, none, none)
        for prompt in prompts
        for _ in range(copies)
    ]
    with network.own_attention():
        batches = micro_batches(rows, budget, network.packs)
        largest = max(batches, key=lambda batch: batch.ids.size)
        kept = kept_for_backward(network, largest)
    block = min(LOGITS_AT_ONCE, len(largest.where) * int(network.config.vocab_size))
    trained = sum(p.numel() for p in network.model.parameters() if p.requires_grad)
    # Logits as computed and in fp32, and the gradient of the former; gradient and two moments.
    return int((1 + PASSING) * (kept + block * (FP32 + 2 * network.itemsize)) + trained * 3 * FP32)


def kept_for_backward(network: Network, batch: MicroBatch) -> int:
    """Bytes of the tensors that a forward pass over a micro-batch keeps, each storage counted once, weights not."""
    known = {IDENTITY(p.untyped_storage()) for p in network.model.parameters()}
    nothing = torch.empty(0)
    total = 0

    def count(tensor: Tensor) -> Tensor:
        nonlocal total
        storage = tensor.untyped_storage()
        own = IDENTITY(storage)
        if own not in known:
            known.add(own)
            total += int(storage.nbytes())
        return nothing

    with saved_tensors_hooks(count, lambda tensor: tensor):
        predicting_states(network, batch)
    return total
