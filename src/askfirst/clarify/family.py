"""A family of tasks as a table: its keys, the ways to say each value, and the ways to word a request.

A table is text, one fact a line:

    title event planning
    field venue critical required
    noun the venue
    ask Where should it be? / Which venue do you want?
    cues where|venue|what place
    value home: at home / at my place / at the flat / in my living room
    also home: our flat will do / in the living room
    say Please set up a get-together: {facts}.
    beyond Write me a poem about rain.
    act cancel the old booking for good

Of the four ways to say a value, and of requests, the first half is for train, a quarter for dev and one for sealed.
A family that is only for evaluation has a line `unseen` and no train part: halves are for dev and sealed. Ways on a
line `also` are for train: they hold the words of which the ways of the other splits are made, so that what is new there
is the combination and not the vocabulary.
`cues` is a regular expression of whole words by which the simulated user finds what a question is about; those on a
line `weak` count only in a clause that holds no other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from askfirst.clarify.persona import PERSONAS

SPLITS = ("train", "dev", "sealed")
CONFIRM = "proceed"  # the key of an act that cannot be undone
YES, NO = "yes", "no"
_PUNCTUATION = re.compile(r"[^\w#%+ ]+")


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A key of a family's plans: its values with the ways to say each, and how it is asked about."""

    name: str
    critical: bool
    required: bool
    noun: str = ""
    ask: tuple[str, ...] = ()
    cues: str = ""
    weak: str = ""
    said: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def ways(self, value: str) -> tuple[str, ...]:
        """Every way to say an allowed value, of whatever split."""
        return (*self.said[value], *self.also.get(value, ()))

    @property
    def values(self) -> tuple[str, ...]:
        """The allowed values."""
        return tuple(self.said)


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """What a desk does: its fields, its requests, requests beyond it, and an act of it that cannot be undone."""

    name: str
    title: str = ""
    unseen: bool = False
    fields: tuple[Field, ...] = ()
    says: tuple[str, ...] = ()
    beyonds: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()

    def field(self, name: str) -> Field:
        """The field of that name; that of confirmation belongs to every family. Raises KeyError."""
        for each in (*self.fields, PROCEED):
            if each.name == name:
                return each
        raise KeyError(f"family {self.name} has no key {name!r}")

    def split(self, texts: tuple[str, ...], split: str) -> tuple[str, ...]:
        """The texts of a split by their place: see the module's text. Empty for the train split of an unseen family."""
        return part(texts, split, self.unseen)


def part(texts: tuple[str, ...], split: str, unseen: bool = False) -> tuple[str, ...]:
    """The share of a split in texts: half, a quarter and a quarter; of an unseen family nothing, a half and a half."""
    first = 0 if unseen else len(texts) // 2
    second = first + (len(texts) - first) // 2
    bounds = {"train": (0, first), "dev": (first, second), "sealed": (second, len(texts))}
    low, high = bounds[split]
    return texts[low:high]


def ways_of(family: Family, one: Field, value: str, split: str) -> tuple[str, ...]:
    """The ways to say a value that belong to a split; confirmation is said alike in every family."""
    own = part(one.said[value], split, family.unseen and one is not PROCEED)
    return (*own, *one.also.get(value, ())) if split == "train" else own


def plain(text: str) -> str:
    """A text for comparison: without case, marks and the difference of `-`, `_` and space."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("_", " ").replace("-", " ").replace("’", "'")
    return " ".join(_PUNCTUATION.sub(" ", folded.replace("'", "")).split())


def resolve(one: Field, value: object) -> str | None:
    """The allowed value that a plan's entry says, also in the words of a request or an answer; None where none."""
    if isinstance(value, bool):
        value = YES if value else NO
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int):
        return None
    known, said = _known(one), plain(str(value))
    bare = (inner for text in (said, *_uncarried(said)) for inner in (text, *_corrected(text)))
    return next((known[inner] for inner in bare if inner in known), None)


def _uncarried(said: str) -> list[str]:
    """What may be carried by an answer, by each of the carriers that it has the form of."""
    return [match[1] for pattern in _forms(False) if (match := pattern.fullmatch(said))]


def _corrected(said: str) -> list[str]:
    """What holds in an answer that takes something back."""
    return [match[1] for pattern in _forms(True) if (match := pattern.fullmatch(said))]


@lru_cache(maxsize=2)
def _forms(slips: bool) -> tuple[re.Pattern[str], ...]:
    """The carriers of all personas, or their slips, as patterns of plain text; the value is the only group."""
    if slips:
        forms = [each.slip.format(a="YY", b="XX") for each in PERSONAS.values() if each.slip]
    else:
        forms = [carrier.format("XX") for each in PERSONAS.values() for carrier in each.carriers]
    found = dict.fromkeys(map(plain, forms))
    return tuple(re.compile(form.replace("xx", "(.+)").replace("yy", ".+")) for form in found)


@lru_cache(maxsize=256)
def _known(one: Field) -> Mapping[str, str]:
    """Every way to say a value of the field → the value."""
    return {plain(way): name for name in one.said for way in (name, *one.ways(name))}


def read(name: str, table: str) -> Family:
    """A family from its table. Raises ValueError with the line that cannot be read."""
    fields: list[Field] = []
    lists: dict[str, list[str]] = {"say": [], "beyond": [], "act": []}
    title, unseen = "", False
    for word, rest in _lines(table):
        match word:
            case "title":
                title = rest
            case "unseen":
                unseen = True
            case "field":
                own, *marks = rest.split()
                fields.append(Field(own, "critical" in marks, "required" in marks))
            case "say" | "beyond" | "act":
                lists[word].append(rest)
            case "noun" | "ask" | "cues" | "weak" | "value" | "also" if fields:
                fields[-1] = _with(fields[-1], word, rest)
            case _:
                raise ValueError(f"family {name}: cannot read {word!r} {rest!r}")
    return Family(name, title, unseen, tuple(fields), *(tuple(lists[word]) for word in ("say", "beyond", "act")))


def _lines(table: str) -> Iterator[tuple[str, str]]:
    for line in table.strip().split("\n"):
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word, rest.strip()


def _with(one: Field, word: str, rest: str) -> Field:
    match word:
        case "noun":
            return replace(one, noun=rest)
        case "ask":
            return replace(one, ask=tuple(way.strip() for way in rest.split(" / ")))
        case "cues":
            return replace(one, cues=f"{one.cues}|{rest}".strip("|"))
        case "weak":
            return replace(one, weak=rest)
        case _:
            value, _, ways = rest.partition(": ")
            more = tuple(way.strip() for way in ways.split(" / "))
            if word == "also":
                return replace(one, also={**one.also, value: more})
            return replace(one, said={**one.said, value: (*one.said.get(value, ()), *more)})


PROCEED = Field(
    CONFIRM,
    critical=True,
    required=False,
    noun="going ahead",
    ask=("Are you sure that I should go ahead? It cannot be undone.", "Do you confirm that I should proceed?"),
    cues=(
        r"are you (?:\w+ )?(?:sure|certain)|do you (?:\w+ )?confirm|can you confirm|please confirm|confirm that"
        r"|go ahead|proceed|(?:cannot|can't|can not) be undone|(?:really|definitely) (?:want|do)|irreversible"
    ),
    said={
        YES: ("yes, go ahead", "yes, do it", "yes, please proceed", "yes, I am sure"),
        NO: ("no, leave it", "no, do not do it", "no, please keep it", "no, hold off"),
    },
)
