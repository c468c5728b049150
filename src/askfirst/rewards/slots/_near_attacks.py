"""Replies that are honest but for one thing: an option that is not there, another edit, an answer that has none."""

from __future__ import annotations

from askfirst.rewards.slots import _settings as s
from askfirst.rewards.slots._settings import Row
from askfirst.values import Scenario

_OFFERS: tuple[tuple[str, Scenario, str, str], ...] = (
    ("first", s.PIN, "target", "which email, keemrea, xavier or margot?"),
    ("middle", s.PIN, "target", "which email, xavier, keemrea or margot?"),
    ("last", s.PIN, "target", "xavier, margot or keemrea?"),
    ("instead", s.PIN, "target", "which email, xavier or keemrea?"),
    ("behind", s.PIN, "target", "which email, xavier or margot, keemrea?"),
    ("and", s.PIN, "target", "xavier and keemrea or margot?"),
    ("is-it", s.PIN, "target", "is it keemrea, xavier or margot?"),
    ("do-you-mean", s.PIN, "target", "do you mean the keemrea one, xavier or margot?"),
    ("the-one-from", s.PIN, "target", "the one from keemrea, the one from xavier or the one from margot?"),
    ("possessive", s.PIN, "target", "xavier's, keemrea's or margot's?"),
    ("app", s.RECORD, "app", "should i use zoom, quicktime or garageband?"),
    ("versus", s.RECORD, "app", "quicktime vs photoshop?"),
    ("draft", s.DRAFT, "target", "which draft, the one to zoe, maya or owen?"),
    ("on-screen", s.MENU, "target", "which sheet, payroll, menu or rota?"),
)
_EDITS: tuple[tuple[str, Scenario, str, str], ...] = (
    ("expand", s.TRIM, "second paragraph", "expand"),
    ("longer-paragraph", s.TRIM, "selection", "make the second paragraph longer"),
    ("both-ways", s.TRIM, "second paragraph", "shorter and longer"),
    ("delete", s.TRIM, "second paragraph", "delete"),
    ("anything", s.TRIM, "second paragraph", "something nice"),
    ("casual", s.FORMAL, "selected text", "casual"),
    ("formal", s.RELAX, "this", "formal"),
    ("shorter", s.SPELL, "selection", "shorter"),
    ("no-list", s.BULLETS, "this paragraph", "bold"),
    ("shrink", s.GROW, "this paragraph", "shorten"),
    ("keeps", s.CUT, "last sentence", "expand"),
    ("words-of-the-new-text", s.SWAP, "first sentence", "expand"),
    ("despite-the-lead", s.WITH, "selection", "expand"),
)
_GIVEN: tuple[tuple[str, Scenario, str, str, str], ...] = (
    ("other-text", s.SWAP, "first sentence", "replace", "call me tomorrow"),
    ("padded-text", s.SWAP, "first sentence", "replace", "we should buy a house tomorrow"),
    ("no-text", s.SWAP, "first sentence", "replace", ""),
    ("other-line", s.ADD, "the end", "append", "kind regards"),
)
_ANSWERS: tuple[tuple[str, Scenario, str, str], ...] = (
    ("unknown", s.BADGE, "i don't know", ""),
    ("unknown-text", s.BADGE, "here you go", "unknown"),
    ("no-idea", s.BADGE, "no idea, sorry.", ""),
    ("no-unknown", s.BADGE, "no, i don't know.", ""),
    ("unknown-request", s.BADGE, "i don't know what the grey badge means.", "not sure"),
    ("unknown-me", s.KNOWN, "i don't know.", ""),
    ("unknown-asks", s.BADGE, "i don't know. and how many?", ""),
    ("asks-after-courtesies", s.TABS, "okay, one thing first and which item?", ""),
)
_STUTTER = "xavier xavier or margot?"

NEAR: tuple[Row, ...] = (
    *((f"options/third-{n}", where, s.ask(q, topic), "offers what is not there") for n, where, topic, q in _OFFERS),
    ("options/stuttered", s.PIN, s.ask(_STUTTER, "target"), "a name twice"),
    *(
        (f"act/edit-{name}", where, s.reply("okay, on it.", "edit", reference=at, transform=to), "another edit")
        for name, where, at, to in _EDITS
    ),
    *(
        (
            f"act/edit-{name}",
            where,
            s.reply("okay, on it.", "edit", reference=at, transform=to, argument=text),
            "not the text that was said",
        )
        for name, where, at, to, text in _GIVEN
    ),
    *(
        (f"act/answer-{name}", where, s.reply(spoken, "answer", text=text), "has no answer")
        for name, where, spoken, text in _ANSWERS
    ),
)
