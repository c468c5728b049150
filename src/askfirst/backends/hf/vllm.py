"""vLLM as the sampler: the trainer's adapter is handed over as a file after every change of its weights.

For CUDA machines with `vllm` ≥ 0.11 installed, which is no dependency of ours. Its logprobs differ from the trainer's
as two kernels differ, so a plan that uses it declares a correction; the correctness gate measures the difference.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from askfirst.errors import ModelError
from askfirst.policy import Completion, SampleRequest, Sampling
from askfirst.values import StopReason

RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # of adapters, as vLLM allows them
MEMORY = 0.45  # share of the GPU for vLLM; the trainer has the rest
SEEDS = 1 << 63  # seeds are signed there


class VllmSampler:
    """Has the interface of `sampler.Sampler`; prompts and earlier turns are recognised by vLLM's own prefix cache."""

    def __init__(self, engine: Any, end_ids: frozenset[int], save: Callable[[Path], None]) -> None:
        """`engine` is a `vllm.LLM`; `save` writes the adapter as it stands as a PEFT folder."""
        self.engine, self.end_ids, self._save = engine, end_ids, save
        self._version, self._folder = 0, Path(tempfile.mkdtemp(prefix="askfirst-adapter-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._request: Any = None

    def forget(self) -> None:
        """The weights have changed: the next call hands them over."""
        self._request = None

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, most: int, keep: bool = False
    ) -> list[list[Completion]]:
        """Completions in the order of requests and seeds. What is decoded together and kept is vLLM's."""
        from vllm import SamplingParams, TokensPrompt

        wanted = [(request.prompt_ids, seed) for request in requests for seed in request.seeds]
        outputs = self.engine.generate(
            [TokensPrompt(prompt_token_ids=list(ids)) for ids, _ in wanted],
            [
                SamplingParams(
                    temperature=sampling.temperature,
                    max_tokens=sampling.max_tokens,
                    seed=seed % SEEDS,
                    logprobs=0,  # of the sampled token alone
                    stop_token_ids=sorted(self.end_ids),
                    detokenize=False,
                )
                for _, seed in wanted
            ],
            lora_request=self._handed_over(),
            use_tqdm=False,
        )
        found = iter([_completion(output.outputs[0], self.end_ids) for output in outputs])
        return [[next(found) for _ in request.seeds] for request in requests]

    def _handed_over(self) -> Any:
        """The adapter as vLLM knows it; a new version has a new number, or the old weights would be served."""
        from vllm.lora.request import LoRARequest

        if self._request is None:
            self._version += 1
            folder = self._folder / str(self._version)
            folder.mkdir()
            self._save(folder)
            self._request = LoRARequest(f"adapter-{self._version}", self._version, str(folder))
        return self._request


def open_engine(source: str, dtype: str, rank: int, context: int) -> Any:
    """A `vllm.LLM` on the folder or hub id `source`. Raises ModelError where vLLM or a GPU is missing."""
    try:
        from vllm import LLM
    except ImportError as error:
        raise ModelError(
            "sampler is vllm, which is not installed", hint='pip install "vllm>=0.11", or set model.sampler = "own"'
        ) from error
    fits = next((r for r in RANKS if r >= rank), None)
    if fits is None:
        raise ModelError(f"vLLM serves adapters of rank {RANKS[-1]} at most, the plan says {rank}")
    return LLM(
        model=source,
        dtype={"fp32": "float32", "bf16": "bfloat16"}[dtype],
        enable_lora=True,
        max_lora_rank=fits,
        max_loras=1,
        max_model_len=context,
        enable_prefix_caching=True,
        gpu_memory_utilization=MEMORY,
        logprobs_mode="processed_logprobs",  # those of the distribution drawn from
        trust_remote_code=False,
    )


def _completion(output: Any, end_ids: frozenset[int]) -> Completion:
    ids = tuple(int(i) for i in output.token_ids)
    logprobs = tuple(float(step[i].logprob) for i, step in zip(ids, output.logprobs, strict=True))
    ended = bool(ids) and ids[-1] in end_ids
    return Completion(ids, logprobs, StopReason.END if ended else StopReason.LENGTH)
