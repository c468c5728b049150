"""The OpenEnv server: as `askfirst serve` starts it, and in this process where a test needs its inside."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askfirst.clarify.problem import hidden_of
from askfirst.clarify.user import understood
from askfirst.desk import Desk
from askfirst.errors import Fault, InputError
from askfirst.exports import mlx, openenv_package, trl

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("default")]
DESK = Desk.named()
INFO = '{"name": "get_task_info", "arguments": {}}'


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server in a process of its own, as a person starts it."""
    pytest.importorskip("openenv", reason="needs the extra serve")
    number = free_port()
    command = [sys.executable, "-m", "askfirst", "serve", "env", "clarify", "--port", str(number), "--sessions", "65"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        while not answers(number):
            assert server.poll() is None, server.stdout.read()
            time.sleep(0.1)
        yield number
        server.terminate()
        said = server.stdout.read().decode()
    assert said.startswith(f"clarify with reward utility at http://127.0.0.1:{number}")
    assert "Traceback" not in said


class Client:
    """One connection; keeps what the server said, word for word."""

    def __init__(self, port: int) -> None:
        from websockets.sync.client import connect

        self.opening, self.heard = connect(f"ws://127.0.0.1:{port}/ws", proxy=None, open_timeout=100), ""

    def __enter__(self) -> Client:
        self.socket = self.opening.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.opening.__exit__(*error)

    def send(self, kind: str, **data: Any) -> dict[str, Any]:
        self.socket.send(json.dumps({"type": kind, "data": data} if data or kind == "reset" else {"type": kind}))
        self.heard = self.socket.recv(timeout=100)
        return json.loads(self.heard)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.send("step", type="call_tool", tool_name=tool, arguments=arguments)

    def say(self, text: str) -> dict[str, Any]:
        """A reply as a native call where it is one, else as text."""
        with contextlib.suppress(ValueError):
            call = json.loads(text)
            if isinstance(call, dict) and set(call) == {"name", "arguments"} and isinstance(call["arguments"], dict):
                return self.call(call["name"], **call["arguments"])
        return self.call("reply", text=text)


def post(port: int, **body: Any) -> dict[str, Any]:
    """A JSON-RPC request to /mcp."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 1, **body}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=100) as response:
        return json.loads(response.read())


def test_sixty_four_sessions_at_once_are_as_plain_python(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from askfirst.serve import load

    url = f"ws://127.0.0.1:{port}/ws"
    report = load.drive(url, DESK, load.Load(192, 64, "dev"))
    assert report.episodes == 192
    assert report.messages > 3 * 192
    # The comparison notices a single other word, and another score.
    monkeypatch.setattr(DESK.env, "NATIVE_INSTRUCTIONS", DESK.env.NATIVE_INSTRUCTIONS + ".")
    with pytest.raises(Fault, match="expected"):
        load.drive(url, DESK, load.Load(2, 1))
    monkeypatch.undo()
    monkeypatch.setattr(load, "verdict_on", lambda scenario, score: {})
    with pytest.raises(Fault, match="expected"):
        load.drive(url, DESK, load.Load(2, 1))


def recorded() -> list[tuple[int, tuple[str, ...]]]:
    """Seed of the task and what was said: every habit, broken calls, and calls after the end."""
    said: list[tuple[int, tuple[str, ...]]] = []
    for seed, policy in enumerate((*DESK.env.habits().values(),) * 2):
        texts = policy(DESK.task("train", seed))
        said.append((seed, (texts,) if isinstance(texts, str) else tuple(texts)))
    optimal = DESK.env.optimal(DESK.task("train", 0))
    broken = ('{"name": "ask_question"}', "no call", '{"name":"fly","arguments":{}}', f"{INFO} {INFO}", '{"a": NaN}')
    return [*said, *((0, (INFO, text)) for text in broken), (0, (*optimal, INFO)), (1, (INFO,) * 13)]


def test_one_set_of_episodes_earns_the_same_through_every_door(port: int) -> None:
    reward, grade, seen = trl.reward_function("utility"), mlx.grader("utility", "clarify"), set()
    for seed, texts in recorded():
        scenario = DESK.task("train", seed)
        plain = DESK.score(scenario, texts).total
        row = {"split": ["train"], "seed": [seed], "scenario_id": [scenario.id]}
        messages = [{"role": "assistant", "content": text} for text in texts]
        answer = mlx.row(DESK.env, scenario, ())["answer"] if len(texts) == 1 else packed(scenario, texts[:-1])
        assert reward(completions=[messages], **row) == [plain]
        assert grade([texts[-1]], [answer]) == [plain]
        with Client(port) as client:
            client.send("reset", seed=seed)
            done, total = False, 0.0
            for text in texts:
                if not done:
                    found = client.say(text)["data"]
                    done, total = found["done"], total + found["reward"]
        assert not done or total == plain
        seen.add((done, total > 0.5))
    assert seen == {(True, True), (True, False), (False, False)}


def packed(scenario: Any, said: tuple[str, ...]) -> str:
    from askfirst.store import canonical

    return canonical({"scenario": scenario, "said": list(said)})


def test_what_is_hidden_is_in_no_message_before_the_end(port: int) -> None:
    scanned = 0
    with Client(port) as client:
        for seed in range(120):
            scenario = DESK.task("dev", seed)
            hidden, opening = hidden_of(scenario), scenario.opening[0].content
            known = {key.name for key in hidden.problem.keys if key.known is not None}
            secret = {words for name, words in hidden.words.items() if name not in known and words not in opening}
            question = DESK.env.optimal(scenario)[0] if scenario.ambiguous else INFO
            client.send("reset", seed=seed, split="dev")
            heard = client.heard
            for text in (INFO, '{"name":"ask_question","arguments":{"question":"How is the weather?"}}'):
                assert not client.say(text)["data"]["done"]
                heard += client.heard
            client.send("state")
            client.send("step", type="fly")
            heard += client.heard
            assert not [words for words in (*secret, scenario.id, "truth", "chances", "forgets") if words in heard]
            scanned += len(secret)
            if question != INFO:  # asked about one thing, the user tells that and nothing else
                client.say(question)
                about = understood(hidden.problem.family, json.loads(question)["arguments"]["question"])
                told = {hidden.words[name] for name in about}
                assert not [words for words in secret - told if words in client.heard]
            assert client.say('{"name":"propose_plan","arguments":{"plan":{}}}')["data"]["done"]
            assert scenario.id in client.heard
    assert scanned > 60
    for path in ("schema", "metadata", "openapi.json", "clarify/splits", "health"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=100) as response:
            body = response.read().decode()
        assert not [word for word in ("truth", "chances", "forgets", "optimum") if f'"{word}' in body]


def test_a_session_says_what_is_wrong_and_goes_on(port: int) -> None:
    with Client(port) as client:
        assert [t["name"] for t in client.send("step", type="list_tools")["data"]["observation"]["tools"]] == [
            tool.name for tool in DESK.env.TOOLS
        ]
        for data, words in (
            ({"type": "call_tool", "tool_name": "get_task_info"}, "reset first"),
            ({"type": "call_tool"}, "Invalid message"),
        ):
            assert words in client.send("step", **data)["data"]["message"]
        for options, words in (
            ({"split": "sealed"}, "not served"),
            ({"index": 10_000}, "outside"),
            ({"sed": 3}, "not sed"),
            ({"seed": 2**40}, "whole number"),
        ):
            assert words in client.send("reset", **options)["data"]["message"]
        first = client.send("reset", index=5, split="dev", episode_id="mine")
        assert first["data"]["observation"]["task"] == DESK.task("dev", 5).opening[0].content
        assert first["data"]["reward"] is None
        assert client.call("get_task_info")["data"]["reward"] == 0
        # A policy that calls the harness's tool breaks the protocol, as it does with any unknown tool.
        assert client.call("start_task")["data"]["observation"]["metadata"]["failures"][0] == "unparsable"
        assert client.send("state")["data"] == {"episode_id": "mine", "step_count": 2, "done": True}
        assert "reset starts another" in client.call("get_task_info")["data"]["message"]
        one, two = (client.send("reset") and client.send("state")["data"]["episode_id"] for _ in range(2))
        assert one != two


def test_mcp_alone_plays_an_episode_and_earns_its_reward(port: int) -> None:
    assert [t["name"] for t in post(port, method="tools/list")["result"]["tools"]] == [t.name for t in DESK.env.TOOLS]
    assert "reset first" in post(port, method="tools/call", params={"name": "get_task_info"})["error"]["message"]
    session = post(port, method="openenv/session/create")["result"]["session_id"]

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": name, "arguments": arguments, "session_id": session}
        return post(port, method="tools/call", params=params)["result"]

    scenario = DESK.task("train", 11)
    assert scenario.opening[0].content in call("start_task", seed=11)["result"]
    texts = DESK.env.optimal(scenario)
    results = [call(c["name"], **c["arguments"]) for c in map(json.loads, texts)]
    assert [r["reward"] for r in results] == [*[0.0] * (len(texts) - 1), DESK.score(scenario, texts).total]
    assert [r["done"] for r in results] == [False] * (len(texts) - 1) + [True]
    assert "start_task" not in str(post(port, method="tools/list")["result"])
    assert call("start_task", seed=12)["done"] is False
    closing = {"session_id": session}
    assert post(port, method="openenv/session/close", params=closing)["result"]["closed"] is True


@contextlib.contextmanager
def within(sessions: int, idle_seconds: float) -> Iterator[int]:
    """A server in a thread of this process."""
    import uvicorn

    from askfirst.serve.app import Limits, application
    from askfirst.serve.listening import listen

    number = free_port()
    app = application(DESK, Limits(sessions, idle_seconds))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, args=([listen("127.0.0.1", number)],))
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield number
    finally:
        server.should_exit = True
        thread.join()


def test_openenv_finds_folder_and_server_valid_and_sessions_end(tmp_path: Path) -> None:
    pytest.importorskip("openenv", reason="needs the extra serve")
    from openenv.cli._validation import validate_running_environment
    from openenv.core.mcp_client import MCPToolClient
    from openenv.validation.graders import Subject, runtime
    from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
    from openenv.validation.runner import run_validation
    from openenv.validation.runtime.collector import collect_runtime_evidence
    from openenv.validation.runtime.contracts import load_runtime_plan

    from askfirst.serve.listening import listen

    openenv_package.write(tmp_path / "package", DESK)
    report = run_validation(tmp_path / "package", skip_build=True)
    states = {result.check_id: result.status.value for result in report.results}
    assert states.pop("static.manifest") == "pass"
    assert set(states.values()) == {"skip"}  # what needs an image; three of them run below on a server without one
    assert report.verdict.value != "fail"
    manifest = OpenEnvYamlParser().parse(tmp_path / "package")
    assert manifest.capabilities.declared_tools == [tool.name for tool in DESK.env.TOOLS]
    assert tuple(manifest.reward.range) == DESK.scorer.module.BOUNDS
    with within(sessions=2, idle_seconds=1.0) as number:
        with pytest.raises(InputError, match=f"127.0.0.1:{number}: cannot listen"):
            listen("127.0.0.1", number)
        url = f"http://127.0.0.1:{number}"
        assert validate_running_environment(url, timeout_s=60)["passed"]
        plan = load_runtime_plan(tmp_path / "package", manifest.execution)
        evidence = collect_runtime_evidence(url, plan, episode_timeout_s=100)
        assert evidence.failure_reason is None
        assert json.loads(evidence.exchanges[-2].response_json)["data"]["reward"] == pytest.approx(1.0)
        subject = Subject(tmp_path / "package", manifest, None, None, tmp_path, runtime_evidence=evidence)
        for grader in (runtime.RewardWellFormedGrader, runtime.ObservationSchemaGrader, runtime.StateContractGrader):
            result = grader().run(subject)
            assert result.status.value == "pass", result
        with MCPToolClient(base_url=url).sync() as client:
            assert client.reset(seed=3).observation.task == DESK.task("train", 3).opening[0].content
            assert client.call_tool("get_task_info")["reward"] == 0
            assert client.state().step_count == 1
        with Client(number) as idle, Client(number) as other:
            assert idle.send("reset")["type"] == other.send("reset")["type"] == "observation"
            with Client(number) as third:
                assert json.loads(third.socket.recv())["data"]["code"] == "CAPACITY_REACHED"
            deadline = time.monotonic() + 60
            while idle.send("reset")["type"] != "error" and time.monotonic() < deadline:
                time.sleep(6)  # the server looks every 5 seconds
            for said in (idle.send("reset"), idle.call("get_task_info")):
                assert "idle for too long" in said["data"]["message"]
            with Client(number) as late:
                assert late.send("reset")["type"] == "observation"
