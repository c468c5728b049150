"""Trackers and notices of a run: handed on, recorded, and never in its way."""

import json
import sys
import types
from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst import plugins
from askfirst.cli.options import OPTIONS, named, taken
from askfirst.cli.telling import Telling
from askfirst.errors import GateFailed, InputError, PluginError
from askfirst.events import Event, both
from askfirst.values import FrozenMap

PLAN = plans.load(Path(__file__).parents[3] / "examples" / "e2e.toml")
SECRET = "json://somebody:word@localhost/hook"


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    for variable in OPTIONS.values():
        monkeypatch.setenv(variable, "")


def step(name="anchored/seed-0", number=1):
    return Event("step", name, values=FrozenMap({"step": number, "steps": 2, "reward": 0.5, "kl_nats": None}))


def telling(tmp_path, *names, urls=()):
    return Telling(PLAN, tmp_path / "run", {n: plugins.load("trackers", n) for n in names}, tuple(urls))


def test_options_of_run_are_taken_off_the_line_and_kept_with_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("ASKFIRST_TRACK", "jsonl")
    line = ["run", "p.toml", "--track", "tensorboard", "--resume", "--notify=ntfy://a", "--notify", "ntfy://b"]
    assert taken(line) == ["run", "p.toml", "--resume"]
    assert named("--track") == ["jsonl", "tensorboard"]
    assert named("--notify") == ["ntfy://a", "ntfy://b"]
    assert taken(["plan", "--track", "x"]) == ["plan", "--track", "x"]  # which that verb then refuses


@pytest.mark.parametrize("line", [["run", "--track"], ["run", "--notify", "--resume"], ["run", "--track="]])
def test_an_option_without_a_value_is_refused(line):
    with pytest.raises(InputError, match="wants a value"):
        taken(line)


def test_a_tracker_that_is_not_there_is_refused_before_anything_starts(monkeypatch, tmp_path):
    monkeypatch.setenv("ASKFIRST_TRACK", "tensorbord")
    with pytest.raises(PluginError, match="no trackers plugin is called 'tensorbord'"):
        Telling.from_environment(PLAN, tmp_path)


def test_each_variant_is_a_run_of_its_own_with_the_settings_of_its_arm(tmp_path):
    with telling(tmp_path, "jsonl") as told:
        for event in (step(), step("free/seed-0"), step(number=2)):
            told(event)
        told(Event("evaluated", "free/seed-0", values=FrozenMap({"step": 10, "clear_pass": 0.75})))
        told(Event("sealed", values=FrozenMap({"base": {"a": 0.0}, "treated": {"a": 1.0}, "opening": 1})))
    folder = tmp_path / "tracking" / "run" / "jsonl"
    found = {
        name: [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("anchored-seed-0", "free-seed-0", "sealed")
    }
    anchored, free = found["anchored-seed-0"], found["free-seed-0"]
    assert [line.get("step") for line in anchored] == [None, 1, 2, None]
    assert anchored[1]["values"] == {"reward": 0.5}  # what was not measured is left out
    assert (anchored[0]["config"]["train"]["kl"]["beta"], free[0]["config"]["train"]["kl"]["beta"]) == (0.01, 0.0)
    assert free[2]["values"] == {"dev/clear_pass": 0.75}
    assert found["sealed"][1]["values"] == {"base/a": 0.0, "treated/a": 1.0}
    assert not (tmp_path / "run").exists()  # a run folder holds records alone


@pytest.mark.parametrize("when", ["start", "log", "finish"])
@pytest.mark.parametrize("raised", [RuntimeError("no room"), SystemExit(3), KeyError()])
def test_a_tracker_that_fails_is_left_out_once_and_the_others_go_on(tmp_path, capsys, when, raised):
    def fail(*arguments):
        raise raised

    broken = types.SimpleNamespace(start=lambda run: 1, log=lambda *a: None, finish=lambda h: None)
    setattr(broken, when, fail)
    with telling(tmp_path, "jsonl") as told:
        told.trackers["broken"] = broken
        for number in (1, 2):
            told(step(number=number))
    assert capsys.readouterr().err.count("tracker broken") == 1
    lines = (tmp_path / "tracking/run/jsonl/anchored-seed-0.jsonl").read_text().splitlines()
    assert len(lines) == 4


def test_ctrl_c_is_not_swallowed(tmp_path):
    def stop(*arguments):
        raise KeyboardInterrupt

    told = telling(tmp_path)
    told.trackers["t"] = types.SimpleNamespace(start=stop, log=None, finish=None)
    with pytest.raises(KeyboardInterrupt):
        told(step())


class Post:
    """Stands for the package that sends: keeps what was sent, and takes only addresses of json."""

    sent: list[tuple[str, str]]

    def __init__(self):
        self.urls = []

    def add(self, url):
        self.urls.append(url)
        return url.startswith("json://")

    def notify(self, title, body):
        Post.sent.append((title, body))
        return True


def test_start_stop_and_verdict_are_sent_with_the_link_and_recorded_without_the_address(tmp_path, monkeypatch, capsys):
    Post.sent = []
    monkeypatch.setitem(sys.modules, "apprise", types.SimpleNamespace(Apprise=Post))
    told = telling(tmp_path, urls=(SECRET, "smoke://signal"))

    def run():
        with told:
            told(Event("gates", text="power 1.00"))
            told(step())
            told(Event("verdict", "SHIP", "66% above 22%"))
            raise GateFailed("pilot stopped")

    with pytest.raises(GateFailed):
        run()
    assert [title for title, _ in Post.sent] == [f"askfirst run: {w}" for w in ("started", "SHIP", "stopped")]
    assert all(body.endswith("/run/report.html") for _, body in Post.sent)
    assert "pilot stopped" in Post.sent[-1][1]
    text = (tmp_path / "tracking/run/notices.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["by"], line["sent"]) for line in lines] == [("json", True), ("smoke", False)] * 3
    assert "no address for notices: smoke" in lines[1]["why"]
    errors = capsys.readouterr().err
    assert "word" not in text + errors
    assert errors.count("notice by smoke failed") == 3


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_a_real_address_that_nobody_answers_is_a_recorded_failure(tmp_path):
    pytest.importorskip("apprise")
    with telling(tmp_path, urls=("json://localhost:9/nobody",)) as told:
        told(Event("gates", text="x"))
    (line,) = (tmp_path / "tracking/run/notices.jsonl").read_text().splitlines()
    assert json.loads(line)["sent"] is False


def test_two_listeners_hear_an_event_in_turn():
    heard = []
    both(lambda e: heard.append(("one", e.kind)), lambda e: heard.append(("other", e.kind)))(Event("x"))
    assert heard == [("one", "x"), ("other", "x")]
