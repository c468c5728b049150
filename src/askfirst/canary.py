"""Canaries: a string in every item of a sealed split, which must never turn up in training."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from askfirst.errors import GateFailed

MARK = "askfirst-canary-"
BIG_BENCH = "26b5c67b-86f4-"  # how the canary of BIG-bench and of what followed it begins


def canary(commitment: str) -> str:
    """The canary of a sealed split or suite, from its public commitment: the same wherever its items are written."""
    digits = hashlib.sha256(f"canary {commitment}".encode()).hexdigest()
    return MARK + "-".join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def require_none(texts: Iterable[str], where: str) -> None:
    """Raise GateFailed where a text holds the mark of any sealed split's canary."""
    for text in texts:
        lowered = text.lower()
        hit = next((mark for mark in (MARK, BIG_BENCH) if mark in lowered), None)
        if hit is not None:
            at = lowered.index(hit)
            raise GateFailed(
                f"a canary of a sealed split is in what is trained on: {text[at : at + 60]!r}",
                where=where,
                hint="an item that may only be evaluated on has come into training; find out how before going on",
            )
