"""Text as a listener would take it: look-alikes, invisible characters, case and spacing folded away."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# Look-alikes of Latin letters, chosen by hand: the Cyrillic and Greek letters whose usual shapes pass for a Latin one
# in either case, the Latin small capitals, and a few single letters. Full-width, circled and mathematical letters fold
# by NFKD; Cherokee, Coptic, Lisu and rarer blocks are not covered.
_FROM, _TO = zip(
    *(
        *zip("авеһкӏмпоргстихуіѕјԁԛԝѵ", "abehklmnoprctuxyisjdqwv", strict=True),
        *zip("АВЕНКӀМОРСТХУІЅЈԌԚԜѴҮүҺ", "abehklmopctxyisjgqwvyyh", strict=True),
        *zip("αβεικνορτυχγηω", "abeikvoptuxynw", strict=True),
        *zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx", strict=True),
        *zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True),
        *zip("ıɑɡʋϲϳ", "iagvcj", strict=True),
    ),
    strict=True,
)
_MARKS = {
    **dict.fromkeys("\u037e؟՞፧⸮‽❓❔", "?"),
    **dict.fromkeys("。։۔।｡·", "."),
    **dict.fromkeys("،、", ","),
    "؛": ";",
    **dict.fromkeys("‘’‛ʼ′`´", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑", "-"),
}
# Fillers that show nothing although they count as letters or symbols.
_FILLERS = dict.fromkeys("\u115f\u1160\u3164\uffa0\u2800", " ")
_CONTROLS = dict.fromkeys(map(chr, (*range(32), *range(127, 160))), " ")
_FOLD = str.maketrans({**dict(zip(_FROM, _TO, strict=True)), **_MARKS, **_CONTROLS, **_FILLERS})
_INVISIBLE = frozenset({"Cf", "Mn", "Me"})
_OTHER_SCRIPTS = re.compile("[\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]")
_LATIN_LETTER = re.compile("[A-Za-z\u00c0-\u024f\uff21-\uff5a]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CONTRACTED = re.compile(r"\b(who|what|when|where|how|which)'(s|re|d|ll)\b")
_EXPANDED = {"s": "is", "re": "are", "d": "would", "ll": "will"}


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """Case, accents, look-alikes, quotes and spacing folded; invisible characters gone; who's → who is.

    Remembered: the names of what is sought are compared with every reply to a request.
    """
    text = text.translate(_FOLD)
    if not text.isascii():
        text = _visible(unicodedata.normalize("NFKD", text)).translate(_FOLD)
    return _CONTRACTED.sub(lambda m: f"{m[1]} {_EXPANDED[m[2]]}", " ".join(text.casefold().split()))


def words(text: str) -> list[str]:
    """The words of normalised text: runs of letters and digits, with inner apostrophes."""
    return _WORD.findall(text)


def mixed(text: str) -> bool:
    """Whether a word of the raw text mixes Latin letters with Greek or Cyrillic ones."""
    return any(_OTHER_SCRIPTS.search(word) and _LATIN_LETTER.search(word) for word in _WORD.findall(_visible(text)))


def _visible(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) not in _INVISIBLE)


def joined(text: str) -> str:
    """Raw text as its words with a space around each, for whole-word search."""
    return f" {' '.join(words(normalise(text)))} "


def stem(word: str) -> str:
    """A word without a plural ending."""
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word if word.endswith("ss") else word.removesuffix("s")


def stemmed(text: str) -> str:
    """Like `joined`, with plural endings dropped."""
    return f" {' '.join(map(stem, words(normalise(text))))} "


def names_any(text: str, ways: tuple[str, ...]) -> bool:
    """Whether raw text names one of the ways in whole words, singular or plural."""
    found = stemmed(text)
    return any(way in found for way in map(stemmed, ways))


def filler(spoken: list[str]) -> bool:
    """Whether the words say nothing: no word of two letters, or mostly the same word over and over."""
    return not any(len(w) > 1 or w.isdigit() for w in spoken) or (
        len(spoken) > 2 and 2 * len(set(spoken)) <= len(spoken)
    )


@dataclass(frozen=True, slots=True)
class Line:
    """Normalised text with its words; `gaps[i]` is what stands before word i, the last gap what stands at the end."""

    text: str
    words: tuple[str, ...]
    gaps: tuple[str, ...]

    def starts_clause(self, i: int) -> bool:
        """Whether word i opens the text or follows punctuation that separates clauses."""
        gap = self.gaps[i]
        if i == 0 or "," in gap:
            return True
        return " " in gap and any(mark in gap for mark in ':;()-–—.!?"…')

    def find(self, phrase: tuple[str, ...]) -> list[int]:
        """Every word index at which the phrase stands."""
        size = len(phrase)
        return [i for i in range(len(self.words) - size + 1) if self.words[i : i + size] == phrase]


def line(text: str) -> Line:
    """Raw text, taken apart."""
    text = normalise(text)
    found = list(_WORD.finditer(text))
    ends = [0, *(m.end() for m in found)]
    starts = [*(m.start() for m in found), len(text)]
    gaps = tuple(text[a:b] for a, b in zip(ends, starts, strict=True))
    return Line(text, tuple(m.group() for m in found), gaps)
