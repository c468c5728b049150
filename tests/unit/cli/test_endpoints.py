"""`askfirst eval --endpoint`: whole or no score, gone on with after a stop, and what is said of answers."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from askfirst import plugins
from askfirst.cli import endpoints, evaluating, main
from askfirst.policy import ModelSpec, SampleRequest, Sampling
from askfirst.values import EvalRecord, ItemOutcome, Message, StopReason

pytest.importorskip("askfirst.backends.openai", reason="needs the extra endpoint")
ENV = plugins.load("envs", "judgment")
ITEMS = 12


def oracle(body) -> str:
    """The honest reply to a dev item; guesses where the request says so."""
    shown = body["messages"][-1]["content"]
    return REPLIES[shown]


def replies() -> dict[str, str]:
    ambiguous = ENV.scenarios("dev", ITEMS // 2, evaluating.DEV_SEED, {"ambiguous": 1.0})
    clear = ENV.scenarios("dev", ITEMS - ITEMS // 2, evaluating.DEV_SEED, ENV.EVALUATION_MIX)
    return {s.opening[-1].content: ENV.demonstrations(s)[0].reply for s in (*ambiguous, *clear)}


REPLIES = replies()


def command(server, folder: Path, *more: str) -> list[str]:
    sets = [f"items={ITEMS}", f"endpoint.out={folder}", "endpoint.tries=1", *more]
    where = ["--endpoint", server.url, "--model", "org/m", "--split", "dev"]
    return ["eval", *where, *(part for one in sets for part in ("--set", one))]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["askfirst", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


def test_a_suite_is_evaluated_and_recorded(chat_server, here, tmp_path: Path, monkeypatch) -> None:
    chat_server.speak = oracle
    monkeypatch.setenv("MY_KEY", "sk-secret-2")
    arguments = command(chat_server, tmp_path / "out", "endpoint.key_from=MY_KEY")
    code, out, _ = here(*arguments, "--json")
    (body,) = json.loads(out)
    assert (code, body["metrics"]["strict_pass"]["count"], len(body["items"])) == (0, ITEMS, ITEMS)
    assert body["usage"]["answers"] == body["usage"]["seconds"]["of"] == ITEMS
    assert body["usage"]["completion_tokens"] == {"of": ITEMS, "median": 3.0, "p95": 3.0, "total": 3.0 * ITEMS}
    assert chat_server.keys == ["Bearer sk-secret-2"] * ITEMS
    kept = "".join(p.read_text("utf-8", "replace") for p in (tmp_path / "out").iterdir())
    assert "sk-secret-2" not in kept + out
    with zipfile.ZipFile(tmp_path / "out" / "dev.eval") as log:
        header = json.loads(log.read("header.json"))
        samples = [json.loads(log.read(n)) for n in log.namelist() if n.startswith("samples/")]
    assert header["results"]["total_samples"] == ITEMS
    assert all(REPLIES[s["input"]] == s["messages"][1]["content"] for s in samples)


@pytest.mark.thorough
def test_what_was_answered_is_not_asked_again_and_an_old_score_does_not_stay(chat_server, here, tmp_path: Path) -> None:
    chat_server.speak = oracle
    assert here(*command(chat_server, tmp_path))[0] == 0
    chat_server.seen = []
    code, out, _ = here(*command(chat_server, tmp_path))
    assert (code, chat_server.seen) == (0, [])
    assert f"pass {ITEMS}/{ITEMS} = 100%" in out
    assert f"answers   {ITEMS}: median" in out
    chat_server.faults = ["500"] * 99
    assert here(*command(chat_server, tmp_path, "max_tokens=95"))[0] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["answers.jsonl"]


def test_a_dead_endpoint_is_no_score(chat_server, here, tmp_path: Path) -> None:
    chat_server.speak = oracle
    chat_server.faults = [*["ok"] * 4, *["500"] * 99]
    code, out, err = here(*command(chat_server, tmp_path, "endpoint.concurrency=1"))
    assert (code, out) == (3, "")
    assert "5 requests in a row were not answered, the last for HTTP 500" in err
    assert "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["answers.jsonl"]
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--set", "endpoint.key_from=NO_SUCH_KEY_HERE"), "endpoint.key_from=NO_SUCH_KEY_HERE"),
        (("--set", "endpoint.tries=0"), "endpoint.tries"),
        (("--checkpoint", "somewhere"), "one --checkpoint or one --endpoint"),
    ],
)
def test_input_that_is_wrong_starts_nothing(more, said: str, chat_server, here, tmp_path: Path) -> None:
    code, _, err = here(*command(chat_server, tmp_path / "out"), *more)
    assert (code, said in err, chat_server.seen) == (2, True, [])


@pytest.mark.thorough
def test_thinking_that_never_ends_is_an_outcome_of_its_own(chat_server, here, tmp_path: Path) -> None:
    chat_server.speak = lambda body: (
        {"message": {"content": "<think>well"}, "finish_reason": "length"}
        if len(chat_server.seen) < 3
        else oracle(body)
    )
    arguments = command(chat_server, tmp_path, "endpoint.thinking_tokens=50", "endpoint.concurrency=1")
    _, out, _ = here(*arguments, "--json")
    (body,) = json.loads(out)
    assert body["failures"] == {"thinking_exhausted": 2}
    assert body["usage"]["thinking_exhausted"] == 2
    assert body["metrics"]["strict_pass"]["count"] == ITEMS - 2
    assert {seen["max_tokens"] for seen in chat_server.seen} == {96 + 50}


@pytest.mark.thorough
def test_trials_have_bounds_and_failures_have_patterns(chat_server, here, tmp_path: Path) -> None:
    lost = list(REPLIES)[:2]
    chat_server.speak = lambda body: (
        "no" if body["messages"][-1]["content"] in lost and body["seed"] % 2 else oracle(body)
    )
    _, out, _ = here(*command(chat_server, tmp_path, "trials=3"), "--json")
    (body,) = json.loads(out)
    failed = sum(not item["passed"] for item in body["items"])
    assert 0 < failed <= 6  # of two items with three trials each, by seed
    assert body["passes"]["1"]["estimate"] == pytest.approx(1 - failed / (3 * ITEMS))
    assert body["passes"]["3"]["lower"] < body["passes"]["3"]["estimate"] < 1
    ((pattern),) = body["patterns"]
    assert (pattern["items"], set(pattern["examples"])) == (
        failed,
        {i["scenario_id"] for i in body["items"] if not i["passed"]},
    )


def test_the_line_of_progress_says_how_long_it_takes() -> None:
    progress = endpoints.Progress("dev", 40, quiet=True, single=True)
    assert progress.line(1.0) == "dev   0%  0 answers, 0.0/s"
    for _ in range(10):
        progress.answered(1)
    assert progress.line(20.0) == "dev  25%  10 answers, 0.5/s, about 60 s left"
    progress.items(20, 40)
    assert progress.line(300.0) == "dev  50%  10 answers, 0.0/s, about 5 min left"


def test_usage_of_servers_that_count_nothing() -> None:
    with pytest.raises(ValueError, match="no answer"):
        endpoints.usage_of([])
    openai = plugins.load("backends", "openai")
    heard = [openai.Answer(1, "r", "t", "", openai.StopReason.END, None, None, None, 2, s) for s in (1.0, 3.0)]
    usage = endpoints.usage_of(heard)
    assert (usage["completion_tokens"], usage["seconds"]["median"], usage["tried_again"]) == (None, 2.0, 2)
    assert endpoints.usage_lines(usage)[1] == "tokens    the server counts none"


def test_patterns_group_what_fails_alike() -> None:
    item = ItemOutcome("a", "f", "ambiguous", False, False, False, 0.0, ("late", "bad"), "")
    again = [
        ItemOutcome(n, "f", "ambiguous", n == "d", False, False, 0.0, c, "")
        for n, c in (("b", ("bad", "late")), ("c", ("bad",)), ("d", ()))
    ]
    record = EvalRecord(1, "m", "base", "dev", 0, "r", (item, *again))
    assert [(p.codes, p.items, p.examples) for p in evaluating.failure_patterns(record)] == [
        (("bad", "late"), 2, ("a", "b")),
        (("bad",), 1, ("c",)),
    ]
    assert evaluating.passes(record) == {}


@pytest.mark.thorough
def test_killed_at_any_time_it_goes_on_where_it_was(chat_server, tmp_path: Path) -> None:
    chat_server.speak = oracle
    start = [sys.executable, "-m", "askfirst", *command(chat_server, tmp_path / "out", "endpoint.concurrency=2")]
    for wanted in (3, 8):
        chat_server.release.clear()
        chat_server.faults = ["ok"] * (wanted - len(answers(tmp_path))) + ["hang"] * 99
        process = subprocess.Popen([*start, "--json"], stdout=subprocess.DEVNULL, cwd=tmp_path)
        while len(answers(tmp_path)) < wanted:
            assert process.poll() is None
            chat_server.release.wait(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "out" / "dev.json").exists()
    known = len(answers(tmp_path))
    chat_server.faults, chat_server.seen = [], []
    done = subprocess.run([*start, "--json"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert len(chat_server.seen) == ITEMS - known
    assert json.loads(done.stdout)[0]["metrics"]["strict_pass"]["count"] == ITEMS


def answers(tmp_path: Path) -> list[str]:
    path = tmp_path / "out" / "answers.jsonl"
    return path.read_text().splitlines() if path.is_file() else []


def own_server(server, tmp_path: Path) -> list[str]:
    """nano behind the server of these tests, sampled by its own engine."""
    nano = plugins.load("backends", "hf").open_policy(ModelSpec("nano", threads=1), 0)

    def speak(body):
        ids = nano.encode([Message(m["role"], m["content"]) for m in body["messages"]])
        with server.lock:
            ((found,),) = nano.sample([SampleRequest(ids, (0,))], Sampling(body["max_tokens"], body["temperature"]))
        reason = "stop" if found.stop is StopReason.END else "length"
        return {"message": {"content": nano.decode(found.token_ids)}, "finish_reason": reason}

    server.speak = speak
    return command(server, tmp_path)


def transformers_server(server, tmp_path: Path) -> list[str]:
    """nano behind the server that transformers has, at the port of the other one."""
    for package in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(package, reason="needs what `transformers serve` needs")
    model = str(Path(plugins.__file__).parent / "models" / "nano")
    served = [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve", model]
    # In fp32, as it is computed here: in bf16, as it is stored, near ties fall otherwise.
    where = ["--dtype", "float32", "--device", "cpu", "--host", "127.0.0.1", "--port", str(server.server_port)]
    server.shutdown()
    server.server_close()
    server.process = subprocess.Popen(
        [*served, *where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
    )
    while server.process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.server_port), 1):
            break
        server.release.wait(0.2)
    return [model if part == "org/m" else part for part in command(server, tmp_path, "endpoint.timeout_seconds=600")]


@pytest.mark.thorough
@pytest.mark.parametrize("start", [own_server, transformers_server])
def test_the_model_behind_a_server_is_the_model(start, chat_server, here, tmp_path: Path) -> None:
    """What a server says with nano is judged exactly as what nano says here."""
    pytest.importorskip("torch", reason="needs the hf extra")
    try:
        code, out, err = here(*start(chat_server, tmp_path), "--json")
    finally:
        if process := getattr(chat_server, "process", None):
            process.kill()
            process.wait()
    assert (code, err) == (0, "")
    _, local, _ = here("eval", "--model", "nano", "--split", "dev", "--set", f"items={ITEMS}", "--json")
    assert json.loads(out)[0]["items"] == json.loads(local)[0]["items"]
