"""The rollouts that a person can step through on the page: all of a small run, an even sample of a large one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from askfirst.errors import InputError
from askfirst.paired import aligned, outcomes
from askfirst.runfolder import RunFolder
from askfirst.store import read_as, read_lines
from askfirst.values import EvalRecord, ItemOutcome

MOST_SHOWN, MOST_BYTES = 1500, 2_500_000  # of rollouts, and of all that is said of them
MOST_CHARACTERS = 6_000  # of one message
NATS = 100  # logprobs are shown in hundredths

Entry = dict[str, Any]


def browser(run: RunFolder) -> dict[str, Any]:
    """`entries` to show, and how many there are in all. Raises InputError with file and line."""
    found = [*_trained(run), *_evaluated(run)]
    shown = _sample(found)
    return {"entries": shown, "of": len(found), "sampled": len(shown) < len(found)}


def _trained(run: RunFolder) -> Iterator[Entry]:
    """The rollouts of the last step of each variant, and the best of all its steps."""
    for variant in run.having("metrics.jsonl"):
        folder, source = variant.root, variant.name
        seen: set[str] = set()
        for path in (folder / "last_rollouts.jsonl", folder / "best_rollouts.jsonl"):
            for number, line in enumerate(read_lines(path) if path.is_file() else (), start=1):
                entry = _entry(line, source, f"{path}:{number}")
                if entry["id"] not in seen:
                    seen.add(entry["id"])
                    yield entry


def _entry(line: Any, source: str, where: str) -> Entry:
    try:
        score = line["score"]
        name = f"{source}/step-{int(line['step'])}/{line['scenario']}/{int(line['index'])}"
        return {
            "id": name,
            "source": source,
            "step": int(line["step"]),
            "family": str(line["family"]),
            "stratum": str(line["stratum"]),
            "outcome": "passed" if score["passed"] else "failed",
            "request": _clip(str(line["request"])),
            "sides": [{"name": "", **_side(line["dialogue"], score, line["stop"])}],
            "logprobs": [round(NATS * float(value)) for value in line.get("sampler_logprobs", ())],
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a rollout: {type(error).__name__} {error}", where=where) from error


def _evaluated(run: RunFolder) -> Iterator[Entry]:
    """The sealed items, before beside after. Their requests are in no record."""
    paths = run.base_evaluation("sealed"), run.selected_evaluation("sealed")
    if not all(path.is_file() for path in paths):
        return
    before, after = (read_as(EvalRecord, path) for path in paths)
    said = [_dialogues(path) for path in (run.base_predictions(), run.selected_predictions())]
    for old, new, outcome in outcomes(aligned(before, after), after):
        yield {
            "id": f"sealed/{new.scenario_id}" + (f"/{new.trial}" if new.trial else ""),
            "source": "sealed: before and after",
            "step": after.step,
            "family": new.family,
            "stratum": new.stratum,
            "outcome": outcome,
            "request": "",
            "sides": [_judged("before training", old, said[0]), _judged("after", new, said[1])],
            "logprobs": [],
        }


def _judged(name: str, item: ItemOutcome, said: Mapping[str, Any]) -> dict[str, Any]:
    dialogue = said.get(item.scenario_id, [{"role": "assistant", "content": item.reply}])
    score = {"total": item.total, "terms": dict(item.terms), "passed": item.passed, "failures": item.failures}
    return {"name": name, **_side(dialogue, score, "")}


def _dialogues(path: Path) -> dict[str, Any]:
    """Scenario → what was said, by the predictions of the opening that counts: the last."""
    found = {}
    for number, line in enumerate(read_lines(path) if path.is_file() else (), start=1):
        if not isinstance(line, dict) or not {"scenario", "dialogue"} <= line.keys():
            raise InputError("not a prediction: expected scenario and dialogue", where=f"{path}:{number}")
        found[str(line["scenario"])] = line["dialogue"]
    return found


def _side(dialogue: Iterable[Any], score: Mapping[str, Any], stop: str) -> dict[str, Any]:
    return {
        "turns": [[str(turn["role"]), _clip(str(turn["content"]))] for turn in dialogue],
        "total": float(score["total"]),
        "terms": {str(name): float(value) for name, value in score["terms"].items()},
        "passed": bool(score["passed"]),
        "failures": [str(code) for code in score["failures"]],
        "stop": str(stop),
    }


def _clip(text: str) -> str:
    over = len(text) - MOST_CHARACTERS
    return text if over <= 0 else f"{text[:MOST_CHARACTERS]}\n[{over} more characters are in the record]"


def _sample(found: list[Entry]) -> list[Entry]:
    """All where they fit. Else one after the other of each source, family, stratum and outcome, in the order of a hash
    of their names, which depends on nothing that was said; those of one kind then stand together."""
    parts: dict[tuple[str, ...], list[tuple[str, Entry]]] = {}
    for entry in found:
        kind = (entry["source"], entry["family"], entry["stratum"], entry["outcome"])
        parts.setdefault(kind, []).append((hashlib.sha256(entry["id"].encode()).hexdigest(), entry))
    queues = [sorted(part, key=lambda pair: pair[0]) for _, part in sorted(parts.items())]
    chosen: list[Entry] = []
    room = MOST_BYTES
    for rank in range(max(map(len, queues), default=0)):
        for queue in queues:
            if rank < len(queue) and len(chosen) < MOST_SHOWN:
                room -= _size(queue[rank][1])
                if room < 0:
                    return sorted(chosen, key=_order)
                chosen.append(queue[rank][1])
    return sorted(chosen, key=_order)


def _size(entry: Entry) -> int:
    return len(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _order(entry: Entry) -> tuple[str, int, str]:
    return entry["source"], -entry["step"], entry["id"]
