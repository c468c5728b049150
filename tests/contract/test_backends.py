"""Every backend that needs no model file keeps the contract, and the contract catches backends that do not."""

from __future__ import annotations

import json
from pathlib import Path
from types import MethodType

import numpy as np
import pytest

from askfirst import plugins
from askfirst.contracts import backends as contract
from askfirst.errors import BackendFault
from askfirst.policy import ModelSpec, Policy, Sampling, StepSettings
from askfirst.replies import Reply
from askfirst.values import Message

ELSEWHERE = {
    "hf": "opens a model of its own: tests/unit/backends/hf",
    "openai": "asks a server: tests/unit/backends/openai",
    "tinker": "needs a service: tests/unit/serve/test_tinker.py",
}
BACKENDS = [
    pytest.param(name, marks=pytest.mark.skip(reason=ELSEWHERE[name])) if name in ELSEWHERE else name
    for name in plugins.names("backends")
]
SAMPLING = Sampling(max_tokens=64)
SCREEN = "on-screen elements:\n[0] row|1,2|Draft to Priya|draft\n[1] row|1,9|Draft to Alex|draft\n\n"
PROMPTS = [
    (Message("system", "be brief"), Message("user", f"{SCREEN}user said: send the draft")),
    (Message("user", "user said: remind me to call naïve José tomorrow"),),
]
REPLIES = [Reply("who should get it?", "clarify", {"question": "who should get it?", "topic": "recipient"}).text()]


@pytest.fixture
def open_backend(tmp_path: Path):
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps({"contains": c, "reply": "typing ä 日本"}) + "\n" for c in ("draft", "")))

    def open_named(name: str) -> Policy:
        model = str(script) if name == "scripted" else name
        return plugins.load("backends", name).open_policy(ModelSpec(model), 0)

    return open_named


@pytest.mark.parametrize("name", BACKENDS)
def test_reads_and_writes(name: str, open_backend, tmp_path: Path) -> None:
    policy = open_backend(name)
    assert isinstance(policy, Policy)
    contract.replies_round_trip(policy, REPLIES)
    contract.completions_depend_on_prompt_and_seed(policy, PROMPTS, SAMPLING)
    contract.dialogues_go_on(policy, PROMPTS, SAMPLING)
    contract.sampled_logprobs_recomputed(policy, PROMPTS, SAMPLING)
    contract.starts_at_the_reference(policy, PROMPTS, SAMPLING)
    contract.save_and_load(policy, open_backend(name), tmp_path, PROMPTS, SAMPLING)


@pytest.mark.parametrize("name", BACKENDS)
def test_learns(name: str, open_backend) -> None:
    if open_backend(name).trainable_parameters == 0:
        pytest.skip("nothing in it can learn")
    contract.first_ratio_is_one(open_backend(name), PROMPTS, SAMPLING)
    contract.reward_raises_likelihood(open_backend(name), PROMPTS, SAMPLING, StepSettings(lr=0.01))
    contract.anchoring_moves_the_reference(open_backend(name), PROMPTS, SAMPLING)
    contract.teachers_start_at_the_reference(open_backend(name), PROMPTS, SAMPLING)
    contract.nothing_to_learn_moves_nothing(open_backend(name), PROMPTS, SAMPLING)
    contract.value_ignores_order(open_backend(name), PROMPTS, SAMPLING, 1e-12)


def shifted(values, by: float):
    return [np.where(v != 0, v + by, 0.0) for v in values]


# Each fault replaces one method of a working policy; the check named is the one that must see it.
FAULTS = {
    "replies_round_trip": ("decode", lambda self, ids: "", (REPLIES,)),
    "dialogues_go_on": (
        "encode_next",
        lambda self, messages: self.encode(messages),
        (PROMPTS, SAMPLING),
    ),
    "sampled_logprobs_recomputed": (
        "logprobs",
        lambda self, rows, reference=False: shifted(type(self).logprobs(self, rows, reference), 1e-6),
        (PROMPTS, SAMPLING),
    ),
    "starts_at_the_reference": (
        "logprobs",
        lambda self, rows, reference=False: shifted(type(self).logprobs(self, rows), 1e-15 * reference),
        (PROMPTS, SAMPLING),
    ),
    "first_ratio_is_one": (
        "logprobs",
        lambda self, rows, reference=False: shifted(type(self).logprobs(self, rows, reference), 1e-15),
        (PROMPTS, SAMPLING),
    ),
    "reward_raises_likelihood": (
        "update",
        lambda self, rows, objective, settings: type(self).update(
            self, rows, lambda i, lp: tuple(-part for part in objective(i, lp)), settings
        ),
        (PROMPTS, SAMPLING, StepSettings(lr=0.01)),
    ),
    "anchoring_moves_the_reference": ("anchor", lambda self: None, (PROMPTS, SAMPLING)),
    "teachers_start_at_the_reference": ("follow", lambda self, rate: None, (PROMPTS, SAMPLING)),
    "nothing_to_learn_moves_nothing": (
        "update",
        lambda self, rows, objective, settings: type(self).update(
            self, rows, lambda i, lp: (0.0, np.ones_like(lp)), settings
        ),
        (PROMPTS, SAMPLING),
    ),
    "value_ignores_order": (
        "update",
        lambda self, rows, objective, settings: type(self).update(self, rows[:1], objective, settings),
        (PROMPTS, SAMPLING, 1e-12),
    ),
}


@pytest.mark.parametrize("check", FAULTS)
def test_contract_catches(check: str, open_backend) -> None:
    method, body, arguments = FAULTS[check]
    policy = open_backend("tabular")
    setattr(policy, method, MethodType(body, policy))
    with pytest.raises(BackendFault):
        getattr(contract, check)(policy, *arguments)


def test_contract_catches_sampling_that_depends_on_company(open_backend) -> None:
    policy = open_backend("tabular")
    whole = policy.sample

    def biased(requests, sampling):
        return whole(requests[:1] * len(requests), sampling)

    policy.sample = biased
    with pytest.raises(BackendFault, match="in another order"):
        contract.completions_depend_on_prompt_and_seed(policy, PROMPTS, SAMPLING)


@pytest.mark.parametrize(("part", "found"), [(0, "fingerprint"), (1, "reference"), (3, "optimiser")])
def test_contract_catches_a_load_that_loses_state(part: int, found: str, open_backend, tmp_path: Path) -> None:
    other = open_backend("tabular")
    whole = other.load

    def forgetful(folder: Path) -> None:
        stack = np.frombuffer((folder / "tabular.f64").read_bytes()).reshape(4, -1).copy()
        stack[part] = 0.0
        (folder / "tabular.f64").write_bytes(stack.tobytes())
        whole(folder)

    other.load = forgetful
    with pytest.raises(BackendFault, match=found):
        contract.save_and_load(open_backend("tabular"), other, tmp_path, PROMPTS, SAMPLING)
