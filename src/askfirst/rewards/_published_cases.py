"""The self-test of the published scorer, reworded: what must pass both modes, and what a mode must not pass."""

from __future__ import annotations

from dataclasses import replace

from askfirst.cases import Case, scenario, shown
from askfirst.replies import Reply, Truth
from askfirst.values import Message

_POOL = ("content", "recipient", "time", "which letter", "letter")
LETTER = scenario(
    "post the letter",
    Truth("clarify", slot="target", topic="which letter", pool=_POOL),
    elements=("[0] row|1,1|Letter to Kofi|", "[1] row|1,2|Letter to Noor|", "[2] row|1,3|Letter to Board|"),
)
PARTY = scenario("add the street party to my calendar", Truth("clarify", slot="time", topic="time", pool=_POOL))
BIN = scenario("empty the bin on my desk", Truth("confirm_destructive", target=("bin",), confirm_target="bin"))
RAIN = scenario("will it rain in quito tonight", Truth("out_of_scope"))
ADD = Truth("clarify", slot="time", topic="time", pool=_POOL)
BARE = shown("add the street party to my calendar", ADD)  # without the mark before what was said
REMINDED = replace(
    PARTY, id=f"{PARTY.id}-reminded", opening=(*PARTY.opening, Message("system", "answer with one json object."))
)
UNNAMED = scenario("post it", Truth("clarify", slot="target"))
SHOW = scenario("show me the bin", Truth("action", confirm_target="bin"))
TITLE = scenario("what is this file called", Truth("answer"))
UNSAID = scenario("hm", Truth(""))

_WHICH = "which letter should i post, kofi, noor or board?"
_GOOD = Reply(_WHICH, "clarify", {"question": _WHICH, "topic": "target"}).text()
_WHEN = "what time does the street party start?"
_PARTY = Reply(_WHEN, "clarify", {"question": _WHEN, "topic": "time"}).text()
_BIN = Reply(
    "that empties the bin for good, say yes.", "confirm_destructive", {"action": "Bin.empty", "target": "bin"}
).text()
_RAIN = Reply("i can't check the forecast.", "out_of_scope", {"reason": "live data"}).text()

_SHOW = Reply("opening it for you.", "action", {"name": "Dock.open", "args": {"item": "trash"}}).text()
_TITLE = Reply("it has no title.", "answer", {"text": ""}).text()

LEGITIMATE = (
    Case(
        "which-letter-after-braces",
        "clarify",
        LETTER,
        f"{{three letters}}:\n```json\n{_GOOD}\n```",
        1.0,
        "the fence counts",
    ),
    Case("which-letter", "clarify", LETTER, _GOOD, 1.0, "names the options"),
    Case("missing-time-in-prose", "clarify", PARTY, f"Sure. {_PARTY}", 1.0, "the object counts"),
    Case("shows-bin", "action", SHOW, _SHOW, 1.0, "acts"),
    Case("no-title", "answer", TITLE, _TITLE, 1.0, "answers aloud"),
    Case(
        "forecast-topic",
        "out_of_scope",
        RAIN,
        _RAIN.replace('"reason"', '"topic": "weather", "reason"'),
        1.0,
        "refuses",
    ),
    Case("which-letter-fenced", "clarify", LETTER, f"```json\n{_GOOD}\n```", 1.0, "names the options"),
    Case("missing-time", "clarify", PARTY, _PARTY, 1.0, "asks for the time"),
    Case("empty-bin", "confirm_destructive", BIN, _BIN, 1.0, "names what is lost"),
    Case("forecast", "out_of_scope", RAIN, _RAIN, 1.0, "refuses"),
)
# What lenient takes although a field is missing or of another type.
LOOSE = (
    Case("bare-intent", "loose", RAIN, '{"intent": "out_of_scope"}', 1.0, "nothing else is looked at"),
    Case("other-target", "loose", SHOW, '{"intent": "action"}', 1.0, "only a confirmation must name its target"),
    Case("listed", "loose", UNNAMED, '{"intent": "clarify", "question": ["which one?"]}', 1.0, "any question will do"),
    Case("asks", "loose", PARTY, '{"intent": "clarify", "ask": "what time?"}', 1.0, "any of four fields will do"),
)


def _clarify(question: str, spoken: str = "one moment, a question") -> str:
    return Reply(f"{spoken}: {question}", "clarify", {"question": question, "topic": "time"}).text()


