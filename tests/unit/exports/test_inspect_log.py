"""Evaluations as logs of Inspect: what is in them, and that its own reader takes them."""

import json
import zipfile

import pytest

from askfirst.errors import InputError
from askfirst.exports.inspect_log import UNKNOWN, write
from askfirst.runfolder import RunFolder

REQUESTS = {"item-00": "mail the notes", "item-01": "delete it"}


def members(path):
    with zipfile.ZipFile(path) as archive:
        return [(info.filename, json.loads(archive.read(info))) for info in archive.infolist()]


def test_one_log_a_checkpoint_and_split_with_a_sample_an_item(recorded, tmp_path):
    paths = write(recorded(), tmp_path / "logs", REQUESTS)
    assert sorted(path.name for path in paths) == [
        "anchored-seed-0-step-6-dev.eval",
        "anchored-seed-0-step-6-sealed.eval",
        "anchored-seed-1-step-6-dev.eval",
        "base-dev.eval",
        "base-sealed.eval",
        "free-seed-0-step-6-dev.eval",
        "free-seed-1-step-6-dev.eval",
    ]
    found = members(tmp_path / "logs" / "base-dev.eval")
    names = [name for name, _ in found]
    assert names[0] == "_journal/start.json"
    assert names[1] == "samples/item-00_epoch_1.json"
    assert names[-3:] == ["_journal/summaries/1.json", "summaries.json", "header.json"]
    body = dict(found)
    header, sample = body["header.json"], body["samples/item-00_epoch_1.json"]
    assert header["results"]["scores"][0]["metrics"]["mean"]["value"] == 0.5
    assert header["eval"]["dataset"]["samples"] == len(body["summaries.json"]) == 40
    assert header["eval"]["metadata"]["arm"] == "base"
    assert (sample["input"], sample["scores"]["pass"]["value"]) == ("mail the notes", 0.0)
    assert sample["scores"]["pass"]["explanation"] == "intent_mismatch"
    assert body["samples/item-05_epoch_1.json"]["input"] == UNKNOWN


def test_logs_pair_by_the_ids_of_their_samples(recorded, tmp_path):
    write(recorded(), tmp_path, {})
    before, after = (
        {
            value["id"]: value["scores"]["pass"]["value"]
            for name, value in members(tmp_path / name_)
            if "samples/" in name
        }
        for name_ in ("base-sealed.eval", "anchored-seed-0-step-6-sealed.eval")
    )
    assert before.keys() == after.keys()
    assert sum(after[key] > before[key] for key in after) == 20


def test_the_same_records_give_the_same_bytes(recorded, tmp_path):
    run = recorded()
    one, other = (write(run, tmp_path / name, REQUESTS)[0].read_bytes() for name in "ab")
    assert one == other


def test_a_folder_without_evaluations_is_refused(recorded, tmp_path):
    with pytest.raises(InputError, match=r"no plan\.lock\.json"):
        write(RunFolder(tmp_path), tmp_path, {})


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_the_reader_of_inspect_takes_every_log(recorded, tmp_path):
    log = pytest.importorskip("inspect_ai.log")
    for path in write(recorded(), tmp_path, REQUESTS):
        found = log.read_eval_log(str(path))
        assert found.status == "success"
        assert len(found.samples) == found.results.total_samples == 40
        assert found.samples[0].scores["pass"].value in (0.0, 1.0)
        assert found.samples[0].messages[-1].text == '{"spokenText": "which one?"}'
        assert len(log.read_eval_log_sample_summaries(str(path))) == 40
