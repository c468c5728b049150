"""The folder of a Space: what a hub reads of it, and what is not given away."""

import json

import pytest

from askfirst.demo import space
from askfirst.demo.exhibit import Exhibit
from askfirst.errors import InputError

pytest.importorskip("gradio", reason="needs the extra demo")
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def test_a_hub_reads_the_front_matter(recorded) -> None:
    run = recorded(sets=('title="A: b\\n---"',))
    head, fields, body = space.readme(Exhibit.of(run.root)).split("---\n", 2)
    assert head == ""
    found = {name: json.loads(value) for name, _, value in (line.partition(": ") for line in fields.splitlines())}
    assert (found["sdk"], found["app_file"], found["title"]) == ("gradio", "app.py", "A: b ---")
    assert {found["colorFrom"], found["colorTo"]} <= COLOURS
    assert found["sdk_version"].startswith("6.")
    assert len(found["short_description"]) <= 60
    assert "after, anchored/seed-0@6" in body


def test_weights_that_are_not_shown_and_what_lies_elsewhere_stay(recorded, tmp_path) -> None:
    run = recorded()
    (run.root / "base" / "link.json").symlink_to(run.lock)
    (run.root / "out").symlink_to(tmp_path)
    (run.root / ".x.unfinished").write_text("half")
    found = {path.relative_to(run.root).as_posix() for path in space.records(Exhibit.of(run.root))}
    assert {name for name in found if "checkpoints/" in name} == {"anchored/seed-0/checkpoints/step-00006/tabular.f64"}
    assert {"verdict.json", "ledger.jsonl", "free/seed-1/metrics.jsonl", "selected/sealed.json"} <= found
    assert not {name for name in found if "link" in name or name.startswith("out/") or "unfinished" in name}


def test_nothing_is_written_over_and_no_model_of_this_machine_is_promised(recorded, tmp_path) -> None:
    run = recorded()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    for place in (tmp_path / "full", tmp_path / "full" / "mine"):
        with pytest.raises(InputError, match="holds something"):
            space.write(run.root, place)
    local = recorded("local", sets=(f'model.name="{tmp_path}"', 'model.backend="hf"'))
    with pytest.raises(InputError, match="lies on this machine"):
        space.write(local.root, tmp_path / "space")
    assert not (tmp_path / "space").exists()
