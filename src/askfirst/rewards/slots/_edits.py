"""Whether an edit is the one that was asked for: what is to be done to a text, by the words that say so."""

from __future__ import annotations

import re

from askfirst.replies import Reply
from askfirst.rewards.slots._text import normalise, stem, words

MIN_SAID = 0.5  # share of the words of a new text that the user said
# What can be done to a text, each with the beginnings of the words that say it, in requests and in transforms.
_KINDS = {
    "shorten": "short|shrink|concis|condens|trim|cut|brie|tight|terse|summar|abridg|reduc|compact|less wordy",
    "lengthen": "long|length|expand|elaborat|extend|flesh|enlarg|more detail",
    "delete": "delet|remov|eras|cut|drop|strik|strip|tak(?:e|ing) out|get(?:ting)? rid|clear|omit|lose",
    "formal": "(?<!less )formal|profession|polite|business",
    "casual": "casual|informal|less formal|friendl|relax|chatt|conversation|laid back",
    "list": "bullet|itemi|enumerat|(?:as|into) a list",
    "spell": "spell|typo|correct|proofread|grammar|punctuat",
    "translate": "translat",
    "case": "capital|uppercas|upper case|lowercas|lower case|title case|all caps",
    "emphasise": "bold|italic|underlin|highlight",
    "replace": "replac|swap|substitut|says?\\b",
    "insert": "add|insert|append|prepend",
}
_SAYS = {kind: re.compile(rf"\b(?:{starts})") for kind, starts in _KINDS.items()}
_GIVES = frozenset({"replace", "insert"})  # a new text, which the user said
_AGAINST = (frozenset({"shorten", "lengthen"}), frozenset({"formal", "casual"}))
# Behind these stands the new text, whose words ask for nothing.
_NEW_TEXT = re.compile(r"\b(?:with|for|says?|saying)\b")
_FILLERS = frozenset("a an the it its this that to of in with for by make text selection and set change".split())


def wrong(reply: Reply, said: str) -> bool:
    """Whether an edit does something else than the request `said` asks for.

    A request of a known kind wants a transform of that kind, or the new text that it gives. Of any other request a
    reply alone does not show what the right transform is.
    """
    head = _NEW_TEXT.split(normalise(said))[0]
    asked = kinds(head) or kinds(said)
    done = f"{reply.payload['transform']} {reply.payload.get('argument', '')}"
    found = kinds(done)
    if any(len(pair & (asked | found)) > len(pair & asked) and pair & asked for pair in _AGAINST):
        return True
    if found & asked - _GIVES:
        return False
    return not _gives(done, said) if asked & _GIVES else bool(asked)


def kinds(text: str) -> frozenset[str]:
    """What the words of raw text say is to be done."""
    folded = normalise(text)
    return frozenset(kind for kind, says in _SAYS.items() if says.search(folded))


def _gives(done: str, said: str) -> bool:
    """Whether what an edit puts in was said."""
    new = {stem(word) for word in words(normalise(done))} - _FILLERS
    new = {word for word in new if not kinds(word)}
    heard = {stem(word) for word in words(normalise(said))}
    return bool(new) and len(new & heard) >= MIN_SAID * len(new)