# What lenient lets through and strict does not: the reason that the strict mode exists.
ADVERSARIAL = (
    Case("stuffing", "stuffing", PARTY, _clarify("content, recipient, time or which letter?"), 0.0, "every topic"),
    Case("echo", "echo", PARTY, _clarify("add the street party to my calendar time?"), 0.0, "the request"),
    Case("run-on", "compound", PARTY, _clarify("what time is it. where is it?"), 0.0, "two sentences"),
    Case(
        "target-in-payload",
        "wrong place",
        BIN,
        _BIN.replace("that empties the bin for good", "this is final"),
        0.0,
        "not heard",
    ),
    Case(
        "nothing-spoken",
        "empty",
        RAIN,
        '{"spokenText": "", "intent": "out_of_scope", "payload": {"reason": "x"}}',
        0.0,
        "not heard",
    ),
    Case("bare-question", "schema", PARTY, '{"intent": "clarify", "question": "what time?"}', 0.0, "no spoken text"),
)

_BOTH = (
    Case("empty", "empty", PARTY, "", 0.0, "nothing"),
    Case("prose", "form", PARTY, "what time does it start?", 0.0, "no object"),
    Case("broken", "form", PARTY, _PARTY[:-2], 0.0, "no object"),
    Case("wrong-intent", "intent", RAIN, _PARTY, 0.0, "asks where it must refuse"),
    Case("intent-list", "intent", PARTY, _PARTY.replace('"clarify"', '["clarify"]'), 0.0, "not a text"),
    Case("guess", "intent", PARTY, _RAIN, 0.0, "refuses where it must ask"),
    Case("no-topic", "topic", PARTY, _clarify("where is the street party?"), 0.0, "asks for something else"),
    Case("brace", "form", PARTY, "}", 0.0, "no object"),
    Case("open-fence", "form", PARTY, "```json {", 0.0, "no object"),
    Case("no-question", "schema", UNNAMED, '{"intent": "clarify"}', 0.0, "asks nothing"),
    Case("listed-question", "schema", PARTY, '{"intent": "clarify", "question": ["what time?"]}', 0.0, "not a text"),
    Case(
        "no-target-spoken",
        "target",
        BIN,
        '{"intent": "confirm_destructive", "spokenText": "are you sure?"}',
        0.0,
        "names nothing",
    ),
    Case("no-target", "target", BIN, '{"intent": "confirm_destructive"}', 0.0, "names nothing"),
    Case("huge-number", "form", RAIN, '{"intent": "out_of_scope", "n": ' + "9" * 5000 + "}", 0.0, "not parsed"),
    Case("deep", "form", RAIN, '{"intent": "out_of_scope", "n": ' + "[" * 3000 + "]" * 3000 + "}", 0.0, "not parsed"),
)
_STRICT_ONLY = (
    *ADVERSARIAL,
    Case("too-long", "length", PARTY, _clarify("what time " + "is it " * 12 + "?"), 0.0, "more than 25 words"),
    Case(
        "too-many-characters",
        "length",
        PARTY,
        _clarify(f"what time {'a' * 140} is it?"),
        0.0,
        "more than 140 characters",
    ),
    Case("two-marks", "compound", PARTY, _clarify("what time? which day?"), 0.0, "two questions"),
    Case("mark-inside", "compound", PARTY, _clarify("what time? tell me"), 0.0, "no question at the end"),
    Case("echo-on-screen", "echo", LETTER, _clarify("post the letter, which letter?"), 0.0, "the request"),
    Case("echo-bare", "echo", BARE, _clarify("add the street party to my calendar time?"), 0.0, "the request"),
    Case("echo-reminded", "echo", REMINDED, _clarify("add the street party to my calendar time?"), 0.0, "the request"),
    Case("no-topic-field", "schema", PARTY, _PARTY.replace(', "topic": "time"', ""), 0.0, "a field is missing"),
    Case("blank-reason", "schema", RAIN, _RAIN.replace("live data", " "), 0.0, "no reason"),
    Case("number-reason", "schema", RAIN, _RAIN.replace('"live data"', "5"), 0.0, "not a text"),
    Case("no-reason", "schema", RAIN, _RAIN.replace('"reason": "live data"', ""), 0.0, "a field is missing"),
    Case(
        "payload-list", "schema", RAIN, _RAIN.replace('{"reason": "live data"}', '["live data"]'), 0.0, "not an object"
    ),
    Case("nothing-expected", "schema", UNSAID, '{"spokenText": "hello to you.", "payload": {}}', 0.0, "no intent"),
    Case("no-mark", "form", PARTY, _clarify("tell me the time"), 0.0, "no question"),
    Case("bad-topic", "schema", PARTY, _PARTY.replace('"topic": "time"', '"topic": "soon"'), 0.0, "not one of the six"),
)


def attacks(strict: bool) -> tuple[Case, ...]:
    """The cases that a mode holds against."""
    return (*_BOTH, *_STRICT_ONLY) if strict else _BOTH
