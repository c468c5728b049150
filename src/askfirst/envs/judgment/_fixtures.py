"""Fixture files: the published text format, read strictly or to the letter of the published reader, and written.

Lines of our own (`X_SLOT`, `X_NAME`, `X_CANDIDATE`, `X_TARGET`, `X_MENTION`, `X_POOL`) carry what the published format
has no line for; the published reader skips lines that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from askfirst.envs.judgment._expect import Expected, derived
from askfirst.envs.judgment._screen import HEADER, opening
from askfirst.errors import SuiteError
from askfirst.replies import PAYLOADS, SAID, Truth, truth
from askfirst.store import content_hash
from askfirst.values import Message, Scenario

SPLIT = "suite"
_KEYS = ("USER", "EXPECT_INTENT", "EXPECT_CLARIFY_TOPIC", "EXPECT_CONFIRM_TARGET", "REASON")
_LISTS = ("X_NAME", "X_CANDIDATE", "X_TARGET", "X_MENTION")
_OWN = ("X_SLOT", "X_POOL", *_LISTS)
_ELEMENT = re.compile(r"\[(\d{1,9})\]\s*([^|]+)\|([^|]+)\|([^|]+)\|(.*)")
_BAR = " | "


@dataclass(frozen=True, slots=True)
class Element:
    """An on-screen element of a fixture."""

    id: int
    role: str
    pos: str
    label: str
    text: str

    def line(self) -> str:
        """As it is shown."""
        return f"[{self.id}] {self.role}|{self.pos}|{self.label}|{self.text}"


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture as parsed; None where a key does not occur. `own` are the extension lines, in order."""

    user: str
    elements: tuple[Element, ...]
    expect_intent: str | None
    expect_clarify_topic: str | None
    expect_confirm_target: str | None
    reason: str | None
    own: tuple[tuple[str, str], ...] = ()


def parse_fixture(text: str, name: str = "", strict: bool = False) -> Fixture:
    """A fixture's lines; without `strict` exactly as the published reader takes them.

    With `strict`, raises SuiteError naming file and line for a malformed element, an unknown intent, and a missing
    USER or EXPECT_INTENT.
    """
    found: dict[str, str] = {}
    elements: list[Element] = []
    own: list[tuple[str, str]] = []
    number = 0
    for number, raw in enumerate(text.splitlines(), start=1):
        key, colon, value = raw.strip().partition(":")
        value = value.strip()
        if not colon:
            continue
        if key == "ELEMENT":
            match = _ELEMENT.match(value)
            if match:
                digits, *parts = match.groups()
                elements.append(Element(int(digits), *(part.strip() for part in parts)))
            elif strict:
                raise SuiteError("expected ELEMENT: [N] role|x,y|label|text", where=f"{name}:{number}")
        elif key in _KEYS:
            if strict and key == "EXPECT_INTENT" and value not in PAYLOADS:
                hint = f"choose one of: {', '.join(PAYLOADS)}"
                raise SuiteError(f"no intent is called {value!r}", where=f"{name}:{number}", hint=hint)
            found[key] = value
        elif key in _OWN:
            own.append((key, value))
    for key in ("USER", "EXPECT_INTENT"):
        if strict and not found.get(key):
            raise SuiteError(f"the fixture has no {key} line", where=f"{name}:{max(number, 1)}")
    intent, topic, target, reason = (found.get(key) for key in _KEYS[1:])
    return Fixture(found.get("USER", ""), tuple(elements), intent, topic, target, reason, tuple(own))


def read_fixture(text: str, name: str, strict: bool = True) -> Scenario:
    """The scenario of a fixture's text; without `strict` no line is refused. Raises SuiteError, naming the line."""
    return _scenario(parse_fixture(text, name, strict), name, (), "fixture")


def read_suite(folder: Path) -> list[Scenario]:
    """The scenarios of a folder's `.txt` fixtures, sorted by file name; the topic pool is that of the folder.

    Raises SuiteError for a missing or empty folder and for any fixture that is not well-formed UTF-8.
    """
    if not folder.is_dir():
        raise SuiteError("no such suite folder", where=str(folder))
    files = sorted(folder.glob("*.txt"), key=lambda file: file.name)
    if not files:
        raise SuiteError("the folder holds no .txt fixtures", where=str(folder))
    parsed = [(file.stem, parse_fixture(_text(file), str(file), strict=True)) for file in files]
    pool = tuple(sorted({f.expect_clarify_topic for _, f in parsed if f.expect_clarify_topic}))
    return [_scenario(fixture, name, pool, folder.name) for name, fixture in parsed]


