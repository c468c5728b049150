"""Every tracker whose package is here: started, given values, finished, and read back by its own means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askfirst import plugins
from askfirst.trackers._tracked import Tracked, flat

CONFIG = {"train": {"lr": 0.1, "kl": {"beta": 0.0}}, "title": "t"}
VALUES = ({"reward": 0.25, "dev/pass": 0.5}, {"reward": 0.75})
PACKAGES = {"jsonl": None, "tensorboard": "tensorboard", "wandb": "wandb", "trackio": "trackio", "mlflow": "mlflow"}


def tracked(folder: Path) -> Tracked:
    return Tracked("run", "anchored/seed-0", CONFIG, folder)


def told(name: str, folder: Path) -> None:
    """Two steps of a run."""
    tracker = plugins.load("trackers", name)
    handle = tracker.start(tracked(folder))
    for step, values in enumerate(VALUES, start=1):
        tracker.log(handle, values, step)
    tracker.finish(handle)


def test_every_tracker_says_which_package_it_needs():
    assert set(plugins.names("trackers")) == set(PACKAGES)


def test_jsonl_holds_settings_values_and_the_end(tmp_path):
    told("jsonl", tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "anchored-seed-0.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "log", "log", "finish"]
    assert lines[0]["config"] == CONFIG
    assert [(line["step"], line["values"]) for line in lines[1:3]] == [(1, VALUES[0]), (2, VALUES[1])]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_its_events_back(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    told("tensorboard", tmp_path)
    found = events.EventAccumulator(str(tmp_path / "anchored/seed-0"))
    found.Reload()
    series = found.Tensors("reward")
    assert [(e.step, e.tensor_proto.float_val[0]) for e in series] == [(1, 0.25), (2, 0.75)]
    assert [e.step for e in found.Tensors("dev/pass")] == [1]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["wandb", "trackio", "mlflow"])
def test_a_tracker_that_is_installed_takes_a_run(name, tmp_path, monkeypatch):
    pytest.importorskip(PACKAGES[name])
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    told(name, tmp_path / name)
    assert any(path.is_file() for path in tmp_path.rglob("*"))


def test_nested_settings_have_dotted_names():
    assert flat(CONFIG) == {"train.lr": 0.1, "train.kl.beta": 0.0, "title": "t"}
