"""A request as a sparse vector: names of facts, hashed to columns by CRC-32."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from askfirst.backends.tabular._request import Request
from askfirst.values import Floats

import os
COLUMNS = int(os.environ.get("TD","4096"))
BIAS = COLUMNS  # one more column, always 1


def column(name: str) -> int:
    """The column of a fact."""
    return zlib.crc32(name.encode()) % COLUMNS


@dataclass(frozen=True, slots=True)
class Vector:
    """A sparse row: columns (F,) in rising order and their values (F,)."""

    columns: NDArray[np.intp]
    values: Floats


def vector(request: Request) -> Vector:
    """The facts of a request by column; facts that fall on one column add up. The bias has the value 1."""
    found: dict[int, float] = {BIAS: W[4]}
    for name, value in facts(request).items():
        found[column(name)] = found.get(column(name), 0.0) + value
    order = sorted(found)
    return Vector(np.array(order, dtype=np.intp), np.array([found[c] for c in order]))


import os

W = [float(x) for x in os.environ.get("TW", "0.3,0.2,1,0.5,1").split(",")]


def facts(request: Request) -> dict[str, float]:
    """Name → value. What is special to a kind of request weighs more than what many share, so it is learned first."""
    cues = request.cues
    named = [f"{name}={value}" for name, value in cues.items()]
    lead = f"lead={cues['lead']}"
    shape = ("^", *request.shape, "$")
    said = " ".join(
        f"{name}={cues[name]}" for name in ("person", "given", "time", "number", "content", "app", "shortcut", "blank")
    )
    shown = " ".join(f"{name}={cues[name]}" for name in ("thing", "bare", "screen", "matches", "hits"))
    pairs = [f"pair {a} {b}" for a, b in pairwise(shape)]
    shared = [*named, *(f"class {name}" for name in request.classes), f"turn {min(request.turns, 3)}"]
    special = [said, shown, *(f"{lead} {cue}" for cue in named if cue != lead)]
    exact = [
        f"{lead} {said}",
        f"{lead} {shown}",
        f"{said} {shown}",
        f"{lead} {said} {shown}",
        f"verb {request.verb} {said}",
        f"verb {request.verb} {shown}",
    ]
    return (
        dict.fromkeys(shared, W[0])
        | dict.fromkeys(pairs, W[1])
        | dict.fromkeys(exact, W[2])
        | dict.fromkeys(special, W[3])
    )
