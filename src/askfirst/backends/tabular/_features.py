"""A request as a sparse vector: names of facts, hashed to columns by CRC-32."""

from __future__ import annotations

import zlib
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from askfirst.backends.tabular._lexicon import KNOWN
from askfirst.backends.tabular._request import Request

COLUMNS = 2048
BIAS = COLUMNS  # one more column, always 1


def column(name: str) -> int:
    """The column of a fact."""
    return zlib.crc32(name.encode()) % COLUMNS


def columns(request: Request) -> NDArray[np.intp]:
    """The columns that are 1 for a request, sorted, the bias last; shape (F,)."""
    return np.array([*sorted({column(name) for name in facts(request)}), BIAS], dtype=np.intp)


def facts(request: Request) -> list[str]:
    """Known words, shapes, cues and word classes, and the pairs among cues and classes."""
    cues = [f"{name}={value}" for name, value in request.cues.items()]
    classes = [f"class {name}" for name in request.classes]
    shape = ("^", *request.shape, "$")
    return [
        *(f"word {w}" for w in request.core if w in KNOWN),
        *(f"pair {a} {b}" for a, b in pairwise(shape)),
        *(f"role {r}" for r in sorted({element.role for element in request.elements})),
        *cues,
        *classes,
        *(f"{a} {b}" for a, b in combinations([*cues, *classes], 2)),
        f"verb {request.verb}",
        f"turn {min(request.turns, 3)}",
    ]
