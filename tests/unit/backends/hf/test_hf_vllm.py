"""vLLM as the sampler, against its documented interface (0.11): a stand-in that serves what it is handed.

The stand-in answers with a second policy of ours, which reads the adapter from the file, so that what is sampled shows
whether the trainer's weights have arrived. Nothing here runs vLLM itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.unit.backends.hf.conftest import SPEC, grouped_rows, random_ids, weighted

from askfirst.backends.hf import vllm
from askfirst.backends.hf.policy import HfPolicy
from askfirst.errors import ModelError
from askfirst.policy import SampleRequest, Sampling, StepSettings

REQUESTS = [SampleRequest(random_ids(n, n), (3, 2**63 + 5)) for n in (5, 9)]


@dataclass
class SamplingParams:
    temperature: float
    max_tokens: int
    seed: int
    logprobs: int
    stop_token_ids: list[int]
    detokenize: bool


@dataclass
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str


@dataclass
class LLM:
    model: str
    dtype: str
    enable_lora: bool
    max_lora_rank: int
    max_loras: int
    max_model_len: int
    enable_prefix_caching: bool
    gpu_memory_utilization: float
    logprobs_mode: str
    trust_remote_code: bool
    policy: Any = None
    served: dict[int, str] = field(default_factory=dict)

    def generate(self, prompts: Any, sampling_params: Any, *, lora_request: Any, use_tqdm: bool) -> list[Any]:
        assert not use_tqdm
        path = self.served.setdefault(lora_request.lora_int_id, lora_request.lora_path)
        self.policy._adapter.load(Path(path))  # an adapter that it knows by number is not read again
        outputs = []
        for prompt, given in zip(prompts, sampling_params, strict=True):
            assert 0 <= given.seed < 2**63
            assert given.logprobs == 0
            request = SampleRequest(tuple(prompt["prompt_token_ids"]), (given.seed,))
            (completion,) = self.policy.sample([request], Sampling(given.max_tokens, given.temperature))[0]
            steps = [{i: SimpleNamespace(logprob=lp)} for i, lp in zip(completion.token_ids, completion.logprobs,
                                                                         strict=True)]  # fmt: skip
            outputs.append(SimpleNamespace(outputs=[SimpleNamespace(token_ids=list(completion.token_ids),
                                                                     logprobs=steps)]))  # fmt: skip
        return outputs


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    package, lora, request = ModuleType("vllm"), ModuleType("vllm.lora"), ModuleType("vllm.lora.request")
    package.LLM, package.SamplingParams = LLM, SamplingParams
    package.TokensPrompt = lambda prompt_token_ids: {"prompt_token_ids": prompt_token_ids}
    request.LoRARequest = LoRARequest
    for module in (package, lora, request):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def tokens(policy: HfPolicy) -> list[list[tuple[int, ...]]]:
    signed = [SampleRequest(r.prompt_ids, tuple(s % 2**63 for s in r.seeds)) for r in REQUESTS]
    return [[c.token_ids for c in group] for group in policy.sample(signed, Sampling(12))]


def test_seeds_beyond_63_bits_are_folded(make: Callable[..., HfPolicy], installed: None) -> None:
    policy = make()
    engine = vllm.open_engine("folder", "fp32", SPEC.lora_rank, 256)
    engine.policy = make()
    policy.sample_with(engine)
    assert [[c.token_ids for c in g] for g in policy.sample(REQUESTS, Sampling(12))] == tokens(make())


@pytest.mark.usefixtures("installed")
def test_completions_are_those_of_the_weights_as_they_stand(make: Callable[..., HfPolicy]) -> None:
    policy, twin = make(), make()
    engine = vllm.open_engine("folder", "fp32", SPEC.lora_rank, 256)
    assert engine.max_lora_rank == 8
    engine.policy = make()
    policy.sample_with(engine)
    rows = grouped_rows()
    seen = []
    for _ in range(3):
        found = tokens(policy)
        assert found == tokens(twin) == tokens(policy)
        seen.append(found)
        for each in (policy, twin):
            each.update(rows, weighted(rows), StepSettings(lr=0.1))
    assert seen[0] != seen[2]
    assert sorted(engine.served) == [1, 2, 3], "one hand-over for each change of the weights"


@pytest.mark.usefixtures("installed")
def test_a_rank_that_vllm_does_not_serve_is_refused() -> None:
    with pytest.raises(ModelError, match="rank 512"):
        vllm.open_engine("folder", "bf16", 513, 256)


def test_where_it_is_not_installed_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ModelError, match="not installed"):
        vllm.open_engine("folder", "bf16", 8, 256)
