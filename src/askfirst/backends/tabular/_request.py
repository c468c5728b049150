"""What a request says, read from its text alone: words, cues and how they fit the elements on the screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from askfirst.backends.tabular._lexicon import (
    ASK,
    CLASS_OF,
    CLASSES,
    CONTENT,
    DETERMINER,
    FUNCTION,
    KNOWN,
    NUMBER,
    PERSON,
    POLITE,
    THANKS,
    THING,
    TIME,
    TOWARDS,
)
from askfirst.notes import parted
from askfirst.values import Message

_ELEMENT = re.compile(r"^\[\d+\] ([^|]*)\|[^|]*\|([^|]*)\|(.*)$")
_SAID = "user said:"
_PARTS = re.compile(r"(?:[^\w']|_)+")
_WORD = re.compile(r"[^\W_][\w'@.:#&-]*[^\W_]|[^\W_]")


@dataclass(frozen=True, slots=True)
class Element:
    """An on-screen element as it is shown."""

    role: str
    label: str
    text: str

    @property
    def furniture(self) -> bool:
        """Whether it belongs to the window rather than to what is in it."""
        return self.role == "toolbar" or not self.text

    def stems(self) -> frozenset[str]:
        """Stems of the words of label, text and role; "row" is the toolkit's word for a role, not the user's."""
        role = "" if self.role == "row" else self.role.replace("_", " ")
        return stems(f"{role} {self.label} {self.text}")


@dataclass(frozen=True)
class Request:
    """An utterance and the elements shown with it, window furniture left out.

    `turns` counts earlier replies of the policy; `shown` is a reply that notes beside the request call right.
    """

    utterance: str
    elements: tuple[Element, ...]
    turns: int = 0
    shown: str = ""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words of the utterance in order, lower case."""
        return words(self.utterance)

    @cached_property
    def core(self) -> tuple[str, ...]:
        """The words from the verb on, without politeness in front and behind."""
        start = next((i for i, w in enumerate(self.words) if w not in POLITE), 0)
        end = len(self.words)
        while end > start + 1 and self.words[end - 1] in THANKS:
            end -= 1
        return self.words[start:end]

    @property
    def verb(self) -> str:
        """The first word that is not politeness; empty where nothing was said."""
        return self.core[0] if self.core else ""

    @property
    def rest(self) -> str:
        """What follows the verb; the whole utterance where nothing does."""
        return " ".join(self.core[1:]) or self.utterance.strip() or "nothing"

    @cached_property
    def noun(self) -> str:
        """The word that names the thing meant: after the first determiner, else the last one with a meaning."""
        content = [w for w in self.core[1:] if w not in FUNCTION and w not in PERSON and w not in THING]
        for word in content:
            if any(stem(word) in stems(e.text) for e in self.elements):
                return word
        after = [b for a, b in pairwise(self.core) if a in {"the", "my", "that", "this", "a"} and b in content]
        return (after or content or ["item"])[0]

    @cached_property
    def _hits(self) -> tuple[int, ...]:
        spoken = stems(" ".join(w for w in self.core[1:] if w not in FUNCTION))
        return tuple(len(spoken & e.stems()) for e in self.elements)

    @cached_property
    def matches(self) -> tuple[Element, ...]:
        """The elements that share most words with the request; none where none shares any."""
        best = max(self._hits, default=0)
        return tuple(e for e, h in zip(self.elements, self._hits, strict=True) if h == best and h > 0)

    @cached_property
    def choices(self) -> tuple[Element, ...]:
        """The elements that could be meant: those that match equally well, else those of the most frequent kind."""
        if len(self.matches) > 1:
            return self.matches
        kinds = [(e.role, e.text) for e in self.elements]
        most = max(kinds, key=kinds.count, default=None)
        return tuple(e for e in self.elements if (e.role, e.text) == most)

    @property
    def meant(self) -> Element | None:
        """The one element that fits best, or the only one there is when a pronoun points at it; else none."""
        if len(self.matches) == 1:
            return self.matches[0]
        return self.elements[0] if len(self.elements) == 1 and THING & set(self.core) else None

    @property
    def given(self) -> str:
        """The person named after a verb of telling or a preposition; empty where it is a pronoun or nobody."""
        before = CLASSES["talk"] | TOWARDS | {"to", "with"}
        return next((b for a, b in pairwise(self.core) if a in before and self._name(b)), "")

    def _name(self, word: str) -> bool:
        return word[:1].isalpha() and word not in KNOWN

    @cached_property
    def shape(self) -> tuple[str, ...]:
        """The words from the verb on: each by its class, by itself where it has none, as "?" where it is unknown."""
        return tuple(CLASS_OF[w].upper() if w in CLASS_OF else w if w in KNOWN else "?" for w in self.core)

    @cached_property
    def cues(self) -> dict[str, str]:
        """Yes-or-no and small-number facts of the request, by name."""
        text, said = self.utterance.lower(), set(self.core)
        found = {
            "person": bool(said & PERSON),
            "thing": bool(said & THING),
            "given": bool(self.given),
            "time": bool(TIME.search(text)),
            "number": bool(NUMBER.search(text)),
            "content": bool(CONTENT.search(text)),
            "asks": self.verb in ASK,
            "meant": self.meant is not None,
            "bare": any(a in DETERMINER and b == "KIND" for a, b in pairwise(self.shape)),
            "app": bool(said & CLASSES["app"]),
            "shortcut": bool(said & CLASSES["shortcut"]),
            "blank": bool(said & CLASSES["blank"]),
            "screen": min(len(self.elements), 3),
            "matches": min(len(self.matches), 2),
            "hits": min(max(self._hits, default=0), 3),
            "length": min(len(self.core), 12) // 3,
        }
        lead = next((w for w in self.shape if w.isupper()), "none")
        return {name: str(int(value)) for name, value in found.items()} | {"lead": lead.lower()}

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The word classes that the request touches, sorted."""
        said = set(self.core)
        return tuple(sorted(name for name, members in CLASSES.items() if said & members))


def read(messages: Sequence[Message]) -> Request:
    """The request that a chat makes: elements of the first user message, and everything the user said."""
    pairs = [parted(m.content) for m in messages if m.role == "user"]
    said = [text for text, _ in pairs]
    parts = [text.rpartition(_SAID)[2].strip() for text in said]
    lines = said[0].splitlines() if said else []
    found = [match.groups() for match in map(_ELEMENT.match, lines) if match]
    elements = [Element(*fields) for fields in found]
    turns = sum(m.role == "assistant" for m in messages)
    return Request(
        " ".join(parts), tuple(e for e in elements if not e.furniture), turns, next((s for _, s in pairs if s), "")
    )


def words(text: str) -> tuple[str, ...]:
    """Lower-case words with the marks that belong inside them."""
    return tuple(_WORD.findall(text.lower()))


def stems(text: str) -> frozenset[str]:
    """Stems of the words of a text; the parts of `tax-return.zip` are words too."""
    return frozenset(stem(part) for word in words(text) for part in _PARTS.split(word) if part)


def stem(word: str) -> str:
    """A word without a plural or possessive ending."""
    bare = word.removesuffix("'s")
    return bare[:-1] if len(bare) > 3 and bare.endswith("s") and not bare.endswith("ss") else bare
