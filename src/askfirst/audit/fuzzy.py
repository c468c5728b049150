"""Comparisons of texts that are not the same: MinHash, character TF-IDF, embeddings.

Each takes the texts of training and evaluation and gives, for every evaluation text, the nearest training text above
a threshold: (place in training, similarity), or None.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from askfirst.store import generator
from askfirst.values import Floats

Nearest = tuple[int, float] | None
Embedder = Callable[[Sequence[str]], Floats]  # texts → vectors of length 1, shape (N, D)
SHINGLE = 5  # characters
BANDS, ROWS = 16, 8  # found with chance 1 − (1 − s^8)^16 at Jaccard s; half of them at .707
SIZES = (3, 4, 5)  # of the character n-grams of TF-IDF
COLUMNS = 1 << 20
AT_ONCE = 256  # evaluation texts
PRIME = np.uint64((1 << 61) - 1)


def _grams(texts: Sequence[str], size: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Hashes of all character n-grams of all texts, and the text that each is from. A short text has none."""
    codes = [np.frombuffer(t.encode("utf-32-le"), dtype="<u4") for t in texts]
    lengths = np.array([len(c) for c in codes], dtype=np.int64)
    everything = np.concatenate(codes).astype(np.uint64) if codes else np.zeros(0, np.uint64)
    owner = np.repeat(np.arange(len(texts)), lengths)
    count = max(0, len(everything) - size + 1)
    found = np.zeros(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for place in range(size):
            found = found * np.uint64(1_000_003) + everything[place : place + count]
        found = (found ^ (found >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    whole = owner[:count] == owner[size - 1 : size - 1 + count]
    return owner[:count][whole], (found ^ (found >> np.uint64(32)))[whole]


def minhash(train: Sequence[str], evaluation: Sequence[str], threshold: float) -> list[Nearest]:
    """By Jaccard of the sets of character 5-grams: candidates share a band of the MinHash, and are then compared."""
    sets = _shingles([*train, *evaluation])
    draw = generator("audit", "minhash")
    factor = draw.integers(1, 1 << 31, BANDS * ROWS, dtype=np.uint64)
    offset = draw.integers(0, 1 << 31, BANDS * ROWS, dtype=np.uint64)
    buckets: dict[tuple[int, bytes], list[int]] = {}

    def bands(shingles: NDArray[np.uint64]) -> list[tuple[int, bytes]]:
        low = (shingles & np.uint64(0xFFFFFFFF))[:, None]
        least = ((low % np.uint64(1 << 29)) * factor + offset).min(axis=0, initial=PRIME) if len(low) else offset
        return [(band, least[band * ROWS : (band + 1) * ROWS].tobytes()) for band in range(BANDS)]

    for place in range(len(train)):
        if len(sets[place]):
            for band in bands(sets[place]):
                buckets.setdefault(band, []).append(place)
    found: list[Nearest] = []
    for own in sets[len(train) :]:
        near = {place for band in bands(own) for place in buckets.get(band, ())} if len(own) else set[int]()
        similar = [(place, _jaccard(own, sets[place])) for place in sorted(near)]
        found.append(_best([pair for pair in similar if pair[1] >= threshold]))
    return found


def _shingles(texts: Sequence[str]) -> list[NDArray[np.uint64]]:
    owner, grams = _grams(texts, SHINGLE)
    edges = np.searchsorted(owner, np.arange(len(texts) + 1))
    return [np.unique(grams[start:end]) for start, end in itertools.pairwise(edges)]


def _jaccard(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


def _best(pairs: Sequence[tuple[int, float]]) -> Nearest:
    return max(pairs, key=lambda pair: (pair[1], -pair[0])) if pairs else None


def tfidf(train: Sequence[str], evaluation: Sequence[str], threshold: float) -> list[Nearest]:
    """By the cosine of TF-IDF vectors of character 3- to 5-grams, hashed to COLUMNS.

    The weight of an n-gram is its count times 1 + ln((1 + N) / (1 + df)), df the texts that hold it of N in all.
    """
    texts = [*train, *evaluation]
    parts = [_grams(texts, size) for size in SIZES]
    rows = np.concatenate([owner for owner, _ in parts])
    mixed = [grams ^ np.uint64(size) for size, (_, grams) in zip(SIZES, parts, strict=True)]
    columns = np.concatenate(mixed) % np.uint64(COLUMNS)
    shape = (len(texts), COLUMNS)
    counts = sparse.csr_array((np.ones(len(rows)), (rows, columns.astype(np.int64))), shape=shape)
    counts.sum_duplicates()
    df = np.bincount(counts.indices, minlength=COLUMNS)
    weighted = counts.copy()
    weighted.data = counts.data * (1 + np.log((1 + len(texts)) / (1 + df[counts.indices])))
    norms = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    weighted.data = weighted.data / np.repeat(np.where(norms > 0, norms, 1.0), np.diff(weighted.indptr))
    return _nearest(weighted[len(train) :], weighted[: len(train)].T.tocsr(), threshold)


def embedded(train: Sequence[str], evaluation: Sequence[str], threshold: float, embed: Embedder) -> list[Nearest]:
    """By the cosine of a sentence model's vectors."""
    return _nearest(embed(evaluation), embed(train).T, threshold)


def _nearest(left: Any, right: Any, threshold: float) -> list[Nearest]:
    """For every row of `left` (M, D) the column of `right` (D, N) with the highest product, if it is high enough.

    Both are arrays, or both sparse.
    """
    found: list[Nearest] = []
    for start in range(0, left.shape[0], AT_ONCE):
        product = left[start : start + AT_ONCE] @ right
        dense: Floats = product.toarray() if sparse.issparse(product) else product
        best = dense.argmax(axis=1)
        scores = dense[np.arange(len(dense)), best]
        pairs = zip(best, scores, strict=True)
        found += [(int(place), min(1.0, float(score))) if score >= threshold else None for place, score in pairs]
    return found
