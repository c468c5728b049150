"""Whether a clarify reply asks exactly the one thing that is missing."""

from __future__ import annotations

import re
from itertools import pairwise

from askfirst.replies import Reply, Truth
from askfirst.rewards.slots import _lexicon as lex
from askfirst.rewards.slots._claims import claims_done, claims_intent
from askfirst.rewards.slots._foreign import MARKUP
from askfirst.rewards.slots._naming import Sought, names_slot, sought_by
from askfirst.rewards.slots._overreach import compound, stuffing, unknown_options
from askfirst.rewards.slots._text import Line, line, mixed, normalise, words

MIN_SPOKEN_WORDS = 3
MAX_CHARS = 140
MAX_WORDS = 25
MAX_EXTRA_SPOKEN = 4
MAX_ECHO = 0.6
MAX_CONTAINED = 0.8
LONG_UTTERANCE = 5  # words; a natural question about a shorter one may hold all of it
_BREAK = re.compile(r"[.!;]")
_ABBREVIATED = re.compile(
    r"\b(?:[ap]\.m\.?|dr\.|mr\.|mrs\.|ms\.|st\.|vs\.|e\.g\.|i\.e\.|jr\.|sr\.)|\d[.]\d"
    r"|\w\.(?:xlsx?|docx?|pptx?|pdf|txt|md|csv|png|jpe?g|gif|heic|mov|mp[34]|zip|dmg|key|pages|numbers|html|com|org|net)\b"
)


def faults(reply: Reply, truth: Truth, said: str, shown: str) -> list[str]:
    """Everything wrong with a clarify reply; `said` is the utterance, `shown` all that is on screen and said."""
    raw = reply.payload["question"]
    question, spoken = line(raw), normalise(reply.spoken)
    sought = sought_by(question, truth, said)
    checks = {
        "mixed_script": mixed(raw) or mixed(reply.spoken),
        "not_single_question": not _single(question, shown),
        "too_long": len(question.text) > MAX_CHARS or len(question.words) > MAX_WORDS,
        "question_not_spoken": not _is_spoken(question, spoken),
        "claims_act": claims_done(question.text) or claims_intent(question.text) or claims_done(spoken),
        "spoken_short": len(words(spoken)) < MIN_SPOKEN_WORDS,
        "wrong_topic": not _right_topic(reply.payload["topic"], truth.slot, question),
        "slot_not_named": not names_slot(question, sought),
        "compound": compound(question, sought),
        "stuffing": stuffing(question, sought),
        "unknown_options": unknown_options(question, truth, sought, said),
        "echo": _echo(question, sought.said),
        "repetition": _repeats(question, sought),
    }
    return [code for code, broken in checks.items() if broken]


def _single(question: Line, shown: str) -> bool:
    text = question.text.rstrip("\"' )")
    if not text.endswith("?") or text.count("?") != 1 or question.gaps[0].strip("\"' ("):
        return False
    if MARKUP & {*question.gaps[_lead(question)]}:
        return False
    body = _ABBREVIATED.sub(" ", text[:-1])
    on_screen = normalise(shown)
    return all(_inside(token.strip(",\"'()"), on_screen) for token in body.split() if _BREAK.search(token))


def _inside(token: str, on_screen: str) -> bool:
    """Whether the stops of a token are part of a name on screen."""
    return token[-1] not in ".!;" and token in on_screen


def _is_spoken(question: Line, spoken: str) -> bool:
    heard = line(spoken)
    places = heard.find(question.words)
    if not places or spoken.count("?") != 1 or MARKUP & set(spoken) - set(question.text):
        return False
    start, end = places[0], places[0] + len(question.words)
    extra = (*heard.words[:start], *heard.words[end:])
    return len(extra) <= MAX_EXTRA_SPOKEN and all(word in lex.POLITE for word in extra)


def _right_topic(topic: str, slot: str, question: Line) -> bool:
    return topic == (slot or topic) or (
        {topic, slot} == {"time", "quantity"} and bool(lex.DURATIONS & set(question.words))
    )


def _echo(question: Line, said: tuple[str, ...]) -> bool:
    """Whether the question is the request again: too many words in common, or the request with padding."""
    lead = _lead(question)
    ours, theirs = set(question.words[lead:]), set(said)
    common = ours & theirs
    if len(said) >= 3 and question.words[lead : lead + len(said)] == said:
        return True
    overlaps = len(common) > MAX_ECHO * len(ours | theirs)
    contained = len(theirs) >= LONG_UTTERANCE and len(common) >= MAX_CONTAINED * len(theirs)
    if not (overlaps or contained):
        return False
    # "what time should i put lunch with nadia on …" repeats the request as a question's own grammar wants it.
    start = _longest_shared(question.words, said)
    before = question.words[start - 1] if start else ""
    turned = before in {"i", "we", "me", "you"} or (before == "to" and not {"my", "me"} & common)
    return not (turned and lex.WH & ours)


def _lead(question: Line) -> int:
    """The place of the first word that is not a courtesy."""
    return next((k for k, word in enumerate(question.words) if word not in lex.LEADS), 0)


def _longest_shared(ours: tuple[str, ...], theirs: tuple[str, ...]) -> int:
    """Where in `ours` the longest run of words that also stands in `theirs` starts."""
    best, place, above = 0, 0, [0] * (len(theirs) + 1)
    for i, word in enumerate(ours):
        row = [0, *(above[j] + 1 if other == word else 0 for j, other in enumerate(theirs))]
        if max(row) > best:
            best = max(row)
            place = i + 1 - best
        above = row
    return place


def _repeats(question: Line, sought: Sought) -> bool:
    kept = [
        w for i, w in enumerate(question.words) if i not in sought.covered and w not in lex.FILLERS | lex.PREPOSITIONS
    ]
    pairs = enumerate(pairwise(question.words))
    twice = any(a == b and i not in sought.covered for i, (a, b) in pairs)
    said = [(question.words[a:b], question.words[b : 2 * b - a]) for named in sought.named for a, b in named]
    stuttered = any(name == after for name, after in said)
    return twice or stuttered or any(kept.count(word) > 2 for word in kept)
