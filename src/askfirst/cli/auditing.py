"""`askfirst audit`: two files of items compared for what one has of the other."""

from __future__ import annotations

import json
from pathlib import Path

from askfirst.audit import Audit, compare
from askfirst.audit.embedding import sentence_model
from askfirst.audit.items import read_items
from askfirst.ledger import file_hash
from askfirst.store import plain

SHOWN = 10  # overlaps of each kind


def audit(train: Path, evaluation: Path, embedder: Path | None, *, as_json: bool) -> None:
    """Compare and print; exit 1 where an evaluation item is in training."""
    items = read_items(train), read_items(evaluation)
    found = compare(*items, sentence_model(embedder) if embedder else None)
    if as_json:
        inputs = {str(path): file_hash(path) for path in (train, evaluation)}
        body = {"version": 1, "inputs_sha256": inputs, "contaminated": bool(found.blocking), **plain(found)}
        print(json.dumps(body, ensure_ascii=False))
    else:
        for line in lines(found):
            print(line)
    if found.blocking:
        raise SystemExit(1)


def lines(found: Audit) -> list[str]:
    """The audit for people: the methods, what training and evaluation share, and the first overlaps."""
    rows = [f"{found.items} evaluation items against {found.train} training items"]
    for method in found.methods:
        compared = found.items - method.unauditable
        bound = f" at {method.threshold:g}" if method.threshold is not None else ""
        role = "" if method.blocking else "  to be read" if method.hits else ""
        rows.append(f"{method.name + bound:<16} {method.status:<11} {method.hits} of {compared} compared{role}")
    for kind, counts in found.shared.items():
        rows.append(f"{kind:<16} {counts['in_train']} of {counts['evaluation']} are in training too")
    for word, overlaps in (("overlap", found.blocking), ("alike", found.review)):
        for o in overlaps[:SHOWN]:
            rows.append(f"{word:<9} {o.item} ~ {o.train} by {o.method} ({o.score:.2f}): {o.detail[:100]!r}")
        if len(overlaps) > SHOWN:
            rows.append(f"{word:<9} … {len(overlaps) - SHOWN} more; --json lists all")
    return rows