def write_fixture(scenario: Scenario) -> str:
    """The scenario as a fixture's text. Raises SuiteError where the format cannot hold it without loss."""
    lines = scenario.opening[0].content.split("\n")
    elements = lines[1 : lines.index("")] if lines[0] == HEADER and "" in lines else []
    text = "\n".join(
        [f"USER: {lines[-1].removeprefix(SAID)}", *(f"ELEMENT: {e}" for e in elements), *_expected(scenario)]
    )
    text += "\n"
    back = read_fixture(text, scenario.id)
    if back.opening != scenario.opening or truth(back) != truth(scenario):
        raise SuiteError("the scenario does not fit the fixture format", where=scenario.id)
    return text


def _expected(scenario: Scenario) -> Iterator[str]:
    judged = truth(scenario)
    yield f"EXPECT_INTENT: {judged.intent}"
    if judged.topic:
        yield f"EXPECT_CLARIFY_TOPIC: {judged.topic}"
    if judged.confirm_target:
        yield f"EXPECT_CONFIRM_TARGET: {judged.confirm_target}"
    yield f"X_SLOT: {judged.slot}"
    yield from (f"X_NAME: {name}" for name in judged.names)
    yield from (f"X_CANDIDATE: {_BAR.join(ways)}" for ways in judged.candidates)
    yield from (f"X_TARGET: {way}" for way in judged.target)
    yield from (f"X_MENTION: {_BAR.join(ways)}" for ways in judged.mentions)
    if judged.pool:
        yield f"X_POOL: {_BAR.join(judged.pool)}"


def _scenario(fixture: Fixture, name: str, pool: tuple[str, ...], family: str) -> Scenario:
    shown = opening([e.line() for e in fixture.elements], fixture.user)
    judged = _truth(fixture)
    hidden = replace(judged, pool=pool or judged.pool).hide()
    try:
        identity = content_hash((SPLIT, name, shown, hidden))[:16]
    except UnicodeEncodeError as error:
        raise SuiteError("the fixture holds characters that UTF-8 cannot", where=name) from error
    ambiguous = judged.intent == "clarify"
    stratum = "destructive" if judged.intent == "confirm_destructive" else judged.intent
    return Scenario(
        id=identity,
        family=family,
        stratum="ambiguous" if ambiguous else stratum,
        split=SPLIT,
        ambiguous=ambiguous,
        opening=(Message("user", shown),),
        hidden=hidden,
    )


def _truth(fixture: Fixture) -> Truth:
    intent, topic = fixture.expect_intent or "", fixture.expect_clarify_topic or ""
    target = fixture.expect_confirm_target or ""
    if not fixture.own:
        shown = tuple((e.role, e.label, e.text) for e in fixture.elements)
        return derived(Expected(fixture.user, intent, topic, target, shown))
    lists = {key: tuple(v for k, v in fixture.own if k == key) for key in _OWN}
    several = {key: tuple(tuple(ways.split(_BAR)) for ways in lists[key]) for key in ("X_CANDIDATE", "X_MENTION")}
    return Truth(
        intent=intent,
        slot=lists["X_SLOT"][-1] if lists["X_SLOT"] else "",
        names=lists["X_NAME"],
        candidates=several["X_CANDIDATE"],
        target=lists["X_TARGET"],
        mentions=several["X_MENTION"],
        topic=topic,
        confirm_target=target,
        pool=tuple(lists["X_POOL"][-1].split(_BAR)) if lists["X_POOL"] else (),
    )


def _text(file: Path) -> str:
    try:
        body = file.read_bytes()
    except OSError as error:
        raise SuiteError(f"cannot read: {error.strerror}", where=str(file)) from error
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body[: error.start].count(b"\n") + 1
        raise SuiteError(f"not UTF-8 text at byte {error.start}", where=f"{file}:{line}") from error
