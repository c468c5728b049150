"""Rollouts alone by llama.cpp: each prompt decoded once, its keys and values shared by the group, all rows together.

Needs llama-cpp-python (a compiler builds it: `pip install llama-cpp-python`). The base model alone, in the file type of
`--type`: an adapter in llama.cpp would only add to its work.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shapes import Shape, measured, prompt_ids


def main() -> None:
    """Measure the shape of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="{}", help="fields of Shape as JSON")
    parser.add_argument("--type", default="f16", help="f32, f16 or q8_0")
    given = parser.parse_args()
    shape = Shape(**json.loads(given.shape))
    with tempfile.TemporaryDirectory() as folder:
        tokenizer, path = written(shape, given.type, Path(folder))
        decoder = Decoder(path, shape)
    measured(lambda number: decoder.step(prompt_ids(shape, tokenizer, number), number), shape)


def written(shape: Shape, kind: str, folder: Path) -> tuple[Any, Path]:
    """The tokenizer of the model, and its GGUF file."""
    from askfirst.backends.hf import models
    from askfirst.exports.gguf_file import write_gguf

    whole = models.load(shape.model, "fp32", models.default_cache())
    return whole.tokenizer, write_gguf(whole, shape.model, kind, folder / "model.gguf")


class Decoder:
    """llama.cpp with room for every row of a shape at once."""

    def __init__(self, path: Path, shape: Shape) -> None:
        import llama_cpp

        self._api, self._shape = llama_cpp, shape
        llama_cpp.llama_backend_init()
        self._quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._quiet, ctypes.c_void_p(0))
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        wanted = llama_cpp.llama_context_default_params()
        rows = shape.prompts * shape.group
        wanted.n_ctx = shape.prompts * shape.prompt_tokens + rows * (shape.new_tokens + 1)
        wanted.n_batch = wanted.n_ubatch = max(512, rows)
        wanted.n_seq_max, wanted.kv_unified = rows, True
        wanted.n_threads = wanted.n_threads_batch = os.cpu_count() or 1
        self._context = llama_cpp.llama_init_from_model(self._model, wanted)
        if not self._context:
            raise SystemExit("llama.cpp makes no context of this size")
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))
        self._batch = llama_cpp.llama_batch_init(max(512, rows), 0, 1)

    def step(self, prompts: list[tuple[int, ...]], number: int) -> dict[str, float]:
        """Every prompt once, then one token of every row at a time, drawn at temperature 1."""
        chance, group = np.random.Generator(np.random.Philox(key=number)), self._shape.group
        self._api.llama_memory_clear(self._memory, True)
        tokens: list[int] = []
        for i, prompt in enumerate(prompts):
            last = self._prefill(prompt, i * group)
            for copy in range(1, group):
                self._api.llama_memory_seq_cp(self._memory, i * group, i * group + copy, -1, -1)
            tokens += self._drawn(np.repeat(last, group, axis=0), chance)
        for position in range(self._shape.prompt_tokens, self._shape.prompt_tokens + self._shape.new_tokens - 1):
            rows = [(token, position, row, True) for row, token in enumerate(tokens)]
            tokens = self._drawn(self._decode(rows), chance)
        return {}

    def _prefill(self, prompt: tuple[int, ...], row: int) -> np.ndarray:
        entries = [(token, at, row, at + 1 == len(prompt)) for at, token in enumerate(prompt)]
        for start in range(0, len(entries), 512):
            last = self._decode(entries[start : start + 512])
        return last

    def _decode(self, entries: list[tuple[int, int, int, bool]]) -> np.ndarray:
        """Logits (rows that want them, vocabulary) behind (token, position, row, wanted)."""
        batch, self._batch.n_tokens = self._batch, len(entries)
        for i, (token, position, row, wanted) in enumerate(entries):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, position, 1
            batch.seq_id[i][0], batch.logits[i] = row, wanted
        if self._api.llama_decode(self._context, batch):
            raise SystemExit("llama.cpp could not decode")
        asked = [i for i, entry in enumerate(entries) if entry[3]]
        found = [self._api.llama_get_logits_ith(self._context, i) for i in asked]
        return np.array([np.ctypeslib.as_array(one, shape=(self._size,)) for one in found]).reshape(-1, self._size)

    def _drawn(self, logits: np.ndarray, chance: np.random.Generator) -> list[int]:
        """A token of each row by one uniform number and the cumulative sum."""
        weights = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64).cumsum(axis=1)
        reached = chance.random((len(logits), 1)) * weights[:, -1:]
        return [int(np.searchsorted(row, at)) for row, at in zip(weights, reached[:, 0], strict=True)]


if __name__ == "__main__":
    main()
