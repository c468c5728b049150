"""A request as a sparse vector of zeros and ones: names of facts, hashed to columns by CRC-32."""

from __future__ import annotations

import zlib
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from askfirst.backends.tabular._request import Request

COLUMNS = 4096
BIAS = COLUMNS  # one more column, always 1
SAID = ("person", "given", "time", "number", "content", "app", "shortcut", "blank")
SHOWN = ("thing", "bare", "meant", "screen", "matches")


def columns(facts: list[str]) -> NDArray[np.intp]:
    """The columns that are 1 for these facts, in rising order, the bias last; shape (F,)."""
    hashed = {zlib.crc32(name.encode()) % COLUMNS for name in facts}
    return np.array([*sorted(hashed), BIAS], dtype=np.intp)


def facts_of(request: Request) -> list[str]:
    """Shapes, cues and word classes, alone and joined to what a request of that kind could lack.

    Words that the lexicon does not hold are left out, but for the verb: names and topics say nothing about what to do.
    """
    cues = request.cues
    named = [f"{name}={value}" for name, value in cues.items()]
    lead = f"lead={cues['lead']}"
    said = " ".join(f"{name}={cues[name]}" for name in SAID)
    shown = " ".join(f"{name}={cues[name]}" for name in SHOWN)
    return [
        *named,
        *(f"class {name}" for name in request.classes),
        *(f"pair {a} {b}" for a, b in pairwise(("^", *request.shape, "$"))),
        *(f"{lead} {cue}" for cue in named if cue != lead),
        *(said, shown, f"{lead} {said}", f"{lead} {shown}", f"{said} {shown}", f"{lead} {said} {shown}"),
        *(f"verb {request.verb} {said}", f"verb {request.verb} {shown}"),
        f"turn {min(request.turns, 3)}",
    ]
