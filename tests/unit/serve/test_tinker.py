"""The Tinker server under the official SDK, and the backend that trains over it."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askfirst import plan as plans
from askfirst import plugins
from askfirst.batches import draw_scenarios
from askfirst.contracts import backends as contract
from askfirst.errors import BackendFault, InputError
from askfirst.policy import ModelSpec, Policy, SampleRequest, Sampling, StepSettings
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.steps import Method, learn
from askfirst.values import Message

if find_spec("torch") is None or find_spec("tinker") is None:
    pytest.skip("needs the extras hf and tinker", allow_module_level=True)
pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("default")]

SPEC, SAMPLING = ModelSpec("nano", lora_rank=4), Sampling(max_tokens=8)
PROMPTS = [
    (Message("system", "be brief"), Message("user", "user said: send the draft")),
    (Message("user", "user said: remind me to call naïve José tomorrow"),),
]
TEXT = list(range(40, 60))
Serve = Callable[[Path], Any]


class Sdk:
    """The SDK, imported when a test first uses it: that takes seconds."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("tinker"), name)


tinker = Sdk()


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """A function that runs a service over nano in threads of this process, where the environment then points."""
    import uvicorn

    from askfirst.serve.listening import listen
    from askfirst.serve.tinker import app, opening
    from askfirst.serve.tinker.held import Limits

    environment, running = pytest.MonkeyPatch(), list[tuple[Any, threading.Thread]]()

    def start(folder: Path) -> Any:
        service = opening.service("nano", ["an/alias"], folder, Limits())
        listening = listen("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app.application(service), log_level="error"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        running.append((server, thread))
        environment.setenv("TINKER_BASE_URL", f"http://127.0.0.1:{listening.getsockname()[1]}")
        return service

    environment.setenv("TINKER_API_KEY", "tml-local")
    environment.setenv("TINKER_TELEMETRY", "0")
    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join()
    environment.undo()


@pytest.fixture(scope="module")
def service(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return serve(tmp_path_factory.mktemp("tinker"))


def datum(**inputs: Any) -> Any:
    return tinker.types.Datum(
        model_input=tinker.types.ModelInput.from_ints(TEXT[:-1]),
        loss_fn_inputs={"target_tokens": TEXT[1:], **inputs},
    )


def trainer(client: Any, seed: int, rank: int = 4) -> Any:
    return client.create_lora_training_client(base_model="nano", rank=rank, seed=seed).result()


def step(client: Any, lr: float = 1e-2) -> tuple[float, float]:
    """Loss and gradient norm of a step of cross-entropy on TEXT."""
    passed = client.forward_backward([datum(weights=[1.0] * 19)], "cross_entropy")
    stepped = client.optim_step(tinker.types.AdamParams(learning_rate=lr))
    return passed.result().metrics["loss:sum"], stepped.result().metrics["unclipped_grad_l2:mean"]


def scores(client: Any) -> np.ndarray:
    output = client.forward([datum(weights=[1.0] * 19)], "cross_entropy").result()
    return output.loss_fn_outputs[0]["logprobs"].to_numpy()


def opened(backend: str, spec: ModelSpec = SPEC) -> Policy:
    return plugins.load("backends", backend).open_policy(spec, 0)


def test_the_backend_keeps_the_contract(service: Any, tmp_path: Path) -> None:
    policy = opened("tinker")
    assert isinstance(policy, Policy)
    contract.replies_round_trip(policy, ["which draft do you mean?"])
    contract.completions_depend_on_prompt_and_seed(policy, PROMPTS, SAMPLING)
    contract.dialogues_go_on(policy, PROMPTS, SAMPLING)
    contract.sampled_logprobs_recomputed(policy, PROMPTS, SAMPLING)
    contract.starts_at_the_reference(policy, PROMPTS, SAMPLING)
    contract.first_ratio_is_one(policy, PROMPTS, SAMPLING)
    contract.nothing_to_learn_moves_nothing(opened("tinker"), PROMPTS, SAMPLING)
    contract.reward_raises_likelihood(opened("tinker"), PROMPTS, SAMPLING, StepSettings(lr=0.01))
    contract.anchoring_moves_the_reference(policy, PROMPTS, SAMPLING)
    contract.value_ignores_order(policy, PROMPTS, SAMPLING, 1e-3)
    contract.save_and_load(policy, opened("tinker"), tmp_path, PROMPTS, SAMPLING, exact=False)
    names = {"adapter_config.json", "adapter_model.safetensors", "tinker.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    (tmp_path / "tinker.json").write_text('{"version": 1}')
    with pytest.raises(InputError, match="not a checkpoint of nano"):
        policy.load(tmp_path)


def test_steps_are_those_of_the_backend_in_this_process(service: Any) -> None:
    ours, theirs = opened("tinker"), opened("hf")
    requests = [SampleRequest(ours.encode(prompt), (1, 2)) for prompt in PROMPTS]
    assert [r.prompt_ids for r in requests] == [theirs.encode(prompt) for prompt in PROMPTS]
    for mine, other in zip(ours.sample(requests, SAMPLING), theirs.sample(requests, SAMPLING), strict=True):
        for a, b in zip(mine, other, strict=True):
            assert (a.token_ids, a.stop) == (b.token_ids, b.stop)
            np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-5)
    rows = contract.sampled_rows(theirs, PROMPTS, SAMPLING)

    def objective(index: int, logprobs: np.ndarray) -> tuple[float, np.ndarray]:
        slope = np.where(rows[index].mask, -rows[index].advantages * np.exp(logprobs), 0.0)
        return float(slope.sum()), slope

    for settings in (StepSettings(1e-3, 0.5), StepSettings(1e-3, 1.0, 0.1)):
        a, b = (policy.update(rows, objective, settings) for policy in (ours, theirs))
        assert a.value == pytest.approx(b.value, abs=1e-4)
        assert a.grad_norm == pytest.approx(b.grad_norm, rel=1e-3)
        for x, y in zip(a.logprobs, b.logprobs, strict=True):
            np.testing.assert_allclose(x, y, atol=2e-3)


def test_a_plan_trains_with_the_same_numbers(service: Any) -> None:
    file = Path(__file__).parents[3] / "examples" / "quickstart.toml"
    found = []
    for backend in ("hf", "tinker"):
        plan = plans.load(file)
        train = plan.train.model_copy(update={"group_size": 3, "sampling": plan.train.sampling.model_copy(
            update={"max_tokens": 32})})  # fmt: skip
        env = plugins.load("envs", plan.env.name)
        stage = Stage(env, env.system_prompt(plan.env.system_prompt), Sampling(32))
        policy, method = opened(backend, ModelSpec("nano", 16)), Method.of(train)
        scorer, lines = Scorer.named(plan.reward.name, plan.reward.params), []
        for number in range(2):
            scenarios = draw_scenarios(env, plan, 0, number)[:4]
            batch = rollouts(stage, policy, scorer, scenarios, Draw(0, number, 3))
            learning = learn(policy, batch, method, 1e-3).learning
            rewards = [r.score.total for g in batch.groups for r in g.rollouts]
            lines.append([*rewards, learning.loss, learning.grad_norm, learning.kl_nats, learning.sampler_gap_nats])
        found.append(lines)
    assert any(line[-3] > 0 for line in found[0])
    for ours, theirs in zip(*found, strict=True):
        assert ours == pytest.approx(theirs, rel=5e-3, abs=1e-4)


def test_models_of_sessions_are_apart_and_ranks_may_differ(service: Any) -> None:
    one, two = tinker.ServiceClient(), tinker.ServiceClient()
    alone = trainer(one, 1)
    expected = [step(alone), step(alone)]
    ours, other = trainer(one, 1), trainer(two, 2, rank=8)
    before = scores(other)
    first = step(ours)
    assert np.array_equal(before, scores(other))  # to the bit
    step(other, lr=0.1)
    assert [first, step(ours)] == expected
    assert np.array_equal(scores(ours), scores(alone))
    assert two.holder.get_session_id() != one.holder.get_session_id()
    service.finish(two.holder.get_session_id())
    with pytest.raises(tinker.NotFoundError, match="has ended"):
        step(other)
    step(ours)


def test_a_saved_state_goes_on_at_another_run_of_the_server(serve: Serve, tmp_path: Path) -> None:
    first = serve(tmp_path)
    client = trainer(tinker.ServiceClient(), 1)
    step(client)
    path = client.save_state("one").result().path
    with pytest.raises(tinker.RequestFailedError, match="exists"):
        client.save_state("one").result()
    expected = [step(client), step(client)]
    first.work.close()
    serve(tmp_path)
    service = tinker.ServiceClient()
    again = service.create_training_client_from_state_with_optimizer(path).result()
    assert again.get_info().lora_rank == 4
    assert [step(again), step(again)] == expected
    afresh = service.create_training_client_from_state(path).result()
    assert step(afresh)[0] == expected[0][0]
    assert step(afresh)[0] != expected[1][0]  # its optimiser began anew


def test_losses_and_custom_ones_are_what_the_sdk_expects(service: Any) -> None:
    import torch

    client = trainer(tinker.ServiceClient(), 1)
    step(client)
    lp = scores(client)
    q, a = (lp - 0.3).tolist(), np.linspace(-1, 2, 19).tolist()
    ratio = np.exp(0.3) * np.array(a)
    for name, value in {
        "importance_sampling": -ratio.sum(),
        "ppo": -np.minimum(ratio, 1.2 * np.array(a)).sum(),
        "cispo": -(ratio * lp).sum(),
    }.items():
        loss = client.forward([datum(logprobs=q, advantages=a)], name).result().metrics["loss:sum"]
        assert loss == pytest.approx(value, rel=1e-4)

    def custom(data: Any, logprobs: Any) -> tuple[Any, dict[str, float]]:
        return -sum(each.sum() for each in logprobs), {"seen:sum": float(len(data))}

    still = tinker.types.AdamParams(learning_rate=0.0)
    norms = []
    for start in (
        lambda: client.forward_backward([datum()], "cross_entropy"),
        lambda: client.forward_backward_custom([datum()], custom),
        lambda: client.forward_backward([datum(weights=[0.5] * 19)] * 2, "cross_entropy"),
    ):
        assert start().result().metrics["loss:sum"] == pytest.approx(-lp.sum(), rel=1e-4)
        norms.append(client.optim_step(still).result().metrics["unclipped_grad_l2:mean"])
    assert norms == pytest.approx([norms[0]] * 3, rel=1e-4)
    targets = torch.tensor([[t, 7, 9] for t in TEXT[1:]])
    weights = torch.zeros(19, 3)
    weights[:, 0] = 1.0
    wide = tinker.types.Datum(
        model_input=tinker.types.ModelInput.from_ints(TEXT[:-1]),
        loss_fn_inputs={"target_tokens": targets, "weights": weights},  # the SDK sends these weights sparse
    )
    output = client.forward([wide, datum()], "cross_entropy").result()
    assert [o["logprobs"].to_numpy().shape for o in output.loss_fn_outputs] == [(19, 3), (19,)]
    np.testing.assert_allclose(output.loss_fn_outputs[0]["logprobs"].to_numpy()[:, 0], lp, atol=1e-5)
    assert output.metrics["loss:sum"] == pytest.approx(-2 * lp.sum(), rel=1e-4)


def test_sampling_clients_sample_what_was_asked_for(service: Any) -> None:
    client = trainer(tinker.ServiceClient(), 1)
    step(client)
    sampler = client.save_weights_and_get_sampling_client().result()
    step(client, lr=0.1)  # the snapshot stays
    prompt, of = tinker.types.ModelInput.from_ints(TEXT), tinker.types.SamplingParams
    first = sampler.sample(prompt, 3, of(max_tokens=6, seed=5)).result()
    again = sampler.sample(prompt, 3, of(max_tokens=6, seed=5)).result()
    assert [s.tokens for s in first.sequences] == [s.tokens for s in again.sequences]
    assert len({tuple(s.tokens) for s in first.sequences}) > 1
    top = sampler.sample(
        prompt, 1, of(max_tokens=6, temperature=0.0, stop=[]), include_prompt_logprobs=True, topk_prompt_logprobs=2,
        topk_sample_logprobs=2, target_prompt_logprobs=tinker.types.TensorData(
            data=[-1, *TEXT[2:]], dtype="int64", shape=[19, 1]),
    ).result()  # fmt: skip
    (greedy,) = top.sequences
    assert len(greedy.tokens) == 6
    assert greedy.tokens == [pairs[0][0] for pairs in greedy.topk_logprobs]
    np.testing.assert_allclose(greedy.logprobs, [pairs[0][1] for pairs in greedy.topk_logprobs], atol=1e-4)
    assert top.prompt_logprobs[0] is None
    assert top.topk_prompt_logprobs[0] is None
    named = top.target_prompt_logprobs.to_numpy()[:, 0]
    np.testing.assert_allclose(named, [0.0, *top.prompt_logprobs[2:]], atol=1e-5)
    tail = sampler.compute_logprobs(prompt, prompt_logprobs_last_n=2).result()
    assert tail[:-2] == [None] * 18
    np.testing.assert_allclose(tail[-2:], top.prompt_logprobs[-2:], atol=1e-5)
    tokenizer = client.get_tokenizer()
    text = tokenizer.decode(greedy.tokens[:3])
    (cut,) = sampler.sample(prompt, 1, of(max_tokens=6, temperature=0.0, stop=text)).result().sequences
    assert (cut.tokens, cut.stop_reason) == (greedy.tokens[:3], "stop")


BAD: list[tuple[str, bytes, int]] = [
    ("create_session", b"{", 400),
    ("create_session", b"[]", 400),
    ("session_heartbeat", b'{"session_id": "session-999"}', 410),
    ("forward_backward", b"\xff\xff\xff", 400),
    ("forward_backward", b"", 404),
    ("optim_step", b'{"model_id": "../x", "adam_params": {}}', 404),
    ("retrieve_future", b'{"request_id": "nobody"}', 404),
    ("weights_info", b'{"tinker_path": "tinker://a/weights/../../b"}', 400),
    ("create_custom_loss", b"{}", 400),
    ("telemetry", b"[" * 100_000, 400),
]


def test_bad_requests_are_refused_in_words_and_end_nothing(service: Any) -> None:
    base = os.environ["TINKER_BASE_URL"]
    for path, body, status in BAD:
        request = urllib.request.Request(f"{base}/api/v1/{path}", body, {"X-API-Key": "tml-local"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        assert (path, caught.value.code) == (path, status)
        assert json.loads(caught.value.read())["detail"]
    with pytest.raises(urllib.error.HTTPError, match="401"):  # a page in a browser sends no such header
        urllib.request.urlopen(urllib.request.Request(f"{base}/api/v1/telemetry", b"{}"))
    client = trainer(tinker.ServiceClient(), 1)
    for ask, said in (
        (lambda: client.forward([datum()], "stable_reinforce"), "not offered"),
        (lambda: client.forward([datum(weights=[1.0])], "cross_entropy"), "weights has shape"),
        (lambda: client.forward([datum(weights=[float("nan")] * 19)], "cross_entropy"), "must be finite"),
        (lambda: client.optim_step(tinker.types.AdamParams(learning_rate=-1.0)), "not negative"),
        (lambda: client.save_state("../up"), "no name"),
    ):
        with pytest.raises(tinker.RequestFailedError, match=said):
            ask().result()
    assert service.work.alive
    step(client)


def test_silent_sessions_end_and_numbers_may_come_in_any_order(service: Any) -> None:
    from askfirst.serve.tinker import shelf
    from askfirst.serve.tinker.held import Gone, Limits
    from askfirst.serve.tinker.service import Service

    now = [0.0]
    own = Service(service.engine, service.served, shelf.Shelf(service.shelf.root / "own"), Limits(), lambda: now[0])
    of = tinker.types
    session = own.create_session(of.CreateSessionRequest(tags=[], user_metadata=None, sdk_version="0")).session_id
    lora = of.LoraConfig(rank=2, seed=1)
    made = own.create_model(
        of.CreateModelRequest(session_id=session, model_seq_id=0, base_model="nano", lora_config=lora)
    )

    def stepping(number: int) -> Any:
        request = of.OptimStepRequest(optim_params=of.AdamParams(), model_id=made.model_id, seq_id=number)
        return own.work.future(own.optim_step(request).request_id)

    second, first = stepping(2), stepping(1)
    assert stepping(2) is second  # asked for again, done once
    assert b"unclipped_grad_l2" in second.result(60).body
    assert first.done()
    now[0] = 599.0
    own.heartbeat(session)
    now[0] = 1198.0
    own.end_idle()
    own.heartbeat(session)
    now[0] = 1799.0
    own.end_idle()
    with pytest.raises(Gone, match="has ended"):
        own.heartbeat(session)
    assert own.work.future(made.request_id) is None
    own.work.close()


def test_the_backend_says_where_no_service_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        monkeypatch.setenv("TINKER_BASE_URL", f"http://127.0.0.1:{probe.getsockname()[1]}")
        with pytest.raises(InputError, match="no Tinker service answers"):
            opened("tinker")
    with pytest.raises(InputError, match="alpha 32"):
        opened("tinker", ModelSpec("nano", 4, 16.0))


def test_the_verb_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "askfirst", "serve", "tinker", "--port", "0", "--folder", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        said = server.stdout.readline()
        assert said.startswith("nano, ")
        assert server.stdout.readline().startswith("export TINKER_BASE_URL=http://127.0.0.1:")
        busy = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (busy.returncode, "another process is at work" in busy.stderr) == (2, True)
        time.sleep(0.2)
        server.send_signal(signal.SIGTERM)
        assert "Traceback" not in server.stdout.read()


def test_a_policy_whose_service_is_gone_says_so(serve: Serve, tmp_path: Path) -> None:
    own = serve(tmp_path)
    policy = opened("tinker")
    own.finish(next(iter(own._sessions)))
    with pytest.raises(BackendFault, match="has ended"):
        policy.logprobs(contract.sampled_rows(opened("hf"), PROMPTS, SAMPLING))
