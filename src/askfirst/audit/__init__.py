"""Contamination between splits: what a training run sees against what it is evaluated on.

| method | an evaluation item is hit when |
|---|---|
| exact | its text, in what it is shown with, is one of training |
| near | its set of words has a Jaccard of at least .8 with one of training |
| 13-gram, 8-gram | it shares so many words in a row |
| 50-char | one of three random runs of 50 of its letters and digits (all of it where it is shorter) is in training |
| minhash | the Jaccard of its character 5-grams is at least .7 |
| tfidf | the cosine of its character 3- to 5-grams, weighted by TF-IDF, is high |
| embedding | the cosine of a sentence model's vectors is high; only where a model is given |
| template, value, id, key, writes | it was made from, is about, or asks for the same thing |

Rules and figures behind them: GPT-3 (13-grams), PaLM and Llama 3 (8-grams), GPT-4 (50 characters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from askfirst.audit.fuzzy import Embedder, Nearest, embedded, minhash, tfidf
from askfirst.audit.items import Item, of_scenarios, request
from askfirst.store import generator
from askfirst.values import FrozenMap, Scenario

__all__ = ["BLOCKING", "THRESHOLDS", "Audit", "Method", "Overlap", "audit", "compare", "request"]

Near = Callable[[Sequence[str], Sequence[str], float], list[Nearest]]
SHORT = 3  # texts of fewer distinct words are compared exactly only
RUN, RUNS, LEAST = 50, 3, 20  # characters of a run, how many of them, and of the shortest text that is compared so
THRESHOLDS = FrozenMap({"near": 0.8, "minhash": 0.7, "tfidf": 0.45, "embedding": 0.8})
# A hit by one of these ends the matter; what the others hit is for a person to look at.
BLOCKING = frozenset({"exact", "near", "13-gram", "template", "value", "id", "key", "writes"})


@dataclass(frozen=True, slots=True)
class Overlap:
    """An evaluation item that training saw: by which method, what they share, which training item, how similar."""

    item: str
    method: str
    detail: str
    train: str = ""
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Method:
    """What a method found. `unauditable` items are those it cannot compare; they are not called clean.

    `status`: found; clean, with every item compared; partly, with nothing found but some not compared; unauditable.
    """

    name: str
    blocking: bool
    threshold: float | None
    hits: int
    unauditable: int
    status: str


@dataclass(frozen=True, slots=True)
class Audit:
    """`unauditable` items are too short for every comparison of words. `shared` maps a kind of key to how many
    different ones the evaluation has and how many of these training has too."""

    items: int
    train: int
    overlaps: tuple[Overlap, ...]
    unauditable: int
    methods: tuple[Method, ...]
    shared: FrozenMap

    @property
    def blocking(self) -> tuple[Overlap, ...]:
        """The overlaps that end the matter."""
        return tuple(o for o in self.overlaps if o.method in BLOCKING)

    @property
    def review(self) -> tuple[Overlap, ...]:
        """The overlaps that a person should look at."""
        return tuple(o for o in self.overlaps if o.method not in BLOCKING)


def audit(train: Iterable[Scenario], evaluation: Iterable[Scenario], embed: Embedder | None = None) -> Audit:
    """Compare evaluation scenarios with those of training by every method."""
    return compare(of_scenarios(train), of_scenarios(evaluation), embed)


def compare(train: Sequence[Item], evaluation: Sequence[Item], embed: Embedder | None = None) -> Audit:
    """Compare evaluation items with those of training by every method."""
    # Environments draw the same text again and again: each is compared once.
    texts = list({item.text: item for item in train}.values())
    found: dict[str, list[Overlap]] = {"exact": list(_exact(train, evaluation)), "near": list(_near(texts, evaluation))}
    for size in (13, 8):
        found[f"{size}-gram"] = list(_grams(texts, evaluation, size))
    found["50-char"] = list(_characters(texts, evaluation))
    long = [item for item in evaluation if not _short(item)]
    for name, near in (("minhash", minhash), ("tfidf", tfidf)):
        found[name] = _pairs(name, texts, long, near)
    if embed is not None:
        found["embedding"] = _pairs("embedding", texts, long, lambda a, b, t: embedded(a, b, t, embed))
    for name, of in _STRUCTURE.items():
        found[name] = list(_shared(name, of, train, evaluation))
    missed = _unauditable(evaluation, embed is not None)
    methods = tuple(_method(n, found.get(n, []), missed[n], len(evaluation)) for n in missed)
    overlaps = tuple(o for each in found.values() for o in each)
    return Audit(len(evaluation), len(train), overlaps, missed["near"], methods, _keys(train, evaluation))


def _short(item: Item) -> bool:
    return len(set(item.words)) < SHORT


def _unauditable(evaluation: Sequence[Item], embeds: bool) -> dict[str, int]:
    """How many items each method cannot compare."""
    lengths = [len(item.words) for item in evaluation]
    short = sum(map(_short, evaluation))
    counts = {"exact": 0, "near": short, "13-gram": sum(n < 13 for n in lengths), "8-gram": sum(n < 8 for n in lengths)}
    counts |= {"50-char": sum(len(_letters(i.text)) < LEAST for i in evaluation), "minhash": short, "tfidf": short}
    counts["embedding"] = short if embeds else len(evaluation)
    return counts | {name: sum(not of(i) for i in evaluation) for name, of in _STRUCTURE.items()}


def _method(name: str, hits: Sequence[Overlap], missed: int, items: int) -> Method:
    status = "found" if hits else "clean" if not missed else "unauditable" if missed == items else "partly"
    return Method(name, name in BLOCKING, THRESHOLDS.get(name), len({o.item for o in hits}), missed, status)


def _exact(train: Sequence[Item], evaluation: Sequence[Item]) -> Iterator[Overlap]:
    seen = {(tuple(i.words), i.context): i.id for i in reversed(train)}
    for item in evaluation:
        if (key := (tuple(item.words), item.context)) in seen:
            yield Overlap(item.id, "exact", item.text, seen[key])


def _grams(train: Sequence[Item], evaluation: Sequence[Item], size: int) -> Iterator[Overlap]:
    seen = {gram: item.id for item in reversed(train) for gram in _runs(item.words, size)}
    for item in evaluation:
        gram = next((g for g in _runs(item.words, size) if g in seen), None)
        if gram is not None:
            yield Overlap(item.id, f"{size}-gram", " ".join(gram), seen[gram])


def _runs(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _characters(train: Sequence[Item], evaluation: Sequence[Item]) -> Iterator[Overlap]:
    bodies = [_letters(item.text) for item in train]
    everything = "\n".join(bodies)
    for item in evaluation:
        own = _letters(item.text)
        if len(own) < LEAST:
            continue
        last = max(0, len(own) - RUN)
        starts = generator("audit", "50-char", item.text).integers(0, last + 1, RUNS)
        run = next((own[s : s + RUN] for s in starts if own[s : s + RUN] in everything), None)
        if run is not None:
            place = next(i for i, body in enumerate(bodies) if run in body)
            yield Overlap(item.id, "50-char", run, train[place].id)


def _pairs(name: str, train: Sequence[Item], items: Sequence[Item], near: Near) -> list[Overlap]:
    if not (train and items):
        return []
    plain = [" ".join(i.words) for i in train], [" ".join(i.words) for i in items]
    found = zip(items, near(*plain, THRESHOLDS[name]), strict=True)
    return [Overlap(i.id, name, train[n[0]].text, train[n[0]].id, n[1]) for i, n in found if n]


def _near(train: Sequence[Item], evaluation: Sequence[Item]) -> Iterator[Overlap]:
    """Items whose set of words is near enough to one of training.

    A set within Jaccard s shares at least the share s of the item's words, so one of the rarest 1 − s of them
    (plus one) leads to it.
    """
    index: dict[str, dict[frozenset[str], Item]] = {}
    for item in train:
        own = frozenset(item.words)
        for word in own:
            index.setdefault(word, {}).setdefault(own, item)
    least = THRESHOLDS["near"]
    for item in evaluation:
        own = frozenset(item.words)
        if len(own) < SHORT:
            continue
        rare = sorted(own, key=lambda w: (len(index.get(w, ())), w))[: len(own) - int(least * len(own)) + 1]
        others = {other: of for w in rare for other, of in index.get(w, {}).items()}
        alike = [(len(own & other) / len(own | other), of) for other, of in others.items()]
        score, of = max(alike, key=lambda pair: pair[0], default=(0.0, item))
        if score >= least:
            yield Overlap(item.id, "near", of.text, of.id, score)


# What an item was made from, as a tuple of texts.
_STRUCTURE: dict[str, Callable[[Item], tuple[str, ...]]] = {
    "template": lambda item: (item.template,) if item.template else (),
    "value": lambda item: item.values,
    "id": lambda item: (item.id,) if item.named else (),
    "key": lambda item: tuple(f"{kind}={value}" for kind, values in item.keys.items() for value in values),
    "writes": lambda item: (item.writes,) if item.writes else (),
}


def _shared(
    name: str, of: Callable[[Item], tuple[str, ...]], train: Sequence[Item], evaluation: Sequence[Item]
) -> Iterator[Overlap]:
    seen = {value: item.id for item in reversed(train) for value in of(item)}
    for item in evaluation:
        yield from (Overlap(item.id, name, value, seen[value]) for value in of(item) if value in seen)


def _keys(train: Sequence[Item], evaluation: Sequence[Item]) -> FrozenMap:
    kinds = sorted({kind for item in evaluation for kind in item.keys})
    counts = {}
    for kind in kinds:
        own, theirs = ({v for i in items for v in i.keys.get(kind, ())} for items in (evaluation, train))
        counts[kind] = FrozenMap({"evaluation": len(own), "in_train": len(own & theirs)})
    return FrozenMap(counts)
