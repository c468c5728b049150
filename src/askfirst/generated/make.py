"""Requests of the environment's templates, put into other words by a teacher, and what of that is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.errors import InputError
from askfirst.generated import PAIRED, Line, Source, Teacher, line_of
from askfirst.generated.rules import broken, names_of, request_of, resaid
from askfirst.metrics import words
from askfirst.policy import Policy, SampleRequest, Sampling
from askfirst.store import append_line, content_hash, read_lines, seed_from
from askfirst.values import Message, Scenario

CHUNK = 64
PAIRS = 0.7  # of what is drawn, half of it ambiguous and half the clear twins of that
DUPLICATE, ALONE = "duplicate", "twin_not_taken"
PROMPT = """You put requests to a computer assistant into other words. Whoever reads yours must want exactly the same.
Keep every name, title, number, date, time, place and amount exactly as it is written. Leave out nothing, add nothing:
where the request does not say who, when, which one or how much, yours must not say it either.
Answer with the new request alone, on one line, without quotation marks."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to draw and how to ask: `count` requests of an environment by a seed, each in up to `attempts` attempts."""

    env: str
    count: int
    seed: int
    attempts: int
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Made:
    """What came of it. `rejected` counts the rules that the last attempt for each lost request broke."""

    lines: tuple[Line, ...]
    drawn: int
    rejected: Mapping[str, int]


def drawn(env: ModuleType, count: int, seed: int) -> list[Scenario]:
    """The requests that are put into other words: every ambiguous one with its clear twin, and the other clear ones."""
    others = {name: weight for name, weight in env.CLEAR_MIX.items() if name not in PAIRED}
    pairs = round(count * PAIRS / 2) if others else count // 2
    rest = count - 2 * pairs
    mix = dict.fromkeys(sorted(PAIRED), 0.5)
    return list(env.scenarios("train", 2 * pairs, seed, mix)) + list(
        env.scenarios("train", rest, seed, others) if rest else ()
    )


def make(
    wish: Wish, teacher: Policy, identity: str, cache: Path | None, tell: Callable[[int, int], None] = lambda n, m: None
) -> Made:
    """Other words for every request that is drawn, as far as they hold: a function of its arguments and the teacher.

    `identity` says who the teacher is; `cache` keeps what it said, so that it is not asked twice. `tell(done, total)`
    hears how many requests are through.
    """
    env = plugins.load("envs", wish.env)
    names, sources = names_of(env), drawn(env, wish.count, wish.seed)
    if not sources:
        raise InputError("nothing is drawn", hint="a larger --count")
    asked, why = _Asked(teacher, wish, identity, cache), dict[str, tuple[str, ...]]()
    taken: dict[str, tuple[str, int]] = {}  # source id → its other words, and the attempt
    said = {tuple(words(request_of(s))) for s in sources}
    for attempt in range(wish.attempts):
        left = [s for s in sources if s.id not in taken]
        for start in range(0, len(left), CHUNK):
            chunk = left[start : start + CHUNK]
            for source, text in zip(chunk, asked.texts(chunk, attempt), strict=True):
                faults = broken(source, text, names)
                again = tuple(words(text))
                if not faults and again in said and not _by_its_twin(source, again, sources, taken):
                    faults = (DUPLICATE,)
                why[source.id] = faults
                if not faults:
                    taken[source.id] = text, attempt
                    said.add(again)
            tell(len(taken), len(sources))
    return _gathered(
        wish, env, sources, (taken, why), Teacher(identity, teacher.fingerprint(), content_hash(PROMPT), 0)
    )


def _by_its_twin(
    source: Scenario, text: tuple[str, ...], sources: Sequence[Scenario], taken: Mapping[str, tuple[str, int]]
) -> bool:
    """Whether the same was said by the twin alone: the two may ask alike and differ in what is on the screen."""
    same = [s for s in sources if s.id in taken and tuple(words(taken[s.id][0])) == text]
    return bool(same) and all(source.twin and s.twin == source.twin for s in same)


def _gathered(
    wish: Wish,
    env: ModuleType,
    sources: Sequence[Scenario],
    found: tuple[Mapping[str, tuple[str, int]], Mapping[str, tuple[str, ...]]],
    teacher: Teacher,
) -> Made:
    """Lines in the order of the draw, pairs whole, and why the others are not among them."""
    taken, why = found
    members = Counter(s.twin for s in sources if s.id in taken and s.stratum in PAIRED)
    lines, rejected = list[Line](), Counter[str]()
    for source in sources:
        if source.id not in taken:
            rejected.update(why[source.id])
        elif source.stratum in PAIRED and members[source.twin] < 2:
            rejected[ALONE] += 1
        else:
            text, attempt = taken[source.id]
            at = Source(wish.env, env.VERSION, wish.count, wish.seed, source.id)
            by = Teacher(teacher.name, teacher.fingerprint, teacher.prompt_sha256, attempt)
            lines.append(line_of(resaid(source, text, wish.env), at, by))
    return Made(tuple(lines), len(sources), dict(sorted(rejected.items(), key=lambda p: (-p[1], p[0]))))


class _Asked:
    """A teacher with a memory: what it said to a prompt by a seed, in a file where there is one."""

    def __init__(self, teacher: Policy, wish: Wish, identity: str, cache: Path | None) -> None:
        self._teacher, self._wish, self._cache = teacher, wish, cache
        self._who: list[Any] = [identity, teacher.fingerprint(), wish.sampling]
        self._known: dict[str, str] = {}
        for number, line in enumerate(read_lines(cache) if cache is not None and cache.is_file() else (), start=1):
            if not isinstance(line, dict) or not all(isinstance(line.get(n), str) for n in ("key", "text")):
                raise InputError("expected a key and a text", where=f"{cache}:{number}")
            self._known[line["key"]] = line["text"]

    def texts(self, sources: Sequence[Scenario], attempt: int) -> list[str]:
        """What the teacher says to each request at an attempt; at a later one to the same prompt by another seed."""
        prompts = [(Message("system", PROMPT), Message("user", request_of(s))) for s in sources]
        seeds = [seed_from("generate", self._wish.seed, s.id, attempt) for s in sources]
        keys = [content_hash([self._who, p, str(seed)]) for p, seed in zip(prompts, seeds, strict=True)]
        new = [at for at, key in enumerate(keys) if key not in self._known]
        requests = [SampleRequest(self._teacher.encode(prompts[at]), (seeds[at],)) for at in new]
        groups = self._teacher.sample(requests, self._wish.sampling) if requests else []
        for at, (completion,) in zip(new, groups, strict=True):
            self._known[keys[at]] = self._teacher.decode(completion.token_ids).strip()
            if self._cache is not None:
                append_line(self._cache, {"key": keys[at], "text": self._known[keys[at]]})
        return [self._known[key] for key in keys]
