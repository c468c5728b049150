"""Whether a clarify reply asks exactly the one thing that is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from askfirst.replies import SLOT_NAMES, Reply, Truth
from askfirst.rewards.slots._claims import claims_done, claims_intent
from askfirst.rewards.slots._text import Line, joined, line, mixed, normalise, stem, words

MIN_SPOKEN_WORDS = 3
MAX_CHARS = 140
MAX_WORDS = 25
MAX_EXTRA_SPOKEN = 4
MAX_ECHO = 0.6
MAX_CONTAINED = 0.8
LONG_UTTERANCE = 5  # words; a natural question about a shorter one may hold all of it
MAX_GAP = 6  # words between "which" and its noun

_WH = frozenset("who whom whose when where why how which what".split())
_AUX = frozenset("should shall do does did can could would will is are was were may might have has".split())
_SUBJECTS = frozenset("i you we it that this these those they he she the there your".split())
_AND = frozenset("and or but plus also then".split())
_PREPOSITIONS = frozenset(
    """
    to for at with from of until till by in on into onto under about after before than as
    """.split()
)
# After these an embedded question may stand: "tell me who", "i don't know when".
_CUES = frozenset(
    """
    me know say specify share clarify ask sure unsure certain decide choose pick wondering tell see
    """.split()
)
_LEADS = frozenset(
    """
    sure okay ok alright right hey hi hmm um oh so well yes yeah please sorry thanks just exactly and
    """.split()
)
_FILLERS = frozenset(
    """
    of the these those this that your my our their its a an is are was should would will be kind sort type exact
    specific particular new right other open current one two three start starting end best
    """.split()
)
_WRITES = ("write", "type", "say", "put", "note", "jot")
_GIVE = frozenset(
    """
    give tell share provide specify name say know have get need confirm clarify choose pick add mention suggest
    prefer like want there see
    """.split()
)
_ARTICLES = frozenset("the a an your any some their its that".split())
# Words around a question that neither act nor ask.
_POLITE = frozenset(
    """
    sure okay ok alright right hey hi hello hmm um oh well yes yeah happy to help of course got it quick
    question one thing first please thanks thank you sorry no problem great absolutely certainly glad good
    before i do that just so and let me check with can need know more a bit detail there
    """.split()
)
# Natural ways to name a slot beyond those that the protocol lists.
_MORE_NAMES = {
    "content": (
        *(
            f"what {ask} {verb}"
            for ask in ("should i", "would you like me to", "do you want me to")
            for verb in _WRITES
        ),
        "what do you want it to say",
        "what would you like it to say",
    ),
    "target": ("what you need", "what you mean", "what do you need", "what do you mean", "what needs"),
}
# What to call one of several things when the request itself has no noun for them.
_ITEMS = frozenset({"which item", "what item", "which thing", "what thing"})
# A duration is a quantity of time: either topic is right for it.
_DURATIONS = frozenset({"long", "duration", "length", "minutes", "seconds", "hours"})
# A word of the protocol that no listener would understand does not name anything.
_JARGON = frozenset({"target"})
_NOUNS = {
    **dict.fromkeys(("recipient", "recipients", "person", "people", "contact", "addressee"), "recipient"),
    **dict.fromkeys(("time", "day", "date", "hour", "deadline"), "time"),
    **dict.fromkeys(("target",), "target"),
    **dict.fromkeys(("app", "application", "program"), "app"),
    **dict.fromkeys(("content", "contents", "wording", "words", "text", "message", "body"), "content"),
    **dict.fromkeys(("quantity", "amount", "duration", "length", "number", "percentage", "size"), "quantity"),
    **dict.fromkeys(("place", "location"), "place"),
}
_BREAK = re.compile(r"[.!;]")
_ABBREVIATED = re.compile(
    r"\b(?:[ap]\.m\.?|dr\.|mr\.|mrs\.|ms\.|st\.|vs\.|e\.g\.|i\.e\.|jr\.|sr\.)|\d[.]\d"
    r"|\w\.(?:xlsx?|docx?|pptx?|pdf|txt|md|csv|png|jpe?g|gif|heic|mov|mp[34]|zip|dmg|key|pages|numbers|html|com|org|net)\b"
)
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class _Sought:
    """What the question is compared with; `named` holds, for each candidate, the word ranges that name it."""

    slot: str
    ways: tuple[tuple[str, ...], ...]
    said: tuple[str, ...]
    heard: frozenset[str]
    named: tuple[tuple[tuple[int, int], ...], ...]
    covered: frozenset[int]


def faults(reply: Reply, truth: Truth, said: str, shown: str) -> list[str]:
    """Everything wrong with a clarify reply; `said` is the utterance, `shown` all that is on screen and said."""
    raw = reply.payload["question"]
    question, spoken = line(raw), normalise(reply.spoken)
    sought = _sought(question, truth, said)
    checks = {
        "mixed_script": mixed(raw) or mixed(reply.spoken),
        "not_single_question": not _single(question, shown),
        "too_long": len(question.text) > MAX_CHARS or len(question.words) > MAX_WORDS,
        "question_not_spoken": not _is_spoken(question, spoken),
        "claims_act": claims_done(question.text) or claims_intent(question.text) or claims_done(spoken),
        "spoken_short": len(words(spoken)) < MIN_SPOKEN_WORDS,
        "wrong_topic": not _right_topic(reply.payload["topic"], truth.slot, question),
        "slot_not_named": not _names(question, sought),
        "compound": _compound(question, sought),
        "stuffing": _stuffing(question, sought),
        "unknown_options": not sought.covered
        and _strangers(question, truth, sought)
        and _lists_options(question, said),
        "echo": _echo(question, sought.said),
        "repetition": _repeats(question, sought),
    }
    return [code for code, broken in checks.items() if broken]


def _sought(question: Line, truth: Truth, said: str) -> _Sought:
    heard = tuple(words(normalise(said)))
    ways = tuple(tuple(words(normalise(way))) for way in _acceptable(truth, heard))
    named = _candidates(question, truth)
    covered = frozenset(i for each in named for a, b in each for i in range(a, b))
    return _Sought(truth.slot, tuple(way for way in ways if way), heard, frozenset(heard), named, covered)


def _acceptable(truth: Truth, heard: tuple[str, ...]) -> list[str]:
    """The ways to name the slot. With things to choose from on screen, "what should i do?" would fit any request."""
    generic = {*SLOT_NAMES.get(truth.slot, ()), *_MORE_NAMES.get(truth.slot, ())}
    if truth.slot != "target" or not truth.candidates:
        return sorted({*truth.names, *generic})
    special = set(truth.names) - generic
    said_noun = {stem(word) for word in heard} & {stem(word) for way in special for word in words(normalise(way))[-1:]}
    return sorted(special if said_noun else special | _ITEMS)


def _single(question: Line, shown: str) -> bool:
    text = question.text.rstrip("\"' )")
    if not text.endswith("?") or text.count("?") != 1:
        return False
    body = _ABBREVIATED.sub(" ", text[:-1])
    if not _BREAK.search(body):
        return True
    on_screen = normalise(shown)
    return all(_inside(token.strip(",\"'()"), on_screen) for token in body.split() if _BREAK.search(token))


def _inside(token: str, on_screen: str) -> bool:
    """Whether the stops of a token are part of a name on screen."""
    return len(token) > 2 and token[-1] not in ".!;" and token[0] not in ".!;" and token in on_screen


def _is_spoken(question: Line, spoken: str) -> bool:
    heard = line(spoken)
    places = heard.find(question.words)
    if not question.words or not places or spoken.count("?") != 1:
        return False
    start, end = places[0], places[0] + len(question.words)
    extra = (*heard.words[:start], *heard.words[end:])
    return len(extra) <= MAX_EXTRA_SPOKEN and all(word in _POLITE for word in extra)


def _right_topic(topic: str, slot: str, question: Line) -> bool:
    return topic == (slot or topic) or (
        {topic, slot} == {"time", "quantity"} and bool(_DURATIONS & set(question.words))
    )


def _asking(question: Line, i: int) -> bool:
    """Whether a question word at i asks: it opens a clause, or follows a preposition, a cue or a conjunction."""
    if question.starts_clause(i):
        return True
    before = question.words[i - 1]
    if before in _PREPOSITIONS or before in _CUES or before in _AND:
        return True
    while i > 0 and not question.starts_clause(i):
        i -= 1
        if question.words[i] not in _LEADS:
            return False
    return True


def _candidates(question: Line, truth: Truth) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each candidate, where it is named; a way that two candidates share tells neither apart."""
    ways = [{tuple(words(normalise(way))) for way in each} - {()} for each in truth.candidates]
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


