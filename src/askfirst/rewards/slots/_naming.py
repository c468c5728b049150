"""Whether a question asks for the missing slot, or offers the things that could be meant."""

from __future__ import annotations

from dataclasses import dataclass

from askfirst.replies import SLOT_NAMES, Truth
from askfirst.rewards.slots import _lexicon as lex
from askfirst.rewards.slots._text import Line, normalise, stem, words

MAX_GAP = 6  # words between "which" and its noun
_GENERIC = {
    slot: frozenset(tuple(way.split()) for way in (*ways, *lex.MORE_NAMES.get(slot, ())))
    for slot, ways in SLOT_NAMES.items()
}


@dataclass(frozen=True, slots=True)
class Sought:
    """What the question is compared with; `named` holds, for each candidate, the word ranges that name it."""

    slot: str
    ways: tuple[tuple[str, ...], ...]
    said: tuple[str, ...]
    heard: frozenset[str]
    named: tuple[tuple[tuple[int, int], ...], ...]
    covered: frozenset[int]


def sought_by(question: Line, truth: Truth, said: str) -> Sought:
    """What a question to the utterance `said` is compared with."""
    heard = _tokens(said)
    ways = tuple(sorted(_acceptable(truth, frozenset(heard))))
    named = _candidates(question, truth)
    covered = frozenset(i for each in named for a, b in each for i in range(a, b))
    return Sought(truth.slot, ways, heard, frozenset(heard), named, covered)


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(words(normalise(text)))


def _acceptable(truth: Truth, heard: frozenset[str]) -> set[tuple[str, ...]]:
    """The ways to name the slot. With things to choose from on screen, "what should i do?" would fit any request."""
    generic = _GENERIC.get(truth.slot, frozenset())
    names = {*map(_tokens, truth.names)} - {()}
    if truth.slot != "target" or not truth.candidates:
        return names | generic
    special = names - generic
    said_noun = {stem(word) for word in heard} & {stem(way[-1]) for way in special}
    return special if said_noun else special | lex.ITEMS


def _candidates(question: Line, truth: Truth) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each candidate, where it is named, as itself or as an owner ("ravi's"); a way that two candidates share tells
    neither apart."""
    names = [{*map(_tokens, each)} - {()} for each in truth.candidates]
    ways = [own | {(*way[:-1], f"{way[-1]}'s") for way in own} for own in names]
    spans = []
    for k, own in enumerate(ways):
        others = set().union(*ways[:k], *ways[k + 1 :])
        spans.append([(i, i + len(way)) for way in own - others for i in question.find(way)])
    every = [span for each in spans for span in each]
    # A span inside a longer one belongs to the longer name.
    return tuple(
        tuple((a, b) for a, b in each if not any(c <= a and b <= d and d - c > b - a for c, d in every))
        for each in spans
    )


def names_slot(question: Line, sought: Sought) -> bool:
    """Whether the question asks for the slot in one of the acceptable ways, or lets choose between candidates."""
    if not question.words or question.words[-1] in lex.DANGLING:
        return False
    found = sum(map(bool, sought.named))
    if found and found >= min(2, len(sought.named)) and ({"or", "vs", "versus"} | lex.WH) & set(question.words):
        return True
    fill = lex.FILLERS | sought.heard
    return any(_asks_for(question, way, fill, sought) for way in sought.ways)


def _asks_for(question: Line, way: tuple[str, ...], fill: frozenset[str], sought: Sought) -> bool:
    if way[-1] in lex.JARGON:
        return False
    if way[0] in lex.WH:
        if any(_asks(question, i, i + len(way), sought) for i in question.find(way)):
            return True
        noun = way[1:] if way[0] in {"which", "what"} else ()
        return bool(noun) and noun[0] not in lex.AUX and _which(question, noun, fill, sought)
    return _which(question, way, fill, sought) or _requested(question, way)


def _asks(question: Line, start: int, end: int, sought: Sought) -> bool:
    """Whether the phrase in [start, end) stands where a question is asked and goes on as one."""
    return _leads_up(question, start, sought) and _goes_on(question, end, sought)


def _leads_up(question: Line, i: int, sought: Sought) -> bool:
    opens = next(k for k in range(i, -1, -1) if question.starts_clause(k))
    before = [word for word in question.words[opens:i] if word not in lex.LEADS | lex.AND]
    in_place = bool(before) and before[-1] in lex.PREPOSITIONS
    if in_place:
        before.pop()  # "to whom …"
    if not before:
        return True
    if before[-1] in lex.CUES and before[0] in lex.OPENERS:
        return not (lex.NEGATIONS & {*before} and lex.NEEDS & {*before})
    return in_place and (before[0] in lex.AUX or before[0] in sought.heard)


def _goes_on(question: Line, end: int, sought: Sought) -> bool:
    last = question.words[end - 1]
    if end == len(question.words) or question.starts_clause(end):
        return last not in lex.UNFINISHED
    following = question.words[end]
    if lex.NOUNS.get(following, sought.slot) != sought.slot and following not in sought.heard:
        return False  # "what should the" + "time be" asks for another slot
    known = following in lex.AFTER | sought.heard or end in sought.covered or any(following in w for w in sought.ways)
    takes_object = last in lex.UNFINISHED | lex.COUNTS
    return takes_object or known or "'" in following or following.endswith("s")


def _which(question: Line, noun: tuple[str, ...], fill: frozenset[str], sought: Sought) -> bool:
    """Whether "which" or "what" asks for the noun, with only fillers or words of the utterance between."""
    last = len(question.words) - len(noun)
    for i, word in enumerate(question.words):
        if word not in {"which", "what", "whose"}:
            continue
        for j in range(i + 1, min(i + 2 + MAX_GAP, last + 1)):
            if _same(question.words[j : j + len(noun)], noun) and _asks(question, i, j + len(noun), sought):
                return True
            if question.words[j] not in fill or question.starts_clause(j):
                break
    return False


def _same(found: tuple[str, ...], noun: tuple[str, ...]) -> bool:
    return found[:-1] == noun[:-1] and stem(found[-1]) == stem(noun[-1])


def _requested(question: Line, noun: tuple[str, ...]) -> bool:
    """Whether the noun is asked for as "could you give me the N", "is the N … or …"."""
    for i in question.find(noun):
        start = next(k for k in range(i, -1, -1) if question.starts_clause(k))
        before = [word for word in question.words[start:i] if word not in lex.LEADS]
        if not lex.ARTICLES & {*before[-2:]}:
            continue
        if before[0] in lex.AUX and lex.GIVE & {*before[1:]}:
            return True
        if before[0] in lex.AUX and len(before) == 2 and "or" in question.words[i:]:
            return True
    return False
