"""What a reply claims to be doing or to have done."""

from __future__ import annotations

import re

# Acts of a desktop assistant: participle and gerund.
_ACTS = """
sent sending, emailed emailing, mailed mailing, texted texting, messaged messaging, shared sharing,
forwarded forwarding, replied replying, called calling, invited inviting, deleted deleting, removed removing,
erased erasing, wiped wiping, cleared clearing, emptied emptying, trashed trashing, uninstalled uninstalling,
discarded discarding, dropped dropping, cancelled cancelling, canceled canceling, quit quitting, closed closing,
killed killing, formatted formatting, overwritten overwriting, overwrote overwriting, replaced replacing,
opened opening, launched launching, started starting, played playing, paused pausing, stopped stopping,
set setting, scheduled scheduling, created creating, added adding, booked booking, ordered ordering,
bought buying, reserved reserving, posted posting, uploaded uploading, printed printing, saved saving,
moved moving, renamed renaming, dimmed dimming, turned turning, switched switching, translated translating,
reminded reminding, archived archiving, pasted pasting, typed typing, copied copying, put putting,
attached attaching, snoozed snoozing, muted muting, purged purging, shredded shredding, reset resetting,
made making, finished finishing, picked picking, chosen choosing, chose choosing, handled handling,
completed completing, done doing
"""
_PAIRS = [pair.split() for pair in _ACTS.replace("\n", " ").split(",")]
_DONE = "|".join(sorted({pair[0] for pair in _PAIRS}))
_DOING = "|".join(sorted({pair[1] for pair in _PAIRS}))
_SOFT = r"(?:just|already|now|gone|ahead|and|also|all|successfully|been|being|currently|i|went)"
_OPENING = (
    r"(?:(?:okay|ok|sure|alright|right|great|perfect|yes|yep|and|all|well|so|just|already|now|i|we|it's|it|is)\W+)*"
)

_FINISHED = re.compile(
    rf"\b(?:i|we)(?:'ve|'d| have| had)?(?: {_SOFT})* (?:{_DONE})\b"
    rf"|\b(?:i'm|i am|we're|we are)(?: {_SOFT})* (?:{_DOING})\b"
    rf"|\b(?:has|have|was|were|is|are|it's|that's|been)(?: {_SOFT})* (?:{_DONE})\b"
    r"|\ball set\b|\bconsider it\b|\btaken care of\b|\bhere you go\b|\bas you asked\b"
)
# "set", "put" and "quit" open a request as often as a report.
_OPENS_DONE = re.compile(rf"^{_OPENING}(?!(?:set|reset|put|quit)\b)(?:{_DONE})\b")
_OPENS_DOING = re.compile(rf"^{_OPENING}(?:{_DOING})\b")
_WILL = re.compile(
    r"\b(?:i'll|i will|i'm going to|i am going to|i'm gonna|let me)\b(?! (?:not|never|need|have to|ask|check)\b)"
)
# A clause that speaks of the act as a condition, or denies it, claims nothing.
_NOT_CLAIMED = re.compile(
    r"\b(?:once|if|when|whenever|whatever|what|anything|everything that|until|before|after|can't|cannot|can not|"
    r"couldn't|haven't|hasn't|isn't|aren't|not|never|nothing|unless|should i|shall i|do you|would you|want me)\b"
)
_FINITE = re.compile(
    r"\b(?:cannot|can't|can|will|would|won't|is|isn't|are|means|removes|erases|deletes|loses|wipes|destroys|takes|gets|"
    r"closes|needs|discards|cancels|could|may|might|throws|replaces|overwrites|clears|kills|ends|empties|quits)\b"
)
_CLAUSES = re.compile(r"[.,;:!?()…]+(?=\s|$)|\s[-–—]+\s|\b(?:but|then)\b")


def clauses(text: str) -> list[str]:
    """The clauses of normalised text."""
    return [part.strip() for part in _CLAUSES.split(text)]


def claims_done(text: str) -> bool:
    """Whether a clause of normalised text says that an act has happened or is under way."""
    return any(_claimed(clause) for clause in clauses(text))


def claims_intent(text: str) -> bool:
    """Whether a clause of normalised text announces an act instead of asking about it."""
    return any(_asserted(clause, _WILL.search(clause)) for clause in clauses(text))


def _claimed(clause: str) -> bool:
    found = _OPENS_DONE.search(clause) or _FINISHED.search(clause)
    return _asserted(clause, found) or (_under_way(clause) and not _NOT_CLAIMED.search(clause))


def _asserted(clause: str, found: re.Match[str] | None) -> bool:
    return found is not None and not _NOT_CLAIMED.search(clause, 0, found.end())


def _under_way(clause: str) -> bool:
    # "emptying the trash cannot be undone" speaks about the act, "emptying the trash now" does it.
    return bool(_OPENS_DOING.search(clause)) and not _FINITE.search(clause)
