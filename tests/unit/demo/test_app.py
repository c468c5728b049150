"""The demo as a person uses it, in Chromium on nano: results, replay, a turn of chat, an episode; and as a Space."""

import gc
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.browsing import Opened, chromium

from askfirst import plan as plans
from askfirst.demo import space
from askfirst.store import read_json
from askfirst.variants import open_policy

gr = pytest.importorskip("gradio", reason="needs the extra demo")
pytest.importorskip("torch", reason="needs the extra hf")
pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]
EVIL = "<img src=x onerror='window.hit = 1'>${window.hit = 2}{{window.hit}}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def run(recorded):
    """A finished run whose records are made up and whose model is nano, with an adapter."""
    made = recorded(says=EVIL, sets=('model.name="nano"', 'model.backend="hf"', "train.sampling.max_tokens=64"))
    policy = open_policy(plans.validate(read_json(made.lock)["plan"], "lock"), 0)
    for folder in made.having("metrics.jsonl"):
        policy.save(folder.checkpoint(6))
    return made


@pytest.fixture
def address(run) -> Iterator[str]:
    from askfirst.demo.app import launch

    app = launch(run.root, wait=False)
    yield app.local_url
    app.close()
    gc.collect()  # what the server leaves open is closed while its warnings are not errors


def show(page: Any, tab: str) -> None:
    """Open a tab, which a narrow screen has in a menu."""
    found = page.get_by_role("tab", name=tab)
    if not found.is_visible():
        page.locator(".overflow-menu > button").click()
        found = page.locator(".overflow-dropdown").get_by_text(tab)
    found.click()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_look_replay_chat_and_play(browser, address, scheme, width):
    opened = Opened(browser, address, width=width, scheme=scheme)
    page = opened.page
    page.get_by_text("INCONCLUSIVE").wait_for()
    barriers = opened.barriers()
    show(page, "Replay")
    page.get_by_text("sampled tokens, darker").wait_for()
    first = page.get_by_label("Rollout").input_value()
    page.get_by_role("button", name="Next").click()
    page.wait_for_function("was => [...document.querySelectorAll('input')].every(i => i.value !== was)", arg=first)
    assert EVIL in page.locator(".af .turn.assistant").first.inner_text()
    barriers += opened.barriers()
    show(page, "Live chat")
    page.get_by_role("button", name="Draw this task").first.click()
    page.wait_for_function("[...document.querySelectorAll('textarea')].some(t => t.value.includes('user said'))")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_function("document.body.innerText.match(/nats a token/g)?.length === 2")
    said = page.inner_text("body")
    assert len(re.findall(r"score -?\d\.\d\d = ", said)) == 2  # what the reward says of each
    assert "shaped@" in said
    barriers += opened.barriers()
    show(page, "Environment")
    page.get_by_role("button", name="Play an honest episode").click()
    page.get_by_text("score 1.00 = ").last.wait_for()
    barriers += opened.barriers()
    assert barriers == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.hit") is None
    assert opened.wrong == []
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []


def test_programs_draw_a_task_and_are_judged(address):
    client = pytest.importorskip("gradio_client").Client(address, verbose=False)
    task = client.predict("dev", 0, api_name="/task")
    assert "user said" in task["request"]
    verdict = client.predict("dev", 0, ["no JSON"], api_name="/play")
    assert (verdict["passed"], verdict["failures"][0]) == (False, "unparsable")
    for split, number, replies in (("sealed", 0, ["x"]), ("dev", -1, ["x"]), ("dev", 0, [])):
        with pytest.raises(Exception, match=r"not served|whole number|at least one reply"):
            client.predict(split, number, replies, api_name="/play")
    client.close()


def test_a_space_starts_by_itself(run, tmp_path):
    (run.root / "link").symlink_to("/etc/hostname")
    files = [path.relative_to(tmp_path / "space").as_posix() for path in space.write(run.root, tmp_path / "space")]
    assert {"app.py", "requirements.txt", "README.md", "run/verdict.json", "run/plan.lock.json"} <= set(files)
    assert [name for name in files if name.endswith("adapter_model.safetensors")] == [
        "run/anchored/seed-0/checkpoints/step-00006/adapter_model.safetensors"
    ]
    assert "run/link" not in files
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    places = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": places, "GRADIO_SERVER_PORT": str(port), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, str(tmp_path / "space" / "app.py")]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == f"demo      http://127.0.0.1:{port}/\n"
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"http://127.0.0.1:{port}/config", timeout=60) as answer:
                assert "Live chat" in answer.read().decode()
        finally:
            process.terminate()