def _names(question: Line, sought: _Sought) -> bool:
    found = sum(map(bool, sought.named))
    if found and found >= min(2, len(sought.named)) and ({"or", "vs", "versus"} | _WH) & set(question.words):
        return True
    fill = _FILLERS | sought.heard
    return any(_asks_for(question, way, fill, sought) for way in sought.ways)


def _asks_for(question: Line, way: tuple[str, ...], fill: frozenset[str], sought: _Sought) -> bool:
    if way[-1] in _JARGON:
        return False
    if way[0] in _WH:
        if any(_asking(question, i) and not _turns_away(question, i + len(way), sought) for i in question.find(way)):
            return True
        noun = way[1:] if way[0] in {"which", "what"} else ()
        return bool(noun) and noun[0] not in _AUX and _which(question, noun, fill)
    if way[0] in _PREPOSITIONS and any(word in _WH for word in way):
        return bool(question.find(way))
    return _which(question, way, fill) or _requested(question, way)


def _turns_away(question: Line, i: int, sought: _Sought) -> bool:
    """Whether the phrase that ends at i goes on to another slot ("what should the" + "time be")."""
    following = question.words[i] if i < len(question.words) else ""
    return _NOUNS.get(following, sought.slot) != sought.slot and following not in sought.heard


def _which(question: Line, noun: tuple[str, ...], fill: frozenset[str]) -> bool:
    """Whether "which" or "what" asks for the noun, with only fillers or words of the utterance between."""
    last = len(question.words) - len(noun)
    for i, word in enumerate(question.words):
        if word not in {"which", "what", "whose"} or not _asking(question, i):
            continue
        for j in range(i + 1, min(i + 2 + MAX_GAP, last + 1)):
            if _same(question.words[j : j + len(noun)], noun):
                return True
            if question.words[j] not in fill or question.starts_clause(j):
                break
    return False


