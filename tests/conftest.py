"""Settings that hold for every test."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import hypothesis
import pytest

# The suite runs one worker a core; a thread pool in each would only make them wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples in every run: a red test is red again, and nothing is written beside the tree.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, database=None, max_examples=100)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """The one mark of the suite."""
    config.addinivalue_line("markers", "thorough: takes seconds to minutes; runs with --thorough, as .ci/run does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest first, so that two workers end at the same time; thorough tests when asked for."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)
    if not config.getoption("--thorough"):
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="runs with --thorough, as .ci/run does"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """What makes the suite longer."""
    parser.addoption("--kills", type=int, default=4, help="kills of a tabular run; of nano a fifth, from 50 on")
    parser.addoption("--thorough", action="store_true", help="also the tests that are marked so")


class ChatServer(ThreadingHTTPServer):
    """An OpenAI-compatible server on this machine: `speak(body)` gives a text or the fields of a choice.

    `faults` are what happens to the next requests instead; "ok" is none. `seen` are the bodies of all requests that
    came, `keys` their Authorization headers; `most` is how many were open at once.
    """

    daemon_threads = True
    speak: Callable[[dict[str, Any]], Any] = staticmethod(lambda body: "ok")

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Chat)
        self.faults: list[str] = []
        self.seen: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.open = self.most = 0
        self.lock, self.release = threading.Lock(), threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is part of the tests."""


class _Chat(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.seen.append(body)
            server.keys.append(self.headers.get("Authorization"))
            server.open += 1
            server.most = max(server.most, server.open)
            fault = server.faults.pop(0) if server.faults else "ok"
        try:
            self._answer(body, fault)
        finally:
            with server.lock:
                server.open -= 1

    def _answer(self, body: dict[str, Any], fault: str) -> None:
        said = self.server.speak(body)
        choice = said if isinstance(said, dict) else {"message": {"content": said}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        whole = json.dumps({"choices": [choice], "usage": usage}).encode()
        if fault == "hang":
            self.server.release.wait(10)
        elif fault == "cut off":
            self._send(200, whole[: len(whole) // 2], len(whole))
        elif fault in ("not json", "no choices"):
            self._send(200, b"<html>" if fault == "not json" else b'{"choices": []}')
        elif fault.isdigit():
            self._send(int(fault), json.dumps({"error": f"no: {self.headers.get('Authorization')}"}).encode())
        elif fault != "closed":
            self._send(200, whole)

    def _send(self, status: int, body: bytes, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length or len(body)))
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the tests look at `seen`."""


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A server of chat completions with faults on demand."""
    server = ChatServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
    thread.join()
