"""Attention that is guided while a model learns: some heads are told which token to look at, and pass words on.

To look a word up takes several heads in a row, none of which helps a reply before the others are there: that is what
training spends most of its steps on. So the heads begin as a chain that hands a word on, whatever the word is, and a
part of the loss, −log of the attention that each pays to the token that it should look at, tells them where to look
(Deshpande and Narasimhan 2020, arXiv 2010.02399, guide heads to fixed patterns). That part falls to nothing.
Only training knows of it: the model has the layers that it had, and may unlearn what is of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

Look = tuple[str, int, int]  # what for, the token that looks, the token that it should look at
Looks = Mapping[str, Tensor]  # what for → (number, 3): row, token that looks, token looked at
Guiding = Callable[[Sequence[Tensor]], Tensor]  # attentions (rows, heads, length, length) of all layers → loss
Head = tuple[int, int]  # layer, and which of its heads
SMALLEST = 1e-6  # attention that is taken for none
STRENGTH = 2.0  # of values and outputs in a chain: what is weaker is forgotten before the heads look where they should


@dataclass(frozen=True, slots=True)
class Guide:
    """`looks` finds what should be looked at in the tokens of a dialogue; `heads` are those that should, by what for.

    `chains` are heads of which each hands on what the one before has found. `weight` is that of this part of the loss,
    in nats a look and head, at the first step beside a nat a token of replies; it falls to nothing in the share `until`
    of the training.
    """

    looks: Callable[[Sequence[int]], list[Look]]
    heads: Mapping[str, tuple[Head, ...]]
    chains: tuple[tuple[Head, ...], ...]
    weight: float = 1.0
    until: float = 1.0

    def left(self, done: float) -> float:
        """The share of the weight that is left when a share of the training is done."""
        return max(0.0, 1 - done / self.until)

    def of_shards(self, shards: Sequence[Tensor], left: float) -> list[Guiding]:
        """The loss of each shard of a batch, ids (rows, length); `left` is the share of the weight that is left."""
        looks = [self.of(ids.tolist()) for ids in shards]
        counts = {name: sum(len(own[name]) for own in looks) for name in self.heads}
        return [partial(self.loss, looks=own, counts=counts, left=left) for own in looks]

    def of(self, rows: Sequence[Sequence[int]]) -> Looks:
        """The looks of dialogues. None is from a last token: its attention is not computed."""
        found: dict[str, list[tuple[int, int, int]]] = {name: [] for name in self.heads}
        for row, ids in enumerate(rows):
            for name, at, to in self.looks(ids):
                if at + 1 < len(ids):
                    found[name].append((row, at, to))
        return {name: torch.tensor(own, dtype=torch.long).reshape(-1, 3) for name, own in found.items()}

    def loss(self, attentions: Sequence[Tensor], looks: Looks, counts: Mapping[str, int], left: float) -> Tensor:
        """The loss by attentions (rows, heads, length, length) of all layers; `counts` are the whole batch's."""
        total = attentions[0].new_zeros(())
        for name, heads in self.heads.items():
            row, at, to = looks[name].unbind(1)
            for layer, head in heads:
                paid = attentions[layer][row, head, at, to]
                total = total - torch.log(paid.float() + SMALLEST).sum() / max(1, counts[name])
        return self.weight * left * total


@torch.no_grad()
def hand_on(model: Any, words: Sequence[int], chains: Sequence[Sequence[Head]]) -> None:
    """Set values and outputs of the heads so that what the first of a chain sees of a word the last writes as it.

    `words` are the tokens' ids. Between its ends a chain has as many directions as a head has numbers to itself, that
    are none of words and of no other chain: what is handed on is not taken for the word of the token that it is handed
    to. Raises ValueError where the model has not so many directions, or a head of two chains.
    """
    size = model.config.head_dim
    groups = model.config.num_attention_heads // model.config.num_key_value_heads
    vectors = model.get_input_embeddings().weight[list(words)]
    _, lengths, directions = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    first = int((lengths > lengths[0] / 10).sum())  # beyond those of words
    every = [head for chain in chains for head in chain]
    if first + size * len(chains) > len(directions) or len(set(every)) < len(every):
        raise ValueError(
            f"{len(chains)} chains of heads of {size} numbers beside {first} directions of words: too many"
        )
    for i, chain in enumerate(chains):
        own = directions[first + size * i : first + size * (i + 1)]
        for layer, head in chain:
            block = model.model.layers[layer]
            reads = directions[:size] if (layer, head) == chain[0] else own
            writes = directions[:size] if (layer, head) == chain[-1] else own
            at, group = slice(head * size, (head + 1) * size), slice(head // groups * size, (head // groups + 1) * size)
            block.self_attn.v_proj.weight[group] = STRENGTH * reads / block.input_layernorm.weight
            block.self_attn.o_proj.weight[:, at] = STRENGTH * writes.T