def _same(found: tuple[str, ...], noun: tuple[str, ...]) -> bool:
    return found[:-1] == noun[:-1] and (found[-1] == noun[-1] or stem(found[-1]) == stem(noun[-1]))


def _requested(question: Line, noun: tuple[str, ...]) -> bool:
    """Whether the noun is asked for as "could you give me the N", "is the N … or …"."""
    for i in question.find(noun):
        start = next(k for k in range(i, -1, -1) if question.starts_clause(k))
        before = [word for word in question.words[start:i] if word not in _LEADS]
        if len(before) < 2 or not _ARTICLES & {*before[-2:]}:
            continue
        if before[0] in _AUX and _GIVE & {*before[1:]}:
            return True
        if before[0] in _AUX and len(before) == 2 and "or" in question.words[i:]:
            return True
    return False


def _segments(question: Line) -> list[tuple[int, int]]:
    """The parts that could each ask on their own, as word ranges."""
    if not question.words:
        return []
    starts = [i for i in range(len(question.words)) if question.starts_clause(i) or _second(question, i)]
    return list(zip(starts, [*starts[1:], len(question.words)], strict=True))


def _second(question: Line, i: int) -> bool:
    found = question.words
    if found[i - 1] not in _AND and found[i] != "&":
        return False
    inner = i + 1 if found[i] in _PREPOSITIONS and i + 1 < len(found) else i
    return found[inner] in _WH or _inverted(found, i)


def _inverted(found: tuple[str, ...], i: int) -> bool:
    return found[i] in _AUX and i + 1 < len(found) and found[i + 1] in _SUBJECTS


def _compound(question: Line, sought: _Sought) -> bool:
    """Whether more than one thing is asked; an offer of candidates ("…, is it a or b") is part of the question."""
    found, covered = question.words, sought.covered
    asked = [i for i, word in enumerate(found) if word in _WH and word not in sought.heard and i not in covered]
    if len(asked) > 1:
        return True
    own = {"which", "what", *(way[0] for way in sought.ways)}
    if covered and any(found[i] not in own for i in asked):
        return True
    count = 0
    for start, end in _segments(question):
        lead = next((k for k in range(start, end) if found[k] not in _LEADS | _AND), start)
        here = [i for i in asked if start <= i < end]
        inverted = _inverted(found, lead) and not covered & set(range(start, end))
        # "could you give me the app who is coming": the question word belongs to a second question.
        count += (inverted or bool(here)) + (inverted and any(not _asking(question, i) for i in here))
    return count > 1


def _stuffing(question: Line, sought: _Sought) -> bool:
    """Whether nouns of other slots are strung together ("the time, the app or the words")."""
    own = {word for way in sought.ways for word in way} | sought.heard
    listed = {
        _NOUNS[word]
        for i, word in enumerate(question.words)
        if word in _NOUNS and word not in own and i not in sought.covered and _listed(question, i)
    }
    return bool(listed - {sought.slot})


def _listed(question: Line, i: int) -> bool:
    k = i
    while k > 0 and question.words[k - 1] in _ARTICLES | {"which", "what"} and not question.starts_clause(k):
        k -= 1
    if k == 0 or question.starts_clause(k) or question.words[k - 1] in _AND:
        return k > 0 or k == i
    return k < i and i + 1 < len(question.words) and question.words[i + 1] in {"or", "and"}


def _strangers(question: Line, truth: Truth, sought: _Sought) -> bool:
    """Whether there are candidates and no word of the question comes from one of them."""
    known = {word for each in truth.candidates for way in each for word in words(normalise(way))}
    known -= {word for way in sought.ways for word in way} | _FILLERS
    return bool(truth.candidates) and not known & set(question.words)


def _lists_options(question: Line, said: str) -> bool:
    heard = joined(said)
    if any(f" {' '.join(words(quoted))} " not in heard for quoted in _QUOTED.findall(question.text)):
        return True
    found = question.words
    return any(word == "or" and found[i + 1 : i + 2] not in (("so",), ("not",)) for i, word in enumerate(found))


def _echo(question: Line, said: tuple[str, ...]) -> bool:
    """Whether the question is the request again: too many words in common, or the request with padding."""
    ours, theirs = set(question.words), set(said)
    common = ours & theirs
    lead = next((k for k, word in enumerate(question.words) if word not in _LEADS), 0)
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
    return not (turned and _WH & ours)


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


def _repeats(question: Line, sought: _Sought) -> bool:
    kept = [w for i, w in enumerate(question.words) if i not in sought.covered and w not in _FILLERS | _PREPOSITIONS]
    pairs = zip(question.words, question.words[1:], strict=False)
    twice = any(a == b for a, b in pairs if a not in {"that", "had"})
    return (twice and not sought.covered) or any(kept.count(word) > 2 for word in set(kept) - _AND - {"i", "you"})
