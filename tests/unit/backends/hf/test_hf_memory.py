"""What a step will need: counted without keeping it, growing with what it grows with, bounded by what is free."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from askfirst.backends.hf import memory
from askfirst.backends.hf.batching import micro_batches
from askfirst.backends.hf.policy import HfPolicy
from askfirst.backends.hf.trainer import predicting_states
from askfirst.cli.kernels import KERNELS
from askfirst.values import Row

# Forward and backward passes of `nano`, in bf16 where the processor has it, on rows of ever other lengths; prints what
# stays behind, in MiB.
VARIED = """
import ctypes, psutil, torch
from askfirst.backends.hf import models, nano
torch.set_num_threads(1)
model, tokenizer = nano.load_nano(models.NANO)
model = model.to(torch.bfloat16 if models.multiplies_bf16() else torch.float32).train()
held = []
for step in range(36):
    ids = torch.randint(5, 2000, (16, 150 + 7 * step))
    nano.reply_loss(model, ids, torch.ones_like(ids, dtype=torch.bool), ids.numel()).backward()
    if step in (11, 35):
        model.zero_grad()
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        held.append(psutil.Process().memory_info().rss >> 20)
print(held[1] - held[0])
"""
PROMPTS = [tuple(range(5, 25)), tuple(range(6, 36))]


def test_counts_what_a_forward_pass_keeps(policy: HfPolicy) -> None:
    none = np.zeros(0)
    rows = [Row(np.arange(5, 5 + n), np.arange(n) >= 9, none, none, none) for n in (14, 14, 20)]
    network = policy.network
    kept: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)  # alive, so that no address is used twice
        return tensor

    with network.own_attention():
        (batch,) = micro_batches(rows, 1000, network.packs)
        counted = memory.kept_for_backward(network, batch)
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            states = predicting_states(network, batch)
    weights = {p.untyped_storage().data_ptr() for p in network.model.parameters()}
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kept}
    wanted = sum(size for place, size in storages.items() if place not in weights)
    assert counted == wanted > 0
    assert states.requires_grad


def test_grows_with_rows_and_lengths(policy: HfPolicy) -> None:
    network, budget = policy.network, policy.tokens_at_once
    small = memory.learning_bytes(network, PROMPTS, 1, 4, budget)
    assert small < memory.learning_bytes(network, PROMPTS, 4, 4, budget)
    assert small < memory.learning_bytes(network, PROMPTS, 1, 16, budget)
    # Beyond the budget of a micro-batch more rows take more time, not more memory.
    many = [memory.learning_bytes(network, PROMPTS, n, 16, 256) for n in (16, 64)]
    assert many[1] <= 1.2 * many[0]
    drawn = [memory.sampling_bytes(network, PROMPTS, n, 4, 16) for n in (1, 4, 8, 64)]
    assert drawn[0] < drawn[1] < drawn[2]
    assert drawn[3] <= drawn[2]


def test_a_footprint_holds_what_is_there_already(policy: HfPolicy) -> None:
    before = {name: weight.clone() for name, weight in policy.network.model.named_parameters()}
    found = policy.footprint(PROMPTS, 4, 8)
    assert memory.held(policy.network.device) < found.peak < found.available
    assert all(torch.equal(before[name], weight) for name, weight in policy.network.model.named_parameters())


def test_a_container_may_have_less_than_the_machine(tmp_path: Path) -> None:
    cpu = torch.device("cpu")
    machine = memory.free(cpu, tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("100\n")
    assert memory.free(cpu, tmp_path) > machine / 2
    (tmp_path / "memory.max").write_text("1100\n")
    assert memory.free(cpu, tmp_path) == 1000
    (tmp_path / "memory.max").write_text("50\n")
    assert memory.free(cpu, tmp_path) == 0


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="malloc_trim is glibc's")
def test_memory_stays_where_shapes_change_from_step_to_step() -> None:
    own = {**os.environ, **KERNELS}
    grown = subprocess.run([sys.executable, "-c", VARIED], env=own, capture_output=True, text=True, check=True)
    assert int(grown.stdout) < 40, "MiB that two dozen further shapes leave behind"
