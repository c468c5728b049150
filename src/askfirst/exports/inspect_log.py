"""Evaluations as logs of Inspect (`.eval`, zip with JSON members, version 2): one a checkpoint and split, an epoch a
trial. Sample ids are those of scenarios, so that two logs pair by joining on id and epoch.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askfirst import ledger
from askfirst.errors import InputError
from askfirst.evaluate import read_predictions
from askfirst.reading import require_run
from askfirst.runfolder import RunFolder, variant_parts
from askfirst.store import canonical, content_hash, plain, read_as, write_bytes
from askfirst.values import EvalRecord, ItemOutcome, Message

VERSION = 2
UNKNOWN = "(the request is in no record of the run)"
WHEN = (1980, 1, 1, 0, 0, 0)  # of every member, so that the same records give the same bytes
NEVER = "1970-01-01T00:00:00+00:00"
SCORES = {"pass": "passed", "ask": "asked", "reward": "total"}  # name of a score → field of an item
Member = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """What records of evaluations leave out, by scenario id: requests, and dialogues of more than one reply."""

    requests: Mapping[str, str]
    dialogues: Mapping[str, tuple[Message, ...]]


def write(run: RunFolder, folder: Path, requests: Mapping[str, str]) -> list[Path]:
    """Write every evaluation of a run into a folder; `requests` maps dev scenarios to what was asked.

    Raises InputError for what is no run folder or has no evaluation.
    """
    lock = require_run(run)
    paths: list[Path] = []
    finished = [line["recorded_at"] for line in ledger.events(run, ledger.FINISHED)]
    for path, arm in _records(run):
        record = read_as(EvalRecord, path)
        said = run.base_predictions() if arm == "base" else run.selected_predictions()
        dialogues = {p.scenario: p.dialogue for p in read_predictions(said)} if record.split == "sealed" else {}
        spec = _spec(record, {"arm": arm, "plan_sha256": lock["plan_sha256"], "record_sha256": ledger.file_hash(path)})
        spec["created"] = finished[0] if finished else NEVER
        name = record.checkpoint.replace("/", "-").replace("@", "-step-")
        # What reads beside the reward gives a record of the same checkpoint and split.
        beside = "" if path.stem in (record.split, f"{record.split}-{record.step:05d}") else f"-{path.stem}"
        target = folder / f"{name}-{record.split}{beside}.eval"
        write_bytes(target, _packed(_members(record, spec, Known(requests, dialogues))))
        paths.append(target)
    if not paths:
        raise InputError("the run has no evaluation yet", where=str(run.root))
    return paths


def write_one(path: Path, record: EvalRecord, metadata: Mapping[str, Any], known: Known) -> None:
    """Write one evaluation that is of no run; `metadata` has arm, plan_sha256 and record_sha256."""
    spec = {**_spec(record, metadata), "created": NEVER}
    write_bytes(path, _packed(_members(record, spec, known)))


def _records(run: RunFolder) -> Iterator[tuple[Path, str]]:
    """Every record of an evaluation, with the arm that it is of."""
    for folder in (run.base_evaluation("dev").parent, run.selected_evaluation("sealed").parent):
        for path in sorted(folder.glob("*.json")):
            yield path, folder.name
    for variant in run.having("metrics.jsonl"):
        for path in sorted(variant.root.glob("evals/*.json")):
            yield path, variant_parts(variant.name)[0]


def _spec(record: EvalRecord, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the log says of the evaluation as a whole."""
    identity = content_hash([record.model, record.checkpoint, record.split, record.reward, metadata["record_sha256"]])
    ids = list(dict.fromkeys(item.scenario_id for item in record.items))
    return {
        "eval_id": identity[:22],
        "run_id": str(metadata["plan_sha256"])[:22],
        "task": f"askfirst/{record.split}",
        "task_id": content_hash([record.split, ids])[:22],
        "task_version": 1,
        "dataset": {"name": record.split, "samples": len(ids), "sample_ids": ids},
        "model": f"askfirst/{record.model.replace('/', '--')}",
        "config": {"epochs": 1 + max(item.trial for item in record.items)},
        "metadata": {**metadata, "checkpoint": record.checkpoint, "step": record.step, "reward": record.reward},
    }


def _members(record: EvalRecord, spec: Mapping[str, Any], known: Known) -> Iterator[Member]:
    """The members of a log in their order."""
    plan = {"name": "plan", "steps": [], "config": {}}
    samples = [_sample(item, spec["model"], known) for item in record.items]
    summaries = [_summary(sample) for sample in samples]
    yield "_journal/start.json", {"version": VERSION, "eval": spec, "plan": plan}
    for sample in samples:
        yield f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample
    yield "_journal/summaries/1.json", summaries
    yield "summaries.json", summaries
    yield (
        "header.json",
        {
            "version": VERSION,
            "status": "success",
            "eval": spec,
            "plan": plan,
            "results": _results(record.items),
            "stats": {"started_at": spec["created"], "completed_at": spec["created"]},
        },
    )


def _sample(item: ItemOutcome, model: str, known: Known) -> dict[str, Any]:
    request = known.requests.get(item.scenario_id)
    said = known.dialogues.get(item.scenario_id, (Message("assistant", item.reply),))
    opening = [{"role": "user", "content": UNKNOWN if request is None else request}]
    own = {"doc_hash": item.scenario_id, "family": item.family, "stratum": item.stratum}
    hashes = {} if request is None else {"prompt_hash": hashlib.sha256(request.encode()).hexdigest()}
    last = {"role": "assistant", "content": item.reply, "source": "generate", "model": model}
    return {
        "id": item.scenario_id,
        "epoch": item.trial + 1,
        "input": opening[0]["content"],
        "target": "",
        "messages": opening + [{"role": m.role, "content": m.content} for m in said],
        "output": {"model": model, "choices": [{"message": last, "stop_reason": "stop"}]},
        "scores": _scores(item),
        "metadata": plain({**own, **hashes, "facts": item.facts, "verdicts": item.verdicts}),
    }


def _scores(item: ItemOutcome) -> dict[str, Any]:
    found: dict[str, Any] = {name: {"value": float(getattr(item, field))} for name, field in SCORES.items()}
    found["pass"] |= {"answer": item.reply, "explanation": ", ".join(item.failures) or "passed"}
    found["reward"]["metadata"] = plain(item.terms)
    return found


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    copied = {name: sample[name] for name in ("id", "epoch", "input", "target", "scores")}
    return {**copied, "completed": True, "message_count": len(sample["messages"])}


def _results(items: Sequence[ItemOutcome]) -> dict[str, Any]:
    scores = []
    for name, field in SCORES.items():
        mean = sum(float(getattr(item, field)) for item in items) / len(items)
        metrics = {"mean": {"name": "mean", "value": mean, "params": {}}}
        scores.append({"name": name, "scorer": name, "params": {}, "metrics": metrics})
    return {"total_samples": len(items), "completed_samples": len(items), "scores": scores}


def _packed(members: Iterator[Member]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members:
            archive.writestr(zipfile.ZipInfo(name, WHEN), canonical(value), compress_type=zipfile.ZIP_DEFLATED)
    return out.getvalue()
